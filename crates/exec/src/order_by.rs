//! Sorts all rows.
//!
//! ```text
//! collect   input batches, charged
//! concat    one flat vector per column, column by column
//! sort      row numbers, in steps
//! put out   rows gathered in that order, batch by batch
//! ```

#[cfg(test)]
mod tests;

use crate::{
    BatchCharge, Operator, OperatorContext, Step, StepContext,
    column_concat::ColumnConcat,
    sort::{RowSorter, compact_batch},
};
use volley_error::{Error, Result};
use volley_memory::Pool;
use volley_plan::SortKey;
use volley_types::Type;
use volley_vector::Batch;

/// Sorts all rows of its stream; rows with equal keys keep their order.
pub struct OrderBy {
    types: Vec<Type>,
    keys: Vec<SortKey>,
    batch_rows: usize,
    pool: Pool,
    charge: BatchCharge,
    rows: usize,
    phase: Phase,
}

enum Phase {
    Collect(Vec<Batch>),
    Concat(ColumnConcat),
    Sort { rows: Batch, sorter: RowSorter },
    PutOut { rows: Batch, sorter: RowSorter, position: usize },
    Done,
}

impl OrderBy {
    /// Sorts rows of `types` by `keys`.
    pub fn new(types: Vec<Type>, keys: Vec<SortKey>, cx: &OperatorContext) -> OrderBy {
        OrderBy {
            types,
            keys,
            batch_rows: cx.task.batch_rows,
            pool: cx.pool.clone(),
            charge: BatchCharge::new(&cx.pool),
            rows: 0,
            phase: Phase::Collect(Vec::new()),
        }
    }

    /// Joins the next column, or begins to sort.
    fn concat(&mut self, mut concat: ColumnConcat) -> Result<Phase> {
        let Some(rows) = concat.step(&mut self.charge)? else { return Ok(Phase::Concat(concat)) };
        let keys = self.keys.iter().map(|it| rows.column(it.column).clone()).collect();
        let sorter = RowSorter::new(keys, self.rows, &self.keys, &self.pool)?;
        Ok(Phase::Sort { rows, sorter })
    }

    fn advance(&mut self, phase: Phase) -> Result<(Phase, Step)> {
        Ok(match phase {
            Phase::Collect(batches) => (Phase::Collect(batches), Step::NeedInput),
            Phase::Concat(concat) => (self.concat(concat)?, Step::Yield),
            Phase::Sort { rows, mut sorter } => match sorter.step() {
                true => (Phase::PutOut { rows, sorter, position: 0 }, Step::Yield),
                false => (Phase::Sort { rows, sorter }, Step::Yield),
            },
            Phase::PutOut { rows, sorter, position } => {
                let end = (position + self.batch_rows).min(self.rows);
                if position == end {
                    self.charge.clear();
                    return Ok((Phase::Done, Step::Finished));
                }
                let batch = rows.gather(&sorter.rows(position, end))?;
                (Phase::PutOut { rows, sorter, position: end }, Step::Output(batch))
            }
            Phase::Done => (Phase::Done, Step::Finished),
        })
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
        let input = compact_batch(input.loaded()?)?;
        self.charge.add(&input)?;
        self.rows += input.rows();
        batches.push(input);
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        let Phase::Collect(batches) = std::mem::replace(&mut self.phase, Phase::Done) else {
            return Err(Error::internal("input ended twice"));
        };
        if self.rows == 0 {
            return Ok(());
        }
        self.phase = Phase::Concat(ColumnConcat::new(&self.types, batches));
        Ok(())
    }

    fn step(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        let phase = std::mem::replace(&mut self.phase, Phase::Done);
        let (phase, step) = self.advance(phase)?;
        self.phase = phase;
        Ok(step)
    }
}
