//! The build side's sink.

use super::Shared;
use crate::{Operator, Step, StepContext, Ticket};
use std::sync::{Arc, PoisonError};
use volley_error::Result;
use volley_types::Type;
use volley_vector::{Batch, Vector};

/// Collects the build side; the driver that ends last joins everything to one batch.
pub(super) struct NestedLoopBuild {
    shared: Arc<Shared>,
    types: Vec<Type>,
    ticket: Option<Ticket>,
    input_done: bool,
}

impl NestedLoopBuild {
    pub(super) fn new(
        shared: &Arc<Shared>,
        types: Vec<Type>,
        ticket: Option<Ticket>,
    ) -> NestedLoopBuild {
        NestedLoopBuild { shared: Arc::clone(shared), types, ticket, input_done: false }
    }

    /// Joins all batches, column by column, and shows the result to the probes.
    fn complete(&self) -> Result<()> {
        let mut collected = self.shared.collected.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = std::mem::take(&mut collected.batches);
        let rows = parts.iter().map(Batch::rows).sum();
        let mut columns = Vec::with_capacity(self.types.len());
        for (index, data_type) in self.types.iter().enumerate() {
            let column: Vec<Vector> = parts.iter().map(|it| it.column(index).clone()).collect();
            let joined = Vector::concat(data_type, &column)?;
            collected.charge.add(&Batch::new(vec![joined.clone()], rows))?;
            columns.push(joined);
        }
        parts.iter().for_each(|it| collected.charge.remove(it));
        drop(collected);
        // There is one last driver, so the value cannot be there already.
        let _ = self.shared.build.set(Arc::new(Batch::new(columns, rows)));
        Ok(())
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
        if self.ticket.as_mut().is_some_and(Ticket::arrive) { self.complete() } else { Ok(()) }
    }

    fn step(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        Ok(if self.input_done { Step::Finished } else { Step::NeedInput })
    }
}
