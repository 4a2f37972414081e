//! Windows over sorted rows, some whole partitions at a time: rows that did not fit in memory and
//! were sorted on disk, or an input that is sorted already. Each such unit is answered for by
//! itself. A partition that is large comes in pieces, where calls allow that.

use super::{
    boundaries::Boundaries,
    run::Run,
    running::CarriedState,
    segments::{Piece, PiecePlan, Pieces},
    spec::WindowSpec,
};
use crate::order_by::OrderBy;
use std::{sync::Arc, task::Waker};
use volley_error::{Error, ErrorKind, Result};
use volley_exec::{Operator, OperatorContext, Spill, Step, StepContext};
use volley_state::{
    BatchCharge, Cuts,
    compact::{compact_batch, own_batch},
};
use volley_vector::{Batch, Comparator, comparator};

/// A partition is processed in segments if it takes more than this fraction of the limit, shared by
/// drivers, or this many bytes if rows were sorted on disk.
const LARGE_SHARE: usize = 8;
const LARGE_BYTES_MAX: usize = 256 << 20;

/// The number of segments in this number of bytes.
const PIECES: usize = 4;

/// Rows of a large partition, and of a piece, where everything is cut.
const TEST_ROWS: (usize, usize) = (12, 5);

/// The counter of rows that came sorted.
const SORTED_ROWS: &str = "rows sorted before";

/// The counter of pieces.
const WINDOW_PIECES: &str = "window pieces";

/// The counter of pieces that came again with more rows after them.
const WINDOW_PIECES_AGAIN: &str = "window pieces again";

/// Rows by partition and order, on their way through a sort or as they come.
pub(super) struct Units {
    spec: Arc<WindowSpec>,
    cx: OperatorContext,
    source: Source,
    plan: PiecePlan,
    /// Whole partitions that came back and belong to no unit yet.
    whole: Pending,
    /// The rows of the last partition.
    open: Pending,
    /// The partition of the last row.
    before: Option<Batch>,
    /// The last partition, when it is large.
    pieces: Option<Pieces>,
    /// Rows that come after it.
    rest: Option<Batch>,
    /// Why a large partition had to fit in memory.
    refused: Option<(usize, &'static str)>,
}

/// Where sorted rows come from.
enum Source {
    /// They are sorted here.
    Sort(Box<OrderBy>),
    /// From the input, batch by batch.
    Input { next: Option<Batch>, has_ended: bool },
}

/// Rows that wait.
struct Pending {
    batches: Vec<Batch>,
    rows: usize,
    charge: BatchCharge,
}

/// Rows to answer for.
pub(super) struct Unit {
    /// In order, charged no more.
    pub batches: Vec<Batch>,
    /// When these are not whole partitions.
    pub piece: Option<Piece>,
}

/// What a step of [`Units`] did.
pub(super) enum UnitsStep {
    Unit(Unit),
    /// Some work.
    Progress,
    /// Sorted rows of the input are missing.
    NeedInput,
    /// There are no more rows.
    End,
}

impl Units {
    /// Of rows in any order.
    pub(super) fn new(spec: &Arc<WindowSpec>, cx: &OperatorContext) -> Result<Units> {
        let sort = OrderBy::new(spec.types.clone(), spec.sort_keys(), cx);
        Units::of(Source::Sort(Box::new(sort)), PiecePlan::new(spec, &cx.pool)?, spec, cx)
    }

    /// Of rows that come sorted.
    pub(super) fn sorted(spec: &Arc<WindowSpec>, cx: &OperatorContext) -> Result<Units> {
        let mut plan = PiecePlan::new(spec, &cx.pool)?;
        plan.watch_constants(&spec.constants);
        Units::of(Source::Input { next: None, has_ended: false }, plan, spec, cx)
    }

    fn of(
        source: Source,
        plan: PiecePlan,
        spec: &Arc<WindowSpec>,
        cx: &OperatorContext,
    ) -> Result<Units> {
        Ok(Units {
            source,
            plan,
            whole: Pending::new(cx),
            open: Pending::new(cx),
            spec: Arc::clone(spec),
            cx: cx.clone(),
            before: None,
            pieces: None,
            rest: None,
            refused: None,
        })
    }

    /// Takes a batch of the input.
    pub(super) fn push(&mut self, batch: Batch) -> Result<()> {
        match &mut self.source {
            Source::Sort(sort) => {
                self.plan.watch(&batch)?;
                sort.accept(batch)
            }
            Source::Input { next, .. } => {
                self.cx.metrics.add(SORTED_ROWS, batch.rows() as u64);
                *next = Some(compact_batch(batch.loaded()?)?);
                Ok(())
            }
        }
    }

    /// The input has ended.
    pub(super) fn finish_input(&mut self) -> Result<()> {
        match &mut self.source {
            Source::Sort(sort) => sort.finish_input(),
            Source::Input { has_ended, .. } => {
                *has_ended = true;
                Ok(())
            }
        }
    }

    /// The bytes that the sort could spill.
    pub(super) fn reclaimable_bytes(&self) -> usize {
        match &self.source {
            Source::Sort(sort) => sort.reclaimable_bytes(),
            Source::Input { .. } => 0,
        }
    }

    /// Writes what the sort holds.
    pub(super) fn spill(&mut self) -> Result<()> {
        match &mut self.source {
            Source::Sort(sort) => sort.spill(),
            Source::Input { .. } => Ok(()),
        }
    }

    /// The next sorted rows.
    fn next_rows(&mut self) -> Result<Step> {
        match &mut self.source {
            Source::Sort(sort) => sort.step(&mut StepContext { waker: Waker::noop() }),
            Source::Input { next, has_ended } => Ok(match next.take() {
                Some(batch) => Step::Output(batch),
                None if *has_ended => Step::Finished,
                None => Step::NeedInput,
            }),
        }
    }

    /// Goes on with sorted rows.
    pub(super) fn step(&mut self) -> Result<UnitsStep> {
        if let Some(pieces) = &mut self.pieces {
            if let Some((batches, piece)) = pieces.next(&self.plan) {
                return Ok(UnitsStep::Unit(Unit { batches, piece: Some(piece) }));
            }
            if pieces.is_done() {
                self.pieces = None;
                return Ok(UnitsStep::Progress);
            }
            if pieces.read()? {
                return Ok(UnitsStep::Progress);
            }
        }
        if let Some(rest) = self.rest.take() {
            return self.add(rest);
        }
        match self.next_rows()? {
            Step::Output(batch) => self.add(batch),
            Step::Yield | Step::EndOfSplit => Ok(UnitsStep::Progress),
            Step::Finished => self.end(),
            Step::NeedInput => Ok(UnitsStep::NeedInput),
            Step::Blocked(_) => Err(Error::internal("a sort that waits")),
        }
    }

    /// Sorted rows have ended.
    fn end(&mut self) -> Result<UnitsStep> {
        if let Some(pieces) = &mut self.pieces {
            pieces.end()?;
            return Ok(UnitsStep::Progress);
        }
        let open = self.open.take();
        open.into_iter().try_for_each(|it| self.whole.keep(it))?;
        Ok(match self.whole.rows {
            0 => UnitsStep::End,
            _ => self.take(),
        })
    }

    /// Adds sorted rows; whole partitions, once they have enough rows.
    fn add(&mut self, batch: Batch) -> Result<UnitsStep> {
        if self.pieces.is_some() {
            return self.add_to_pieces(batch);
        }
        let border = self.border(&batch, Side::Last)?;
        self.note(&batch)?;
        if let Some(border) = border {
            let open = self.open.take();
            open.into_iter().try_for_each(|it| self.whole.keep(it))?;
            if border > 0 {
                self.whole.keep(batch.slice(0, border))?;
            }
        }
        let start = border.unwrap_or(0);
        self.open.keep(batch.slice(start, batch.rows() - start))?;
        let is_large = self.is_large();
        if self.whole.rows > 0
            && (is_large || self.whole.rows >= self.cx.task.sizes.window_batch_rows)
        {
            return Ok(self.take());
        }
        if is_large {
            self.start_pieces()?;
        }
        Ok(UnitsStep::Progress)
    }

    /// Adds sorted rows after some of a partition that comes in pieces.
    fn add_to_pieces(&mut self, batch: Batch) -> Result<UnitsStep> {
        let border = self.border(&batch, Side::First)?;
        let Some(pieces) = &mut self.pieces else { return Ok(UnitsStep::Progress) };
        let end = border.unwrap_or(batch.rows());
        if end > 0 {
            pieces.push(batch.slice(0, end))?;
        }
        if border.is_some() {
            pieces.end()?;
            self.rest = Some(batch.slice(end, batch.rows() - end));
        }
        if end > 0 {
            self.note(&batch.slice(0, end))?;
        }
        Ok(UnitsStep::Progress)
    }

    /// Whether the last partition is too large to wait for its end.
    fn is_large(&mut self) -> bool {
        let is_large = match self.cuts_everything() {
            true => self.open.rows > TEST_ROWS.0,
            false => {
                let rows_max =
                    if self.streams() { self.cx.task.sizes.window_batch_rows } else { usize::MAX };
                self.open.rows > rows_max || self.open.charge.bytes() > self.large_bytes()
            }
        };
        let refused = self.plan.refused().filter(|_| is_large);
        self.refused = self.refused.or(refused);
        is_large && refused.is_none()
    }

    /// Whether rows are answered for as they come, without a look at those that come later.
    fn streams(&self) -> bool {
        matches!(self.source, Source::Input { .. }) && !self.plan.is_scanned
    }

    /// Sorted input is written for a first pass only where memory is short: what was sorted on disk
    /// is known not to fit.
    fn large_bytes(&self) -> usize {
        let share = self.cx.pool.limit_bytes() / LARGE_SHARE / self.cx.drivers.max(1);
        match self.source {
            Source::Sort(_) => share.min(LARGE_BYTES_MAX),
            Source::Input { .. } => share,
        }
    }

    fn cuts_everything(&self) -> bool {
        self.cx.task.sizes.cuts == Cuts::Small || self.cx.task.spill_always
    }

    fn start_pieces(&mut self) -> Result<()> {
        let piece_rows = match self.cuts_everything() {
            true => TEST_ROWS.1,
            false => {
                let row_bytes = self.open.charge.bytes() / self.open.rows;
                let bytes = self.large_bytes().min(LARGE_BYTES_MAX) / PIECES;
                let rows = (bytes / row_bytes.max(1)).max(1);
                if self.streams() { rows.min(self.cx.task.sizes.window_batch_rows) } else { rows }
            }
        };
        let mut pieces = Pieces::new(&self.spec, &self.plan, piece_rows, &self.cx)?;
        self.open.take().into_iter().try_for_each(|it| pieces.push(it))?;
        self.pieces = Some(pieces);
        Ok(())
    }

    fn take(&mut self) -> UnitsStep {
        UnitsStep::Unit(Unit { batches: self.whole.take(), piece: None })
    }

    /// Completes what is known of a piece; false when rows are missing after it.
    pub(super) fn place(&mut self, piece: &mut Piece, run: (&Run, &Boundaries)) -> Result<bool> {
        self.pieces.as_mut().map_or(Ok(true), |it| it.place(&self.plan, piece, run))
    }

    /// Takes a piece back, of `rows`, until more rows have come.
    pub(super) fn put_back(&mut self, piece: Piece, rows: &Batch) -> Result<()> {
        self.cx.metrics.add(WINDOW_PIECES_AGAIN, 1);
        self.pieces.as_mut().map_or(Ok(()), |it| it.put_back(piece, rows))
    }

    /// The first row that states of a piece's calls need not have when it is done.
    pub(super) fn next_start(&self, piece: &Piece) -> usize {
        piece.next_start(&self.plan)
    }

    /// A piece, of `rows`, is done.
    pub(super) fn finish_piece(
        &mut self,
        piece: &Piece,
        (rows, places): (&Batch, &Boundaries),
        carried: Vec<Option<CarriedState>>,
    ) -> Result<()> {
        let Some(pieces) = &mut self.pieces else { return Ok(()) };
        self.cx.metrics.add(WINDOW_PIECES, 1);
        pieces.carry(carried);
        pieces.finish_piece(&self.plan, piece, rows, places)
    }

    /// Says why rows must fit that did not.
    pub(super) fn explain(&self, error: Error) -> Error {
        let by_value = self.plan.by_value().filter(|_| self.pieces.is_some());
        let (call, needs) = match (self.refused, by_value) {
            _ if error.kind() != ErrorKind::OutOfMemory => return error,
            (Some((call, reason)), _) => (call, format!("whole partitions in memory: {reason}")),
            (None, Some(call)) => (call, "the rows of its frames in memory".to_owned()),
            (None, None) => return error,
        };
        let name = self.spec.calls[call].function.name();
        error.at("window function", format!("{name} needs {needs}"))
    }

    fn note(&mut self, batch: &Batch) -> Result<()> {
        self.before =
            Some(own_batch(batch.slice(batch.rows() - 1, 1).project(&self.spec.partition_by))?);
        Ok(())
    }

    /// The first or last row of the batch whose partition is not that of the row before it.
    fn border(&self, batch: &Batch, side: Side) -> Result<Option<usize>> {
        if self.spec.partition_by.is_empty() {
            return Ok(None);
        }
        let batch = &batch.project(&self.spec.partition_by);
        let between = match &self.before {
            Some(before) => comparators(before, batch)?.iter().any(|it| !it.is_equal(0, 0)),
            None => false,
        };
        let within = comparators(batch, batch)?;
        let is_border = |row: &usize| within.iter().any(|it| !it.is_equal(row - 1, *row));
        Ok(match side {
            Side::First if between => Some(0),
            Side::First => (1..batch.rows()).find(is_border),
            Side::Last => (1..batch.rows()).rev().find(is_border).or(between.then_some(0)),
        })
    }
}

/// Which one.
#[derive(Clone, Copy)]
enum Side {
    First,
    Last,
}

/// What compares rows of two batches by all columns.
fn comparators(left: &Batch, right: &Batch) -> Result<Vec<Comparator>> {
    let columns = left.columns().iter().zip(right.columns());
    columns.map(|it| comparator(it.0, it.1)).collect()
}

impl Pending {
    fn new(cx: &OperatorContext) -> Pending {
        Pending { batches: Vec::new(), rows: 0, charge: BatchCharge::new(&cx.pool) }
    }

    fn keep(&mut self, batch: Batch) -> Result<()> {
        self.charge.add(&batch)?;
        self.rows += batch.rows();
        self.batches.push(batch);
        Ok(())
    }

    /// All rows, charged no more.
    fn take(&mut self) -> Vec<Batch> {
        self.rows = 0;
        self.charge.clear();
        std::mem::take(&mut self.batches)
    }
}
