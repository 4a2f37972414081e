//! The window operator.

use super::{
    boundaries::{BatchBoundaries, Boundaries, BoundaryCursor},
    call::{Call, CallInput},
    partition_batches::{Unit, Units, UnitsStep},
    partitions::{PartRows, Parts},
    run::{Arranging, Run},
    segments::Piece,
    spec::WindowSpec,
};
use std::{ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_exec::{Operator, OperatorContext, OperatorMetrics, Spill, Step, StepContext};
use volley_function::PartitionPiece;
use volley_memory::Reservation;
use volley_state::{
    BatchCharge,
    column_concat::{ColumnConcat, concat_bytes, joined_bytes, row_bytes},
    compact::compact_batch,
    sort::{RowSorter, sort_bytes_per_row},
    spill::{SPILL_BYTES_MIN, SpillReader},
};
use volley_vector::{Batch, Decoded, ScalarBuffer, Vector};

/// What a call is taken to need per row, beside the arranged columns.
const CALL_BYTES_PER_ROW: usize = 16;

/// While rows are spread, they may take more than they did: this part of the memory for giving
/// memory back.
const SPREAD_SHARE: usize = 4;

/// The counter of parts that were answered for.
const WINDOW_PARTS: &str = "window parts";

/// Appends a column per call. See the module's drawing.
pub(super) struct WindowOperator {
    spec: Arc<WindowSpec>,
    cx: OperatorContext,
    metrics: Arc<OperatorMetrics>,
    batch_rows: usize,
    charge: BatchCharge,
    /// What answering for the collected rows will take, about.
    ahead: Reservation,
    bytes_per_row: usize,
    rows: usize,
    /// Whether it is worth trying to spread rows.
    spreads: bool,
    /// The rows that are not worked on yet, once there are many.
    parts: Option<Parts>,
    /// The rows, once they did not fit in memory, or where they come sorted.
    units: Option<Units>,
    /// What the rows that are worked on are a piece of.
    piece: Option<Piece>,
    /// Until it is known where partitions end: the order of the rows, if they were sorted.
    sorter: Option<RowSorter>,
    phase: Phase,
}

enum Phase {
    Collect(Vec<Batch>),
    /// The next part comes, if there is one.
    NextPart,
    /// The rows of a part, of which the reader has more.
    Read(Vec<Batch>, SpillReader),
    /// A part that does not fit in memory goes on to be sorted on disk.
    Sift(SpillReader),
    /// The next unit of sorted rows comes, from disk or from the input.
    Load,
    Concat(ColumnConcat),
    Sort {
        input: Batch,
        sorter: RowSorter,
    },
    Arrange {
        input: Batch,
        arranging: Arranging,
    },
    Place {
        input: Batch,
        run: Run,
        places: Boundaries,
    },
    /// Calls before `ready` can answer.
    Prepare {
        work: Box<Work>,
        ready: usize,
    },
    PutOut(Box<Work>),
    Done,
}

/// A run that is being answered for.
struct Work {
    input: Batch,
    run: Run,
    places: Boundaries,
    calls: Vec<Call>,
    cursor: BoundaryCursor,
    piece: Option<Piece>,
    /// The next row to answer for, and the end of these.
    position: usize,
    end: usize,
    pending: Option<Pending>,
}

/// A batch that is being answered for.
struct Pending {
    places: BatchBoundaries,
    /// The first row of the batch that was not emitted.
    next: usize,
    /// Per call.
    answers: Vec<Answered>,
}

/// The results of a call that were not emitted.
#[derive(Clone, Default)]
struct Answered {
    results: Option<Vector>,
    /// The rows, of the batch, that these are of.
    start: usize,
    end: usize,
}

impl WindowOperator {
    pub(super) fn new(spec: &Arc<WindowSpec>, cx: &OperatorContext) -> WindowOperator {
        WindowOperator {
            spec: Arc::clone(spec),
            metrics: Arc::clone(&cx.metrics),
            batch_rows: cx.task.batch_rows,
            charge: BatchCharge::new(&cx.pool),
            ahead: cx.pool.reserve_ahead(),
            bytes_per_row: bytes_per_row(spec),
            cx: cx.clone(),
            rows: 0,
            spreads: spec.spreads,
            parts: None,
            units: None,
            piece: None,
            sorter: None,
            phase: Phase::Collect(Vec::new()),
        }
    }

    fn advance(&mut self, phase: Phase) -> Result<(Phase, Step)> {
        let phase = match phase {
            Phase::Collect(_) if self.spec.is_sorted => {
                self.units = Some(Units::sorted(&self.spec, &self.cx)?);
                Phase::Load
            }
            Phase::Collect(batches) => return Ok((Phase::Collect(batches), Step::NeedInput)),
            Phase::NextPart => self.next_part()?,
            Phase::Read(batches, reader) => self.read(batches, reader)?,
            Phase::Sift(reader) => self.sift(reader)?,
            Phase::Load => return self.load(),
            Phase::Concat(mut concat) => match concat.step(&mut self.charge)? {
                Some(input) => self.start_sort(input)?,
                None => Phase::Concat(concat),
            },
            Phase::Sort { input, mut sorter } => match sorter.step()? {
                true => {
                    let order = sorter.rows(0, self.rows);
                    self.sorter = Some(sorter);
                    self.start_arranging(input, Some(order))?
                }
                false => Phase::Sort { input, sorter },
            },
            Phase::Arrange { input, mut arranging } => match arranging.step(&input)? {
                true => {
                    let places = Boundaries::new(self.rows, &self.spec, &self.cx.pool);
                    Phase::Place { input, run: arranging.finish(), places }
                }
                false => Phase::Arrange { input, arranging },
            },
            Phase::Place { input, run, mut places } => {
                match places.step(&self.spec, &run, self.sorter.as_ref())? {
                    true => self.start_calls(input, run, places)?,
                    false => Phase::Place { input, run, places },
                }
            }
            Phase::Prepare { mut work, ready } => match ready < work.calls.len() {
                true => {
                    let done = work.prepare(&self.spec, ready)?;
                    Phase::Prepare { work, ready: ready + usize::from(done) }
                }
                false => Phase::PutOut(work),
            },
            Phase::PutOut(mut work) => {
                if let Some(batch) = self.emit(&mut work)? {
                    return Ok((Phase::PutOut(work), Step::Output(batch)));
                }
                match work.position == work.end && work.pending.is_none() {
                    true => self.finish(*work)?,
                    false => Phase::PutOut(work),
                }
            }
            Phase::Done => return Ok((Phase::Done, Step::Finished)),
        };
        Ok((phase, Step::Yield))
    }

    /// Goes on with sorted rows.
    fn load(&mut self) -> Result<(Phase, Step)> {
        let Some(units) = &mut self.units else { return Ok((Phase::NextPart, Step::Yield)) };
        let Unit { batches, piece } = match units.step()? {
            UnitsStep::Unit(unit) => unit,
            UnitsStep::Progress => return Ok((Phase::Load, Step::Yield)),
            UnitsStep::NeedInput => return Ok((Phase::Load, Step::NeedInput)),
            UnitsStep::End => {
                self.units = None;
                return Ok((Phase::NextPart, Step::Yield));
            }
        };
        for batch in &batches {
            self.charge.add(batch)?;
            self.rows += batch.rows();
        }
        self.piece = piece;
        Ok((Phase::Concat(ColumnConcat::new(&self.spec.types, batches)), Step::Yield))
    }

    /// Takes rows that are not sorted, and what answering for them will take, or sorting them on
    /// their way to the disk.
    fn collect(&mut self, batches: &mut Vec<Batch>, batch: Batch) -> Result<()> {
        let batch = self.charge.keep(batch)?;
        self.rows += batch.rows();
        let keys = self.spec.sort_keys().into_iter();
        let keys: usize = keys.map(|it| joined_bytes(batch.column(it.column))).sum();
        let ahead = concat_bytes(&batch).max(keys) + batch.rows() * self.bytes_per_row;
        batches.push(batch);
        self.ahead.grow(ahead)
    }

    /// Begins to work on what was collected.
    fn concat(&mut self, batches: Vec<Batch>) -> Phase {
        // The memory for concatenating columns is released, the memory for sorting them is not.
        let joining = self.ahead.bytes().saturating_sub(self.rows * self.bytes_per_row);
        self.ahead.shrink(joining);
        match self.rows {
            0 => Phase::NextPart,
            _ => Phase::Concat(ColumnConcat::new(&self.spec.types, batches)),
        }
    }

    /// Spreads rows over parts; if they turn out to be of few partitions, all of them.
    fn spread(&mut self, batches: Vec<Batch>) -> Result<Vec<Batch>> {
        self.spreads = false;
        let mut parts = Parts::new(&self.spec, self.bytes_per_row, &self.cx);
        let pool = self.cx.pool.clone();
        let bytes_max = pool.stats().bytes + pool.headroom_bytes() / SPREAD_SHARE;
        // Others would reserve memory that is released now, and it may be needed again.
        let ahead = self.take_ahead();
        self.drain_into(batches, |it| {
            parts.push(it)?;
            // Batches that share large texts give nothing back before the last of them has gone.
            if pool.stats().bytes > bytes_max { parts.spill() } else { Ok(()) }
        })?;
        parts.flush()?;
        if parts.is_spread() || parts.has_written() {
            self.parts = Some(parts);
            return Ok(Vec::new());
        }
        let (batches, charge) = parts.take_all();
        self.rows = batches.iter().map(Batch::rows).sum();
        (self.charge, self.ahead) = (charge, ahead);
        Ok(batches)
    }

    /// What was charged for answering, which is charged until that is dropped.
    fn take_ahead(&mut self) -> Reservation {
        std::mem::replace(&mut self.ahead, self.cx.pool.reserve_ahead())
    }

    /// Hands all rows that were collected to `take`, which charges them itself.
    fn drain_into(
        &mut self,
        batches: Vec<Batch>,
        mut take: impl FnMut(Batch) -> Result<()>,
    ) -> Result<()> {
        self.rows = 0;
        for batch in batches {
            self.charge.remove(&batch);
            take(batch)?;
        }
        Ok(())
    }

    /// Begins with the next part.
    fn next_part(&mut self) -> Result<Phase> {
        let next = self.parts.as_mut().map_or(Ok(None), Parts::next)?;
        let Some(rows) = next else { return Ok(Phase::Done) };
        self.metrics.add(WINDOW_PARTS, 1);
        match rows {
            PartRows::Here(rows) => self.concat_with(Vec::new(), rows),
            PartRows::Written(reader) => Ok(Phase::Read(Vec::new(), reader)),
        }
    }

    /// Begins to work on what was collected, and `rest`.
    fn concat_with(&mut self, mut batches: Vec<Batch>, rest: Vec<Batch>) -> Result<Phase> {
        rest.into_iter().try_for_each(|it| self.collect(&mut batches, it))?;
        Ok(self.concat(batches))
    }

    /// Goes on to read a part: no more at a time than memory is sure to be left for.
    fn read(&mut self, mut batches: Vec<Batch>, mut reader: SpillReader) -> Result<Phase> {
        let rows_end = self.rows + self.spec.sizes.window_step_rows;
        let bytes_end = self.held_bytes() + self.cx.pool.batch_bytes();
        while self.rows < rows_end && self.held_bytes() < bytes_end {
            match reader.next()? {
                Some(batch) => self.collect(&mut batches, batch)?,
                None => {
                    let rest = self.parts.as_mut().map_or_else(Vec::new, Parts::rest);
                    return self.concat_with(batches, rest);
                }
            }
        }
        Ok(Phase::Read(batches, reader))
    }

    /// What is charged for the collected rows.
    fn held_bytes(&self) -> usize {
        self.charge.bytes() + self.ahead.bytes()
    }

    /// Goes on to hand a part to the sort.
    fn sift(&mut self, mut reader: SpillReader) -> Result<Phase> {
        let Some(units) = &mut self.units else {
            return Err(Error::internal("a part without a sort"));
        };
        match reader.next()? {
            Some(batch) => units.push(batch)?,
            None => {
                let rest = self.parts.as_mut().map_or_else(Vec::new, Parts::rest);
                rest.into_iter().try_for_each(|it| units.push(it))?;
                units.finish_input()?;
                return Ok(Phase::Load);
            }
        }
        Ok(Phase::Sift(reader))
    }

    /// Sorts rows on disk.
    fn sort_on_disk(&mut self, batches: Vec<Batch>) -> Result<()> {
        let mut units = Units::new(&self.spec, &self.cx)?;
        // Row by row, the sort charges what was charged here.
        let mut ahead = self.take_ahead();
        let bytes_per_row = ahead.bytes() / self.rows.max(1);
        self.drain_into(batches, |it| {
            ahead.shrink(it.rows() * bytes_per_row);
            units.push(it)
        })?;
        drop(ahead);
        self.units.insert(units).spill()
    }

    /// Ends with some rows; what the next piece of their partition needs is kept.
    fn finish(&mut self, work: Work) -> Result<Phase> {
        self.charge.clear();
        self.rows = 0;
        if let (Some(piece), Some(units)) = (&work.piece, &mut self.units) {
            let next_start = units.next_start(piece);
            let carried = work.calls.into_iter().map(|it| it.carry(piece, next_start));
            let carried = carried.collect::<Result<_>>()?;
            units.finish_piece(piece, (&work.input, &work.places), carried)?;
        }
        Ok(Phase::Load)
    }

    fn start_sort(&mut self, input: Batch) -> Result<Phase> {
        let keys = self.spec.sort_keys();
        // Units are sorted.
        if keys.is_empty() || self.units.is_some() {
            self.ahead.clear();
            return self.start_arranging(input, None);
        }
        let columns = keys.iter().map(|it| input.column(it.column).clone()).collect();
        let sorter = RowSorter::new(columns, self.rows, &keys, self.ahead.commit())?;
        self.metrics.add("sorts", 1);
        Ok(Phase::Sort { input, sorter })
    }

    fn start_arranging(&mut self, input: Batch, order: Option<Vec<u32>>) -> Result<Phase> {
        let sorter = self.sorter.as_ref();
        let settles = |keys: usize| sorter.is_some_and(|it| it.settles(keys));
        let wanted = self.spec.arranged(settles);
        let arranging =
            Arranging::new(self.rows, order, wanted, (&self.spec.sizes, &self.cx.pool))?;
        Ok(Phase::Arrange { input, arranging })
    }

    fn start_calls(&mut self, input: Batch, run: Run, places: Boundaries) -> Result<Phase> {
        self.sorter = None;
        let mut piece = self.piece.take();
        if let (Some(it), Some(units)) = (&mut piece, &mut self.units)
            && !units.place(it, (&run, &places))?
        {
            drop((run, places));
            return self.put_back(piece, &input);
        }
        if piece.as_ref().is_none_or(Piece::is_first) {
            self.metrics.add("partitions", places.partitions() as u64);
        }
        let mut calls = Vec::with_capacity(self.spec.calls.len());
        for index in 0..self.spec.calls.len() {
            calls.push(match &mut piece {
                None => {
                    let input = call_input(&self.spec, (&run, &places, None), index);
                    Call::new(&input, &self.cx.pool)?
                }
                Some(piece) => {
                    let of = piece.places[self.spec.calls[index].level].clone();
                    let input = call_input(&self.spec, (&run, &places, Some(&of)), index);
                    Call::of_piece(&input, piece, index, &self.cx.pool)?
                }
            });
        }
        let cursor = BoundaryCursor::new(&places);
        let rows = piece.as_ref().map_or(0..self.rows, |it| it.rows.clone());
        let (position, end, pending) = (rows.start, rows.end, None);
        let work = Work { input, run, places, calls, cursor, piece, position, end, pending };
        Ok(Phase::Prepare { work: Box::new(work), ready: 0 })
    }

    /// Waits for more rows after a piece, of `input`.
    fn put_back(&mut self, piece: Option<Piece>, input: &Batch) -> Result<Phase> {
        self.charge.clear();
        self.rows = 0;
        if let (Some(piece), Some(units)) = (piece, &mut self.units) {
            units.put_back(piece, input)?;
        }
        Ok(Phase::Load)
    }

    /// Works on a batch; those rows for which all calls have answered, if there are any.
    fn emit(&self, work: &mut Work) -> Result<Option<Batch>> {
        let Some(mut pending) = work.next_batch(self.batch_rows) else {
            return Ok(None);
        };
        for (index, call) in work.calls.iter_mut().enumerate() {
            let piece = work.piece.as_ref().map(|it| &it.places[self.spec.calls[index].level]);
            let input = call_input(&self.spec, (&work.run, &work.places, piece), index);
            while pending.answers[index].end <= pending.next {
                let Some((results, frames)) = call.evaluate(&input, &pending.places)? else {
                    work.pending = Some(pending);
                    return Ok(None);
                };
                if let Some(counter) = call.counter() {
                    self.metrics.add(counter, frames as u64);
                }
                pending.answers[index].take(results);
            }
        }
        self.emit_answered(work, pending)
    }

    /// The rows for which all calls have answered, without what the limit leaves out.
    fn emit_answered(&self, work: &mut Work, mut pending: Pending) -> Result<Option<Batch>> {
        let first = pending.places.rows.start;
        let ends = pending.answers.iter().map(|it| it.end);
        let end = ends.min().unwrap_or(pending.places.rows.len());
        let rows = first + pending.next..first + end;
        work.position = rows.end;
        let mut kept = None;
        if let Some(limit) = self.spec.limit {
            let ranks = pending.answers[limit.call].of(&(pending.next..end))?;
            let ranks = Decoded::new(&ranks)?;
            let values = ranks.values().native::<i64>().ok_or_else(not_a_rank)?;
            let is_kept = |row: &u32| values[ranks.index(*row as usize)] as u64 <= limit.rows;
            let last = rows.len() - 1;
            let codes: Vec<u32> = (0..rows.len() as u32).filter(is_kept).collect();
            if codes.last() != Some(&(last as u32)) {
                // Ranks do not fall: nothing more of this partition is kept.
                let partition = pending.places.partitions.ends[end - 1];
                work.position = (partition as usize).min(work.end);
            }
            self.metrics.add("rows cut", (work.position - rows.start - codes.len()) as u64);
            kept = (codes.len() < rows.len()).then(|| ScalarBuffer::<u32>::from(codes));
        }
        let batch = match kept.as_ref().is_some_and(|it| it.is_empty()) {
            true => None,
            false => {
                let mut columns = work.run.output(&work.input, &self.spec.output, rows.clone())?;
                for answered in &pending.answers {
                    columns.push(answered.of(&(pending.next..end))?);
                }
                Some(Batch::new(columns, rows.len()))
            }
        };
        pending.next = work.position - first;
        work.go_on(pending);
        Ok(match kept {
            Some(codes) => batch.map(|it| it.wrap(&codes)),
            None => batch,
        })
    }
}

impl Answered {
    /// Takes the results of the next rows.
    fn take(&mut self, results: Vector) {
        (self.start, self.end) = (self.end, self.end + results.len());
        self.results = Some(results);
    }

    /// The results of some of the rows.
    fn of(&self, rows: &Range<usize>) -> Result<Vector> {
        match &self.results {
            Some(results) if self.start == rows.start && self.end == rows.end => {
                Ok(results.clone())
            }
            Some(results) if self.start <= rows.start && rows.end <= self.end => {
                Ok(results.slice(rows.start - self.start, rows.len()))
            }
            _ => Err(Error::internal("rows that a window call has not answered for")),
        }
    }
}

impl Work {
    fn prepare(&mut self, spec: &WindowSpec, index: usize) -> Result<bool> {
        let piece = self.piece.as_ref().map(|it| &it.places[spec.calls[index].level]);
        self.calls[index].prepare(&call_input(spec, (&self.run, &self.places, piece), index))
    }

    /// The batch under way, or the next one.
    fn next_batch(&mut self, batch_rows: usize) -> Option<Pending> {
        if let Some(pending) = self.pending.take() {
            return Some(pending);
        }
        let count = batch_rows.min(self.end - self.position);
        (count > 0).then(|| Pending {
            places: self.places.batch(&mut self.cursor, self.position, count),
            next: 0,
            answers: vec![Answered::default(); self.calls.len()],
        })
    }

    /// Drops the results that were emitted or are not needed; keeps the rest of a batch.
    fn go_on(&mut self, mut pending: Pending) {
        for (call, answered) in self.calls.iter_mut().zip(&mut pending.answers) {
            if answered.end <= pending.next {
                answered.results = None;
                call.release();
            }
        }
        match pending.next < pending.places.rows.len() {
            true => self.pending = Some(pending),
            false => self.calls.iter_mut().for_each(Call::skip_rest),
        }
    }
}

/// About what is needed per row beside the rows and their concatenation: sort, arranged columns,
/// places and calls.
fn bytes_per_row(spec: &WindowSpec) -> usize {
    let sort = sort_bytes_per_row(&spec.types, &spec.sort_keys());
    let args = spec.calls.iter().flat_map(|it| &it.arg_types).map(row_bytes);
    let calls = args.sum::<usize>() + spec.calls.len() * CALL_BYTES_PER_ROW;
    sort.max(calls)
}

fn not_a_rank() -> Error {
    Error::internal("a window is limited by what is not a rank")
}

fn call_input<'a>(
    spec: &'a WindowSpec,
    (run, places, piece): (&'a Run, &'a Boundaries, Option<&'a PartitionPiece>),
    index: usize,
) -> CallInput<'a> {
    let descending = spec.order_by.first().is_some_and(|it| it.descending);
    CallInput { spec: &spec.calls[index], run, places, descending, piece }
}

impl Operator for WindowOperator {
    fn name(&self) -> &'static str {
        "window"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        if let Some(units) = &mut self.units {
            return units.push(input);
        }
        let Phase::Collect(batches) = &mut self.phase else {
            return Err(Error::internal("input after its end"));
        };
        let input = compact_batch(input.loaded()?)?;
        if let Some(parts) = &mut self.parts {
            return parts.push(input);
        }
        let mut batches = std::mem::take(batches);
        self.collect(&mut batches, input)?;
        if self.spreads && self.rows > self.cx.task.sizes.window_rows {
            batches = self.spread(batches)?;
        }
        self.phase = Phase::Collect(batches);
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        if let (Phase::Load, Some(units)) = (&self.phase, &mut self.units) {
            return units.finish_input();
        }
        let Phase::Collect(batches) = std::mem::replace(&mut self.phase, Phase::Done) else {
            return Err(Error::internal("input ended twice"));
        };
        if let Some(units) = &mut self.units {
            self.phase = Phase::Load;
            return units.finish_input();
        }
        self.parts.as_mut().map_or(Ok(()), Parts::flush)?;
        self.phase = self.concat(batches);
        Ok(())
    }

    fn step(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        let phase = std::mem::replace(&mut self.phase, Phase::Done);
        let explain = |units: &Option<Units>, error| match units {
            Some(units) => units.explain(error),
            None => error,
        };
        let (phase, step) = self.advance(phase).map_err(|it| explain(&self.units, it))?;
        self.phase = phase;
        Ok(step)
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        Some(self)
    }
}

impl Spill for WindowOperator {
    fn reclaimable_bytes(&self) -> usize {
        let held = self.held_bytes();
        let held = if held < SPILL_BYTES_MIN { 0 } else { held };
        let units = self.units.as_ref().map_or(0, Units::reclaimable_bytes);
        let parts = self.parts.as_ref().map_or(0, Parts::reclaimable_bytes);
        match &self.phase {
            Phase::Collect(_) | Phase::Sift(_) => held + units + parts,
            Phase::Read(..) => held + parts,
            _ => parts,
        }
    }

    fn spill(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Collect(mut batches) => {
                let is_large = self.charge.bytes() >= self.cx.task.sizes.window_bytes;
                if self.spreads && is_large && !batches.is_empty() {
                    batches = self.spread(batches)?;
                }
                if !batches.is_empty() {
                    self.sort_on_disk(batches)?;
                }
                self.phase = Phase::Collect(Vec::new());
            }
            Phase::Read(batches, reader) => {
                self.sort_on_disk(batches)?;
                self.phase = Phase::Sift(reader);
            }
            phase => self.phase = phase,
        }
        if let (Phase::Collect(_) | Phase::Sift(_), Some(units)) = (&self.phase, &mut self.units) {
            units.spill()?;
        }
        self.parts.as_mut().map_or(Ok(()), Parts::spill)
    }
}
