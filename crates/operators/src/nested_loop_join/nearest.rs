//! The nearest build rows where the build side did not fit in memory: both sides sorted by keys and
//! by the comparison's column, and merged.
//!
//! ```text
//! build   runs on disk ── sort ── one run (by the driver that ends last)
//! probe   each driver: its rows ── sort ──┐
//!                      the run, anew ─────┴── the build rows before and behind each probe row
//! ```
//!
//! A block of the run begins with the last row of the block before: of the row that comes first,
//! and the one before it, one is the nearest.

use super::{
    blocks::{Block, Blocks},
    lookup::AsofSpec,
};
use crate::order_by::OrderBy;
use std::{collections::VecDeque, sync::Arc, task::Waker};
use volley_error::Result;
use volley_exec::{Operator, OperatorContext, Spill, Step, StepContext};
use volley_plan::{Comparison, SortKey};
use volley_state::{
    BatchCharge,
    sort::Tie,
    spill::{SpillReader, SpillRun, SpillWriter},
};
use volley_types::Type;
use volley_vector::Batch;

/// Sorts rows on disk to one run.
pub(super) struct RunSort {
    cx: OperatorContext,
    types: Vec<Type>,
    runs: VecDeque<SpillRun>,
    reader: Option<SpillReader>,
    sort: OrderBy,
    writer: Option<SpillWriter>,
    input_done: bool,
}

/// Merges a driver's probe rows with the sorted build side.
pub(super) struct NearestMerge {
    spec: AsofSpec,
    build_types: Vec<Type>,
    sort: OrderBy,
    /// The block that the merge is at; `None` before the first.
    block: Option<Block>,
    charge: BatchCharge,
    /// The first row of it that is not before the probe rows so far.
    next: usize,
    /// Whether it is the last one.
    is_last: bool,
}

/// Compares rows of a block with probe rows.
struct Comparing {
    keys: Vec<Tie>,
    range: Tie,
    /// Per key: the probe column, where a null equals nothing.
    not_null: Vec<usize>,
    /// Whether build rows are passed that are as large as the probe row.
    passes_equal: bool,
}

impl RunSort {
    pub(super) fn new(
        runs: Vec<SpillRun>,
        spec: &AsofSpec,
        types: &[Type],
        cx: &OperatorContext,
    ) -> RunSort {
        let columns = spec.keys.iter().map(|it| it.1).chain([spec.range.build]);
        RunSort {
            cx: cx.clone(),
            types: types.to_vec(),
            runs: runs.into(),
            reader: None,
            sort: OrderBy::new(types.to_vec(), ascending(columns), cx),
            writer: None,
            input_done: false,
        }
    }

    /// Does some work; the run at the end.
    pub(super) fn step(&mut self) -> Result<Option<SpillRun>> {
        match self.sort.step(&mut StepContext { waker: Waker::noop() })? {
            Step::NeedInput => self.read()?,
            Step::Output(batch) => self.writer()?.write(&batch)?,
            Step::Yield | Step::EndOfSplit | Step::Blocked(_) => {}
            Step::Finished => {
                self.writer()?;
                return self.writer.take().map(SpillWriter::finish).transpose();
            }
        }
        Ok(None)
    }

    fn read(&mut self) -> Result<()> {
        if let Some(reader) = &mut self.reader
            && let Some(batch) = reader.next()?
        {
            return self.sort.accept(batch);
        }
        // The file of a run goes with its reader.
        let run = self.runs.pop_front();
        self.reader = match run {
            Some(run) => Some(run.read(&self.cx.pool, self.cx.task.batch_rows)?),
            None => None,
        };
        if self.reader.is_none() && !std::mem::replace(&mut self.input_done, true) {
            self.sort.finish_input()?;
        }
        Ok(())
    }

    fn writer(&mut self) -> Result<&mut SpillWriter> {
        Ok(match &mut self.writer {
            Some(writer) => writer,
            empty => {
                let space = &self.cx.task.spill;
                empty.insert(SpillWriter::new(space, &self.types, &self.cx.pool)?)
            }
        })
    }
}

impl Spill for RunSort {
    fn reclaimable_bytes(&self) -> usize {
        self.sort.reclaimable_bytes()
    }

    fn spill(&mut self) -> Result<()> {
        self.sort.spill()
    }
}

impl NearestMerge {
    pub(super) fn new(
        spec: &AsofSpec,
        (probe_types, build_types): (&[Type], &[Type]),
        cx: &OperatorContext,
    ) -> NearestMerge {
        let columns = spec.keys.iter().map(|it| it.0).chain([spec.range.probe]);
        NearestMerge {
            spec: spec.clone(),
            build_types: build_types.to_vec(),
            sort: OrderBy::new(probe_types.to_vec(), ascending(columns), cx),
            block: None,
            charge: BatchCharge::new(&cx.pool),
            next: 0,
            is_last: false,
        }
    }

    /// Takes probe rows.
    pub(super) fn accept(&mut self, probe: Batch) -> Result<()> {
        self.sort.accept(probe)
    }

    /// There are no more of them.
    pub(super) fn finish_input(&mut self) -> Result<()> {
        self.sort.finish_input()
    }

    /// The next sorted probe rows.
    pub(super) fn next_probe(&mut self) -> Result<Step> {
        self.sort.step(&mut StepContext { waker: Waker::noop() })
    }

    /// The block whose rows [`NearestMerge::advance`] finds.
    pub(super) fn block(&self) -> Option<&Block> {
        self.block.as_ref()
    }

    /// Goes to the next block of the build side.
    pub(super) fn next_block(&mut self, build: &mut Blocks) -> Result<()> {
        match &self.block {
            None => build.rewind()?,
            Some(_) => build.advance()?,
        }
        let Some(read) = build.block() else {
            self.is_last = true;
            return Ok(());
        };
        let Some(before) = self.block.take().filter(|it| it.rows.rows() > 0) else {
            (self.block, self.next) = (Some(read.clone()), 0);
            return Ok(());
        };
        let last = before.rows.rows() - 1;
        let rows = [before.rows.slice(last, 1), Batch::clone(&read.rows)];
        self.charge.clear();
        // The reader has charged its block, whose texts the rows share.
        let rows = self.charge.keep(Batch::concat(&self.build_types, &rows)?)?;
        self.next = usize::from(self.next > last);
        self.block = Some(Block { rows: Arc::new(rows), start: before.start + last });
        Ok(())
    }

    /// Finds the nearest rows of probe rows from `from` on, as pairs of probe row and row of the
    /// block; false when the next block is needed.
    pub(super) fn advance(
        &mut self,
        probe: &Batch,
        from: &mut usize,
        mut found: impl FnMut(u32, u32),
    ) -> Result<bool> {
        let Some(block) = &self.block else {
            *from = if self.is_last { probe.rows() } else { *from };
            return Ok(self.is_last);
        };
        let compare = Comparing::new(&self.spec, &block.rows, probe)?;
        let rows = block.rows.rows();
        while *from < probe.rows() {
            let row = *from;
            if compare.matches_nothing(row) {
                *from += 1;
                continue;
            }
            while self.next < rows && compare.is_passed(self.next, row) {
                self.next += 1;
            }
            if self.next == rows && !self.is_last {
                return Ok(false);
            }
            let candidate = match self.spec.range.comparison.is_less() {
                true => Some(self.next).filter(|it| *it < rows),
                false => self.next.checked_sub(1),
            };
            if let Some(candidate) = candidate.filter(|it| compare.is_match(*it, row)) {
                found(row as u32, candidate as u32);
            }
            *from += 1;
        }
        Ok(true)
    }
}

impl Spill for NearestMerge {
    fn reclaimable_bytes(&self) -> usize {
        self.sort.reclaimable_bytes()
    }

    fn spill(&mut self) -> Result<()> {
        self.sort.spill()
    }
}

impl Comparing {
    fn new(spec: &AsofSpec, build: &Batch, probe: &Batch) -> Result<Comparing> {
        let tie = |probe_column: usize, build_column: usize| {
            let key = ascending([build_column])[0];
            Tie::new(build.column(build_column), probe.column(probe_column), key)
        };
        let keys = spec.keys.iter().map(|it| tie(it.0, it.1)).collect::<Result<_>>()?;
        let not_null = spec.keys.iter().enumerate().filter(|it| !it.1.2);
        Ok(Comparing {
            keys,
            range: tie(spec.range.probe, spec.range.build)?,
            not_null: not_null.map(|it| it.0).collect(),
            passes_equal: matches!(
                spec.range.comparison,
                Comparison::GreaterOrEqual | Comparison::Less
            ),
        })
    }

    /// Whether a null of a probe row keeps it from matching.
    fn matches_nothing(&self, probe: usize) -> bool {
        self.range.right_is_null(probe)
            || self.not_null.iter().any(|it| self.keys[*it].right_is_null(probe))
    }

    /// Whether a build row comes before those that may be the next one after a probe row.
    fn is_passed(&self, build: usize, probe: usize) -> bool {
        let orders = self.keys.iter().chain([&self.range]).map(|it| it.compare(build, probe));
        let mut different = orders.filter(|it| it.is_ne());
        different.next().map_or(self.passes_equal, |it| it.is_lt())
    }

    /// Whether a build row next to a probe row has its keys, and a value.
    fn is_match(&self, build: usize, probe: usize) -> bool {
        !self.range.left_is_null(build)
            && self.keys.iter().all(|it| it.compare(build, probe).is_eq())
    }
}

fn ascending(columns: impl IntoIterator<Item = usize>) -> Vec<SortKey> {
    let key = |column| SortKey { column, descending: false, nulls_first: false };
    columns.into_iter().map(key).collect()
}
