//! Sorts all rows.
//!
//! ```text
//! collect   input batches, charged with what sorting them will take
//! concat    one flat vector per column, column by column
//! sort      row numbers, in steps
//! put out   rows gathered in that order, batch by batch
//! ```
//!
//! When memory is short, what was collected is sorted and written as a run; at the end the runs are
//! merged, the last rows among them:
//!
//! ```text
//! collect ── concat ── sort ── write run ──┐ (again and again)
//!    └─────────────────────────────────────┘── reduce: runs to longer runs, while there are many
//!                                              merge: put out
//! ```

mod runs;
#[cfg(test)]
mod spill_tests;
#[cfg(test)]
mod tests;

use crate::{
    BatchCharge, Operator, OperatorContext, Spill, Step, StepContext,
    column_concat::{ColumnConcat, concat_bytes},
    compact::{compact_batch, compact_strings},
    driver::check_stopped,
    sort::{RowSorter, sort_bytes_per_row},
    spill::{SPILL_BYTES_MIN, SpillWriter},
};
use runs::{Runs, RunsStep};
use volley_error::{Error, Result};
use volley_memory::Reservation;
use volley_plan::SortKey;
use volley_types::Type;
use volley_vector::Batch;

/// Sorts all rows of its stream; rows with equal keys keep their order.
pub struct OrderBy {
    types: Vec<Type>,
    keys: Vec<SortKey>,
    batch_rows: usize,
    charge: BatchCharge,
    /// What concatenating and sorting the collected rows will take.
    ahead: Reservation,
    /// Of that, the concatenation.
    concat_bytes: usize,
    /// Rows collected and not written.
    rows: usize,
    runs: Runs,
    input_done: bool,
    phase: Phase,
}

enum Phase {
    Collect(Vec<Batch>),
    Concat(ColumnConcat),
    Sort {
        rows: Batch,
        sorter: RowSorter,
    },
    PutOut(Sorted),
    Write(Sorted, SpillWriter),
    /// Runs are merged and put out.
    Merge,
    Done,
}

/// Sorted rows; those before the position were put out or written.
struct Sorted {
    rows: Batch,
    sorter: RowSorter,
    position: usize,
}

impl OrderBy {
    /// Sorts rows of `types` by `keys`.
    pub fn new(types: Vec<Type>, keys: Vec<SortKey>, cx: &OperatorContext) -> OrderBy {
        OrderBy {
            runs: Runs::new(&types, &keys, cx),
            types,
            keys,
            batch_rows: cx.task.batch_rows,
            charge: BatchCharge::new(&cx.pool),
            ahead: cx.pool.promise(),
            concat_bytes: 0,
            rows: 0,
            input_done: false,
            phase: Phase::Collect(Vec::new()),
        }
    }

    /// What is to be held for the sort of the collected rows.
    fn bytes_ahead(&self) -> usize {
        let sort = sort_bytes_per_row(&self.types, &self.keys);
        self.rows.saturating_mul(sort).saturating_add(self.concat_bytes)
    }

    /// Joins the next column, or begins to sort.
    fn concat(&mut self, mut concat: ColumnConcat) -> Result<Phase> {
        self.concat_bytes = 0;
        self.ahead.resize(self.bytes_ahead())?;
        let Some(rows) = concat.step(&mut self.charge)? else { return Ok(Phase::Concat(concat)) };
        let keys = self.keys.iter().map(|it| rows.column(it.column).clone()).collect();
        let sorter = RowSorter::new(keys, self.rows, &self.keys, self.ahead.redeem())?;
        Ok(Phase::Sort { rows, sorter })
    }

    /// The next rows in order; `None` after the last, when their memory is given back.
    fn take(&mut self, sorted: &mut Sorted) -> Result<Option<Batch>> {
        let end = (sorted.position + self.batch_rows).min(self.rows);
        if sorted.position == end {
            sorted.rows = Batch::new(Vec::new(), 0);
            self.charge.clear();
            self.rows = 0;
            return Ok(None);
        }
        let batch = sorted.rows.gather(&sorted.sorter.rows(sorted.position, end))?;
        sorted.position = end;
        Ok(Some(batch))
    }

    fn sorted(&mut self, rows: Batch, sorter: RowSorter) -> Result<Phase> {
        let sorted = Sorted { rows, sorter, position: 0 };
        if self.input_done && self.runs.is_empty() {
            return Ok(Phase::PutOut(sorted));
        }
        Ok(Phase::Write(sorted, self.runs.writer()?))
    }

    /// What comes when a run is written.
    fn after_run(&mut self) -> Phase {
        if self.input_done { Phase::Merge } else { Phase::Collect(Vec::new()) }
    }

    fn advance(&mut self, phase: Phase) -> Result<(Phase, Step)> {
        Ok(match phase {
            Phase::Collect(batches) if self.input_done => {
                let is_over = self.rows == 0 && self.runs.is_empty();
                match (is_over, self.rows) {
                    (true, _) => (Phase::Done, Step::Finished),
                    (false, 0) => (Phase::Merge, Step::Yield),
                    (false, _) => {
                        (Phase::Concat(ColumnConcat::new(&self.types, batches)), Step::Yield)
                    }
                }
            }
            Phase::Collect(batches) => (Phase::Collect(batches), Step::NeedInput),
            Phase::Concat(concat) => (self.concat(concat)?, Step::Yield),
            Phase::Sort { rows, mut sorter } => match sorter.step()? {
                true => (self.sorted(rows, sorter)?, Step::Yield),
                false => (Phase::Sort { rows, sorter }, Step::Yield),
            },
            Phase::PutOut(mut sorted) => match self.take(&mut sorted)? {
                // Each batch has strings all over the columns.
                Some(batch) => (Phase::PutOut(sorted), Step::Output(compact_strings(batch)?)),
                None => (Phase::Done, Step::Finished),
            },
            Phase::Write(mut sorted, mut writer) => match self.take(&mut sorted)? {
                Some(batch) => {
                    writer.write(&batch)?;
                    (Phase::Write(sorted, writer), Step::Yield)
                }
                None => {
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
            Phase::Collect(_) => self.charge.bytes() + self.ahead.bytes(),
            Phase::PutOut(sorted) => self.charge.bytes() + sorted.sorter.bytes(),
            _ => 0,
        };
        if bytes < SPILL_BYTES_MIN { 0 } else { bytes }
    }

    fn spill(&mut self) -> Result<()> {
        let mut phase = match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Collect(batches) if self.rows > 0 => {
                Phase::Concat(ColumnConcat::new(&self.types, batches))
            }
            Phase::PutOut(sorted) => Phase::Write(sorted, self.runs.writer()?),
            other => {
                self.phase = other;
                return Ok(());
            }
        };
        // Nothing is put out before all input is there, or the run is written.
        let input_done = std::mem::replace(&mut self.input_done, false);
        while !matches!(phase, Phase::Collect(_)) {
            check_stopped()?;
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
        let Phase::Collect(batches) = &mut self.phase else {
            return Err(Error::internal("input after its end"));
        };
        let input = self.charge.keep(compact_batch(input.loaded()?)?)?;
        self.rows += input.rows();
        self.concat_bytes += concat_bytes(&input);
        batches.push(input);
        self.ahead.resize(self.bytes_ahead())
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
