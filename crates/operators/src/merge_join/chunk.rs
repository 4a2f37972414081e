//! Joins one chunk.
//!
//! ```text
//! per left batch
//!   per right block      (one; several where rows of one key are many)
//!     ranges             of right rows with the key of each left row
//!     pairs              some at a time, tested by the filter
//!   left rows without a match, marks, semi joins
//! right rows by whether they have a match
//! ```

use super::{MergeSpec, side::partition_point};
use crate::nested_loop_join::Condition;
use std::{cmp::Ordering, sync::Arc};
use volley_error::Result;
use volley_exec::{OperatorContext, Step};
use volley_memory::Reservation;
use volley_state::{
    BatchCharge,
    sort::Tie,
    spill::{SpillReader, SpillRun},
};
use volley_vector::{Batch, ScalarBuffer};

/// Rows of both sides that match no others.
pub(super) struct Chunk {
    pub left: ChunkRows,
    pub right: ChunkRows,
    /// Whether all rows have the same key, one that matches.
    pub is_group: bool,
}

/// Rows of one side, in order.
pub(super) enum ChunkRows {
    Memory(Vec<Batch>),
    Disk(SpillRun),
}

/// A chunk that is being joined.
pub(super) struct ChunkJoin {
    spec: Arc<MergeSpec>,
    is_group: bool,
    left: Walk,
    right: Walk,
    current: Option<Current>,
    /// Right rows that have a match; empty unless the kind returns right rows by themselves.
    matched: Vec<bool>,
    /// Once all left rows are done: the right block, and its next row.
    rest: Option<(Option<Batch>, usize)>,
    charge: BatchCharge,
    _matched_charge: Reservation,
}

/// A left batch that is being joined.
struct Current {
    rows: Batch,
    matched: Vec<bool>,
    block: Option<Ranges>,
}

/// A right block, and which of its rows have the key of each left row.
struct Ranges {
    block: Batch,
    of: Vec<(u32, u32)>,
    /// Where the walk over pairs stands: a left row, and how many of its pairs are behind.
    row: usize,
    behind: u32,
}

/// Goes through rows, again and again.
struct Walk {
    rows: ChunkRows,
    cx: OperatorContext,
    next: usize,
    reader: Option<SpillReader>,
    /// Where the batch after the next one begins among all rows.
    end: usize,
}

impl ChunkRows {
    /// Those on disk.
    pub(super) fn run(&self) -> Option<&SpillRun> {
        match self {
            ChunkRows::Memory(_) => None,
            ChunkRows::Disk(run) => Some(run),
        }
    }

    fn rows(&self) -> usize {
        match self {
            ChunkRows::Memory(batches) => batches.iter().map(Batch::rows).sum(),
            ChunkRows::Disk(run) => run.rows(),
        }
    }

    fn charge(&self, charge: &mut BatchCharge) -> Result<()> {
        match self {
            ChunkRows::Memory(batches) => batches.iter().try_for_each(|it| charge.add(it)),
            ChunkRows::Disk(_) => Ok(()),
        }
    }
}

impl Walk {
    fn new(rows: ChunkRows, cx: &OperatorContext) -> Walk {
        Walk { rows, cx: cx.clone(), next: 0, reader: None, end: 0 }
    }

    fn rewind(&mut self) {
        (self.next, self.reader, self.end) = (0, None, 0);
    }

    /// The next rows.
    fn next(&mut self) -> Result<Option<Batch>> {
        let batch = match &self.rows {
            ChunkRows::Memory(batches) => {
                self.next += 1;
                batches.get(self.next - 1).cloned()
            }
            ChunkRows::Disk(run) => {
                let reader = match &mut self.reader {
                    Some(reader) => reader,
                    empty => empty.insert(run.read(&self.cx.pool, self.cx.task.batch_rows)?),
                };
                reader.next()?
            }
        };
        self.end += batch.as_ref().map_or(0, Batch::rows);
        Ok(batch)
    }
}

impl ChunkJoin {
    pub(super) fn new(
        spec: &Arc<MergeSpec>,
        chunk: Chunk,
        cx: &OperatorContext,
    ) -> Result<ChunkJoin> {
        let Chunk { left, mut right, is_group } = chunk;
        let mut charge = BatchCharge::new(&cx.pool);
        left.charge(&mut charge)?;
        right.charge(&mut charge)?;
        if let ChunkRows::Memory(batches) = &mut right
            && !is_group
            && batches.len() > 1
        {
            *batches = vec![Batch::concat(&spec.output.build_types, batches)?];
            charge.clear();
            left.charge(&mut charge)?;
            right.charge(&mut charge)?;
        }
        let rows = if spec.output.kind.emits_build_rows() { right.rows() } else { 0 };
        let mut matched_charge = cx.pool.reservation();
        matched_charge.resize(rows)?;
        Ok(ChunkJoin {
            spec: Arc::clone(spec),
            is_group,
            left: Walk::new(left, cx),
            right: Walk::new(right, cx),
            current: None,
            matched: vec![false; rows],
            rest: None,
            charge,
            _matched_charge: matched_charge,
        })
    }

    /// Does some work; `Finished` at the end of the chunk.
    pub(super) fn step(&mut self, filter: Option<&mut Condition>) -> Result<Step> {
        if let Some((block, row)) = self.rest.take() {
            return self.emit_right(block, row);
        }
        let Some(mut current) = self.current.take() else {
            return self.next_left();
        };
        if let Some(ranges) = current.block.take() {
            let batch = self.join(&mut current, ranges, filter)?;
            self.current = Some(current);
            return Ok(batch.map_or(Step::Yield, Step::Output));
        }
        let output = &self.spec.output;
        let is_settled = output.first_hit_settles() && current.matched.iter().all(|it| *it);
        let block = if is_settled { None } else { self.right.next()? };
        let Some(block) = block else {
            let rest = output.probe_rows(&current.rows, &current.matched, None);
            return Ok(rest.map_or(Step::Yield, Step::Output));
        };
        let of = match self.is_group {
            true => vec![(0, block.rows() as u32); current.rows.rows()],
            false => ranges(&self.spec, &current.rows, &block)?,
        };
        current.block = Some(Ranges { block, of, row: 0, behind: 0 });
        self.current = Some(current);
        Ok(Step::Yield)
    }

    fn next_left(&mut self) -> Result<Step> {
        self.right.rewind();
        match self.left.next()? {
            Some(rows) => {
                let matched = vec![false; rows.rows()];
                self.current = Some(Current { rows, matched, block: None });
            }
            None if self.spec.output.kind.emits_build_rows() => self.rest = Some((None, 0)),
            None => {
                self.charge.clear();
                return Ok(Step::Finished);
            }
        }
        Ok(Step::Yield)
    }

    /// Checks some pairs of a block; returns those that are emitted.
    fn join(
        &mut self,
        current: &mut Current,
        mut ranges: Ranges,
        filter: Option<&mut Condition>,
    ) -> Result<Option<Batch>> {
        let start = self.right.end - ranges.block.rows();
        let output = &self.spec.output;
        if filter.is_none() && !output.needs_pairs() {
            self.match_ranges(current, &ranges, start);
            return Ok(None);
        }
        let settles = output.first_hit_settles();
        let (mut left, mut right) =
            ranges.next_pairs(self.spec.batch_rows, |row| settles && current.matched[row]);
        if let (Some(filter), false) = (filter, left.is_empty()) {
            let hits = filter.select_pairs((&left, &right), &current.rows, &ranges.block)?;
            if !hits.is_all() {
                let hits = hits.to_indices();
                let kept = |rows: &[u32]| hits.iter().map(|it| rows[*it as usize]).collect();
                (left, right) = (kept(&left), kept(&right));
            }
        }
        left.iter().for_each(|it| current.matched[*it as usize] = true);
        if !self.matched.is_empty() {
            right.iter().for_each(|it| self.matched[start + *it as usize] = true);
        }
        let (left, right) = (ScalarBuffer::from(left), ScalarBuffer::from(right));
        let has_output = output.needs_pairs() && !left.is_empty();
        let pairs =
            has_output.then(|| output.pairs((&current.rows, &left), (&ranges.block, &right)));
        if ranges.row < ranges.of.len() {
            current.block = Some(ranges);
        }
        Ok(pairs)
    }

    /// Notes the matches of all pairs of a block, which begins at right row `start`.
    fn match_ranges(&mut self, current: &mut Current, ranges: &Ranges, start: usize) {
        let mut before = (0, 0);
        for (matched, range) in current.matched.iter_mut().zip(&ranges.of) {
            if range.0 == range.1 {
                continue;
            }
            *matched = true;
            if *range != before && !self.matched.is_empty() {
                self.matched[start + range.0 as usize..start + range.1 as usize].fill(true);
                before = *range;
            }
        }
    }

    /// Right rows of a block from `row` on, by whether they have a match.
    fn emit_right(&mut self, block: Option<Batch>, row: usize) -> Result<Step> {
        let block = match block.filter(|it| row < it.rows()) {
            Some(block) => Some((block, row)),
            None => self.right.next()?.map(|it| (it, 0)),
        };
        let Some((block, row)) = block else {
            self.charge.clear();
            return Ok(Step::Finished);
        };
        let start = self.right.end - block.rows();
        let end = (row + self.spec.batch_rows).min(block.rows());
        let matched = |row: usize| self.matched[start + row];
        let batch = self.spec.output.build_rows(&block, row..end, matched);
        self.rest = Some((Some(block), end));
        Ok(batch.map_or(Step::Yield, Step::Output))
    }
}

impl Ranges {
    /// The next pairs, at most `limit`, but for left rows that are settled.
    fn next_pairs(
        &mut self,
        limit: usize,
        is_settled: impl Fn(usize) -> bool,
    ) -> (Vec<u32>, Vec<u32>) {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        while let Some((start, end)) = self.of.get(self.row).copied()
            && left.len() < limit
        {
            let from = start + self.behind;
            if from < end && !is_settled(self.row) {
                let to = end.min(from.saturating_add((limit - left.len()) as u32));
                right.extend(from..to);
                left.resize(right.len(), self.row as u32);
                if to < end {
                    self.behind = to - start;
                    break;
                }
            }
            (self.row, self.behind) = (self.row + 1, 0);
        }
        (left, right)
    }
}

/// For each left row the right rows with its key. Both sides are in order.
fn ranges(spec: &MergeSpec, left: &Batch, right: &Batch) -> Result<Vec<(u32, u32)>> {
    let tie = |it: &volley_plan::MergeKey| {
        Tie::new(left.column(it.probe), right.column(it.build), it.sort_key(it.build))
    };
    let ties = spec.keys.iter().map(tie).collect::<Result<Vec<_>>>()?;
    let compare = |left: usize, right: usize| {
        let mut orders = ties.iter().map(|it| it.compare(left, right));
        orders.find(|it| it.is_ne()).unwrap_or(Ordering::Equal)
    };
    let keys = || ties.iter().zip(&spec.keys);
    let is_null = |left: usize| keys().any(|it| !it.1.nulls_equal && it.0.left_is_null(left));
    let rows = right.rows();
    let first = partition_point(rows, |it| compare(0, it).is_gt());
    let mut range = (first, first);
    let mut ranges = Vec::with_capacity(left.rows());
    for row in 0..left.rows() {
        if is_null(row) {
            ranges.push((0, 0));
            continue;
        }
        let is_same = range.0 < range.1 && compare(row, range.0).is_eq();
        if !is_same {
            let mut start = range.1;
            while start < rows && compare(row, start).is_gt() {
                start += 1;
            }
            let mut end = start;
            while end < rows && compare(row, end).is_eq() {
                end += 1;
            }
            range = (start, end);
        }
        ranges.push((range.0 as u32, range.1 as u32));
    }
    Ok(ranges)
}
