//! Sorts all rows.
//!
//! ```text
//! collect   input batches, with the memory for sorting them reserved
//! sort      row numbers, in steps, once the key columns are concatenated
//! emit      rows gathered out of the batches in that order
//! ```
//!
//! When memory is short, what was collected is sorted and written as a run; at the end the runs are
//! merged, the last rows among them:
//!
//! ```text
//! collect ── sort ── write run ──┐ (again and again)
//!    └──────────────────────────┘── reduce: runs to longer runs, while there are many
//!                                   merge: emit
//! ```

mod runs;
mod lower;
#[cfg(test)]
mod spill_tests;
#[cfg(test)]
mod tests;

pub(crate) use lower::{lower, sort};

use runs::{Runs, RunsStep};
use volley_error::{Error, Result};
use volley_exec::{Operator, OperatorContext, Spill, Step, StepContext};
use volley_memory::check_cancelled;
use volley_plan::SortKey;
use volley_state::{
    compact::compact_strings,
    sort::{BatchSort, SortInput, SortShape, Taken},
    spill::{SPILL_BYTES_MIN, SpillWriter},
};
use volley_types::Type;
use volley_vector::Batch;

/// Sorts all rows of its stream; rows with equal keys keep their order.
pub struct OrderBy {
    batch_rows: usize,
    /// Rows collected.
    input: SortInput,
    runs: Runs,
    input_done: bool,
    phase: Phase,
}

enum Phase {
    Collect,
    Sort(BatchSort),
    PutOut(BatchSort),
    Write(BatchSort, SpillWriter),
    /// Runs are merged and emitted.
    Merge,
    Done,
}

impl OrderBy {
    /// Sorts rows of `types` by `keys`.
    pub fn new(types: Vec<Type>, keys: Vec<SortKey>, cx: &OperatorContext) -> OrderBy {
        let runs = Runs::new(&types, &keys, cx);
        let sizes = cx.task.sizes;
        let shape = SortShape { types: types.into(), keys: keys.into(), sizes };
        OrderBy {
            batch_rows: cx.task.batch_rows,
            input: SortInput::new(shape, &cx.pool),
            runs,
            input_done: false,
            phase: Phase::Collect,
        }
    }

    /// Takes the rows of `input`, which is of the same shape, behind all others.
    pub(crate) fn accept_all(&mut self, input: SortInput) -> Result<()> {
        match &self.phase {
            Phase::Collect => self.input.append(input),
            _ => Err(Error::internal("input after its end")),
        }
    }

    fn sorted(&mut self, sort: BatchSort) -> Result<Phase> {
        if self.input_done && self.runs.is_empty() {
            return Ok(Phase::PutOut(sort));
        }
        Ok(Phase::Write(sort, self.runs.writer()?))
    }

    /// What comes when a run is written.
    fn after_run(&mut self) -> Phase {
        if self.input_done { Phase::Merge } else { Phase::Collect }
    }

    fn advance(&mut self, phase: Phase) -> Result<(Phase, Step)> {
        Ok(match phase {
            Phase::Collect if self.input_done => match (self.input.rows(), self.runs.is_empty()) {
                (0, true) => (Phase::Done, Step::Finished),
                (0, false) => (Phase::Merge, Step::Yield),
                _ => (Phase::Sort(self.input.take().start()?), Step::Yield),
            },
            Phase::Collect => (Phase::Collect, Step::NeedInput),
            Phase::Sort(mut sort) => match sort.step()? {
                true => (self.sorted(sort)?, Step::Yield),
                false => (Phase::Sort(sort), Step::Yield),
            },
            Phase::PutOut(mut sort) => match sort.take(self.batch_rows)? {
                // What is in order shares its strings with the rest of a block.
                Taken::Rows(rows) => (Phase::PutOut(sort), Step::Output(compact_strings(rows)?)),
                Taken::Progress => (Phase::PutOut(sort), Step::Yield),
                Taken::End => (Phase::Done, Step::Finished),
            },
            Phase::Write(mut sort, mut writer) => match sort.take(self.batch_rows)? {
                Taken::Rows(rows) => {
                    writer.write(&rows)?;
                    (Phase::Write(sort, writer), Step::Yield)
                }
                Taken::Progress => (Phase::Write(sort, writer), Step::Yield),
                Taken::End => {
                    self.runs.push(writer)?;
                    (self.after_run(), Step::Yield)
                }
            },
            Phase::Merge => match self.runs.step()? {
                RunsStep::Output(batch) => (Phase::Merge, Step::Output(batch)),
                RunsStep::Progress => (Phase::Merge, Step::Yield),
                RunsStep::End => (Phase::Done, Step::Finished),
            },
            Phase::Done => (Phase::Done, Step::Finished),
        })
    }
}

impl Spill for OrderBy {
    fn reclaimable_bytes(&self) -> usize {
        let bytes = match &self.phase {
            Phase::Collect => self.input.bytes(),
            Phase::PutOut(sort) => sort.bytes(),
            _ => 0,
        };
        if bytes < SPILL_BYTES_MIN { 0 } else { bytes }
    }

    fn spills_alongside(&self) -> bool {
        matches!(self.phase, Phase::Collect)
    }

    fn spill(&mut self) -> Result<()> {
        let mut phase = match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Collect if self.input.rows() > 0 => Phase::Sort(self.input.take().start()?),
            Phase::PutOut(sort) => Phase::Write(sort, self.runs.writer()?),
            other => {
                self.phase = other;
                return Ok(());
            }
        };
        // Nothing is emitted before the input has ended, or the run is written.
        let input_done = std::mem::replace(&mut self.input_done, false);
        while !matches!(phase, Phase::Collect) {
            check_cancelled()?;
            phase = self.advance(phase)?.0;
        }
        self.input_done = input_done;
        self.phase = phase;
        Ok(())
    }
}

impl Operator for OrderBy {
    fn name(&self) -> &'static str {
        "order by"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        match &self.phase {
            Phase::Collect => self.input.push(input),
            _ => Err(Error::internal("input after its end")),
        }
    }

    fn finish_input(&mut self) -> Result<()> {
        self.input_done = true;
        Ok(())
    }

    fn step(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        let phase = std::mem::replace(&mut self.phase, Phase::Done);
        let (phase, step) = self.advance(phase)?;
        self.phase = phase;
        Ok(step)
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        Some(self)
    }
}
