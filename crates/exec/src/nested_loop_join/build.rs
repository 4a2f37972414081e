//! The build side's sink.

use super::Shared;
use crate::{Operator, Step, StepContext, Ticket, column_concat::ColumnConcat};
use std::sync::{Arc, PoisonError};
use volley_error::Result;
use volley_types::Type;
use volley_vector::Batch;

/// Collects the build side; the driver that ends last joins everything to one batch.
pub(super) struct NestedLoopBuild {
    shared: Arc<Shared>,
    types: Vec<Type>,
    ticket: Option<Ticket>,
    /// In the driver that ends last.
    concat: Option<ColumnConcat>,
    input_done: bool,
}

impl NestedLoopBuild {
    pub(super) fn new(
        shared: &Arc<Shared>,
        types: Vec<Type>,
        ticket: Option<Ticket>,
    ) -> NestedLoopBuild {
        NestedLoopBuild {
            shared: Arc::clone(shared),
            types,
            ticket,
            concat: None,
            input_done: false,
        }
    }

    /// Joins the next column of all batches; shows the result to the probes when there is none.
    fn advance(&self, mut concat: ColumnConcat) -> Result<Option<ColumnConcat>> {
        let mut collected = self.shared.collected.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(rows) = concat.step(&mut collected.charge)? else { return Ok(Some(concat)) };
        // There is one last driver, so the value cannot be there already.
        let _ = self.shared.build.set(Arc::new(rows));
        Ok(None)
    }
}

impl Operator for NestedLoopBuild {
    fn name(&self) -> &'static str {
        "nested loop join build"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        let input = input.loaded()?;
        let mut collected = self.shared.collected.lock().unwrap_or_else(PoisonError::into_inner);
        collected.charge.add(&input)?;
        collected.batches.push(input);
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        self.input_done = true;
        if self.ticket.as_mut().is_some_and(Ticket::arrive) {
            let mut collected =
                self.shared.collected.lock().unwrap_or_else(PoisonError::into_inner);
            let batches = std::mem::take(&mut collected.batches);
            self.concat = Some(ColumnConcat::new(&self.types, batches));
        }
        Ok(())
    }

    fn step(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        if let Some(concat) = self.concat.take() {
            self.concat = self.advance(concat)?;
            return Ok(Step::Yield);
        }
        Ok(if self.input_done { Step::Finished } else { Step::NeedInput })
    }
}
