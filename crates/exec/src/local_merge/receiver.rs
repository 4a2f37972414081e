//! The source of the pipeline after a merge.

use super::MergeQueue;
use crate::{BlockedOn, Operator, OperatorContext, Step, StepContext};
use std::{sync::Arc, task::Waker};
use volley_error::{Error, Result};
use volley_plan::SortKey;
use volley_state::sort::{MergeStep, RunMerge, RunStep, SortedRun};
use volley_types::Type;
use volley_vector::Batch;

/// Merges what senders sorted.
pub(crate) struct MergeReceiver {
    merge: RunMerge<Received>,
}

/// A queue's end; when it is dropped, its sender ends.
pub struct Received(Arc<MergeQueue>);

impl Received {
    /// The receiving end of a queue.
    pub fn new(queue: &Arc<MergeQueue>) -> Received {
        Received(Arc::clone(queue))
    }
}

impl MergeReceiver {
    /// Merges rows of `types` that are sorted by `keys` in each of `queues`.
    pub(crate) fn new(
        types: &[Type],
        keys: &[SortKey],
        queues: &[Arc<MergeQueue>],
        cx: &OperatorContext,
    ) -> MergeReceiver {
        let sources = queues.iter().map(Received::new).collect();
        MergeReceiver { merge: RunMerge::new(types, keys, sources, cx.task.batch_rows) }
    }
}

impl SortedRun for Received {
    fn next(&mut self, waker: &Waker) -> Result<RunStep> {
        Ok(self.0.receive(waker))
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Operator for MergeReceiver {
    fn name(&self) -> &'static str {
        "local merge receiver"
    }

    fn accept(&mut self, _input: Batch) -> Result<()> {
        Err(Error::internal("input of a source"))
    }

    fn finish_input(&mut self) -> Result<()> {
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        Ok(match self.merge.next(cx.waker)? {
            MergeStep::Batch(batch) => Step::Output(batch),
            MergeStep::Wait => Step::Blocked(BlockedOn::Exchange),
            MergeStep::End => Step::Finished,
        })
    }
}
