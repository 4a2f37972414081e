//! One partition that does not fit in memory, piece by piece.
//!
//! ```text
//! run    kept rows │ rows before │ rows to answer for │ rows after │ tails
//! ```
//!
//! A piece is answered for as any other rows are, with some rows of the partition around it (`plan`
//! says which): neighbors that calls look at, the partition's first rows for first_value and
//! nth_value, the last rows that are not null for IGNORE NULLS. Between them rows are missing, so
//! that positions say who comes first, but not how many rows there are; what counts rows asks
//! [`PartitionPiece`]. States of aggregates whose frames grow go from piece to piece.
//!
//! When calls look at the ends of groups of peers or of the partition, the rows are gone through
//! once before (`scan`), and written once more on that way. For each piece it is noted where the
//! group of its last row ends, the result of aggregates there, and the group's last row, which
//! becomes a tail of the run: so groups of any size are cut. A frame that reaches beyond the rows
//! to answer for ends with this group.
//!
//! Frames by value (RANGE and GROUPS with offsets) begin and end in the order of the rows, but how
//! far away shows only when the rows are there (`reach`). A piece whose last frame may go on after
//! the rows that have come is put back, and comes again with more of them. What the first of the
//! frames to come may begin with is kept.

mod edge;
mod plan;
mod reach;
mod scan;

use super::{boundaries::Boundaries, run::Run, running::CarriedState, spec::WindowSpec};

pub(super) use plan::PiecePlan;
use reach::Reach;
use scan::{PieceEnd, Scan};
use std::{collections::VecDeque, ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_exec::OperatorContext;
use volley_function::PartitionPiece;
use volley_state::{BatchCharge, compact::own_batch, spill::SpillReader};
use volley_vector::{Batch, Vector};

/// The initial fraction of rows after a segment, relative to the rows of the segment, for frames by
/// value.
const AHEAD_SHARE: usize = 4;

/// The maximum ratio of surrounding rows to the rows of a segment, if it may grow.
const AROUND_MAX: usize = 4;

/// A partition on its way through memory.
pub(super) struct Pieces {
    spec: Arc<WindowSpec>,
    cx: OperatorContext,
    piece_rows: usize,
    scan: Option<Scan>,
    /// The rows that were gone through, on their way back.
    reader: Option<SpillReader>,
    /// Of the next pieces.
    ends: VecDeque<PieceEnd>,
    partition_rows: u64,
    /// Rows before those to answer for next.
    kept: Option<Batch>,
    rows_before: u64,
    /// By level: of the row before those to answer for next.
    groups: Vec<Group>,
    /// One per call.
    carried: Vec<Option<CarriedState>>,
    /// Rows to answer for next, and those after them.
    coming: Vec<Batch>,
    coming_rows: usize,
    /// How many rows after a piece are there for frames by value.
    ahead: usize,
    charge: BatchCharge,
    /// Whether the partition's last row has come.
    is_ended: bool,
}

/// A group of peers in its partition.
#[derive(Clone, Copy, Default)]
struct Group {
    /// Rows and groups before it.
    rows: u64,
    groups: i64,
}

/// A piece that is answered for.
pub(super) struct Piece {
    /// The positions to answer for.
    pub rows: Range<usize>,
    rows_before: u64,
    /// Rows after it that are answered for later.
    rows_after: usize,
    /// Frames by value of later rows need none of the rows before.
    reach_start: usize,
    /// Of each call whose frames may end after the piece: the result there.
    pub known: Vec<Option<Vector>>,
    pub carried: Vec<Option<CarriedState>>,
    /// By level.
    pub places: Vec<PartitionPiece>,
}

impl Pieces {
    pub(super) fn new(
        spec: &Arc<WindowSpec>,
        plan: &PiecePlan,
        piece_rows: usize,
        cx: &OperatorContext,
    ) -> Result<Pieces> {
        let scan = match plan.is_scanned {
            true => Some(Scan::new(spec, plan, piece_rows, cx)?),
            false => None,
        };
        Ok(Pieces {
            spec: Arc::clone(spec),
            cx: cx.clone(),
            piece_rows,
            scan,
            reader: None,
            ends: VecDeque::new(),
            partition_rows: 0,
            kept: None,
            rows_before: 0,
            groups: vec![Group::default(); spec.levels.len()],
            carried: spec.calls.iter().map(|_| None).collect(),
            coming: Vec::new(),
            coming_rows: 0,
            ahead: plan.by_value().map_or(0, |_| (piece_rows / AHEAD_SHARE).max(1)),
            charge: BatchCharge::new(&cx.pool),
            is_ended: false,
        })
    }

    /// Takes the next rows of the partition.
    pub(super) fn push(&mut self, batch: Batch) -> Result<()> {
        match &mut self.scan {
            Some(scan) => scan.push(&batch),
            None => self.keep(batch),
        }
    }

    /// There are no more rows of the partition.
    pub(super) fn end(&mut self) -> Result<()> {
        let Some(scan) = self.scan.take() else {
            self.is_ended = true;
            return Ok(());
        };
        let (run, rows, ends) = scan.finish()?;
        (self.partition_rows, self.ends) = (rows, ends);
        // The file goes with its reader.
        self.reader = Some(run.read(&self.cx.pool, self.cx.task.batch_rows)?);
        Ok(())
    }

    /// Takes rows that were gone through; false when the partition must go on elsewhere.
    pub(super) fn read(&mut self) -> Result<bool> {
        let Some(reader) = &mut self.reader else { return Ok(false) };
        match reader.next()? {
            Some(batch) => self.keep(batch)?,
            None => (self.reader, self.is_ended) = (None, true),
        }
        Ok(true)
    }

    /// Whether all rows were answered for.
    pub(super) fn is_done(&self) -> bool {
        self.is_ended && self.coming_rows == 0
    }

    fn keep(&mut self, batch: Batch) -> Result<()> {
        self.charge.add(&batch)?;
        self.coming_rows += batch.rows();
        self.coming.push(batch);
        Ok(())
    }

    /// The next piece and its run, charged no more, when its rows are there.
    pub(super) fn next(&mut self, plan: &PiecePlan) -> Option<(Vec<Batch>, Piece)> {
        let len = self.piece_len(plan);
        let wanted = len.saturating_add(self.ahead.max(plan.after as usize));
        if self.coming_rows == 0 || (self.coming_rows < wanted && !self.is_ended) {
            return None;
        }
        let len = len.min(self.coming_rows);
        let start = self.kept.as_ref().map_or(0, Batch::rows);
        let end = self.ends.front().cloned();
        let mut run: Vec<Batch> = self.kept.take().into_iter().collect();
        run.append(&mut self.coming);
        if let Some(end) = &end {
            run.extend(self.tails(plan, end));
        }
        let places = |level: usize| PartitionPiece {
            rows: start as u32..(start + len) as u32,
            rows_before: self.rows_before,
            peers_start: self.groups[level].rows,
            groups_missing: 0,
            peers_end: end.as_ref().map_or(0, |it| it.levels[level].rows),
            partition_rows: self.partition_rows,
        };
        let calls = self.spec.calls.len();
        let piece = Piece {
            rows: start..start + len,
            rows_before: self.rows_before,
            rows_after: self.coming_rows - len,
            reach_start: start + len,
            places: (0..self.groups.len()).map(places).collect(),
            known: end.map_or_else(|| vec![None; calls], |it| it.known),
            carried: std::mem::take(&mut self.carried),
        };
        self.coming_rows = 0;
        self.charge.clear();
        Some((run, piece))
    }

    /// How many rows to answer for next, at most. Where much is around a piece, it is larger, so
    /// that going through that again for each costs little. Pieces that were scanned are all of one
    /// size.
    fn piece_len(&self, plan: &PiecePlan) -> usize {
        let around = self.kept.as_ref().map_or(0, Batch::rows) + self.ahead;
        match plan.is_scanned {
            true => self.piece_rows,
            false if self.is_ended => usize::MAX,
            false => self.piece_rows.max(around / AROUND_MAX),
        }
    }

    /// The last rows of groups that go on after the rows that are there.
    fn tails(&self, plan: &PiecePlan, end: &PieceEnd) -> Vec<Batch> {
        let there = self.rows_before + self.coming_rows as u64;
        let levels = plan.calls.iter().filter_map(|it| it.tail);
        let mut tails: Vec<_> =
            levels.map(|it| &end.levels[it]).filter(|it| it.rows > there).collect();
        tails.sort_by_key(|it| it.rows);
        tails.dedup_by_key(|it| it.rows);
        tails.into_iter().filter_map(|it| it.last.clone()).collect()
    }

    /// Takes what the next piece needs of `rows`, the run of this one, of whose calls
    /// `carried` are the states.
    pub(super) fn finish_piece(
        &mut self,
        plan: &PiecePlan,
        piece: &Piece,
        rows: &Batch,
        places: &Boundaries,
    ) -> Result<()> {
        let last = places.row(piece.rows.end - 1);
        for (level, group) in self.groups.iter_mut().enumerate() {
            let (of, level) = (&piece.places[level], &last.levels[level]);
            let start = level.peers.starts[0];
            if start >= of.rows.start {
                group.rows = piece.rows_before + u64::from(start - of.rows.start);
            }
            group.groups = i64::from(level.groups_before[0]) + of.groups_missing;
        }
        self.rows_before += piece.rows.len() as u64;
        self.ends.pop_front();
        let kept = plan.kept(rows, piece.next_start(plan)..piece.rows.end);
        let kept = own_batch(rows.gather(&kept)?)?;
        self.charge.add(&kept)?;
        self.kept = Some(kept);
        if piece.rows_after > 0 {
            self.keep(own_batch(rows.slice(piece.rows.end, piece.rows_after))?)?;
        }
        Ok(())
    }

    /// Sets what goes from this piece to the next.
    pub(super) fn carry(&mut self, carried: Vec<Option<CarriedState>>) {
        self.carried = carried;
    }

    /// Completes what is known of a piece by where groups and frames end in its run; false when
    /// frames may go on after it.
    pub(super) fn place(
        &mut self,
        plan: &PiecePlan,
        piece: &mut Piece,
        (run, places): (&Run, &Boundaries),
    ) -> Result<bool> {
        if plan.by_value().is_some() {
            let last = piece.rows.end - 1;
            let reach = Reach::of_row(last, (&self.spec, plan), (run, places))?;
            if reach.end >= piece.end() && !self.is_ended {
                return Ok(false);
            }
            if reach.end.saturating_sub(last) < self.ahead / AHEAD_SHARE {
                self.ahead /= 2;
            }
            piece.reach_start = reach.start;
        }
        let Some(before) = piece.rows.start.checked_sub(1) else { return Ok(true) };
        let before = places.row(before);
        for (level, of) in piece.places.iter_mut().enumerate() {
            let there = i64::from(before.levels[level].groups_before[0]);
            of.groups_missing = self.groups[level].groups - there;
        }
        Ok(true)
    }

    /// Takes a piece back, and `rows`, its run; it comes again with twice as many rows after it.
    pub(super) fn put_back(&mut self, piece: Piece, rows: &Batch) -> Result<()> {
        self.ahead = piece.rows_after.saturating_mul(2).max(1);
        let (start, end) = (piece.rows.start, piece.end());
        self.carried = piece.carried;
        if start > 0 {
            let kept = rows.slice(0, start);
            self.charge.add(&kept)?;
            self.kept = Some(kept);
        }
        self.keep(rows.slice(start, end - start))
    }
}

impl Piece {
    /// The end of the rows after it, which follow one another.
    fn end(&self) -> usize {
        self.rows.end + self.rows_after
    }

    /// Whether the partition begins with it.
    pub(super) fn is_first(&self) -> bool {
        self.rows_before == 0
    }

    /// The first position of which states must have all rows before, for the next piece.
    pub(super) fn next_start(&self, plan: &PiecePlan) -> usize {
        let before = usize::try_from(plan.before).unwrap_or(usize::MAX);
        self.rows.end.saturating_sub(before).min(self.reach_start)
    }

    /// The position of a row of the partition that was there before.
    pub(super) fn position(&self, row: u64) -> Result<u32> {
        let position = (row + self.rows.start as u64).checked_sub(self.rows_before);
        let position = position.and_then(|it| u32::try_from(it).ok());
        position.ok_or_else(|| Error::internal("a state that is not where its piece begins"))
    }

    /// The row of the partition that is at a position, among those that follow one another.
    pub(super) fn row(&self, position: u32) -> u64 {
        (self.rows_before + u64::from(position)).saturating_sub(self.rows.start as u64)
    }
}
