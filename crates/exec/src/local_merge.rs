//! Merges the sorted rows of several drivers.
//!
//! ```text
//! sender (sorted) ── queue ─┐
//! sender (sorted) ── queue ─┼── receiver: the row that comes first of all queues, again and again
//! sender (sorted) ── queue ─┘
//! ```
//!
//! So each driver sorts what it gets, and one merges. Each queue has a bound of its own: the
//! receiver may wait for one sender while all others have filled theirs. Rows with equal keys come
//! in the order of their senders.

#[cfg(test)]
mod tests;

use crate::{BlockedOn, Operator, OperatorContext, Step, StepContext};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_memory::Pool;
use volley_state::{
    charge::queue_bytes,
    queue::{BatchQueue, QueueBound, QueueConfig, QueueReader, WakeProducers},
    sort::{MergeStep, RunMerge},
};
use volley_types::{SortKey, Type};
use volley_vector::Batch;

/// A sender waits while its queue holds this number of batches.
const BATCHES_MAX: usize = 8;

/// A sender waits while its queue holds this number of bytes, or its share of the memory limit.
const BYTES_MAX: usize = 2 << 20;

/// Queues of `senders`, and their reading ends; what they hold is reserved in `pool`.
pub fn merge_queues(senders: usize, pool: &Pool) -> (Vec<Arc<BatchQueue>>, Vec<QueueReader>) {
    let bytes = (queue_bytes(pool, BYTES_MAX * senders) / senders.max(1)).max(1);
    let config = || QueueConfig {
        lanes: 1,
        producers: 1,
        bound: QueueBound { batches: BATCHES_MAX, bytes },
        wake: WakeProducers::Few,
        spill: None,
    };
    let queues = (0..senders).map(|_| BatchQueue::with_readers(config(), pool));
    let (queues, readers): (Vec<_>, Vec<_>) = queues.unzip();
    (queues, readers.into_iter().flatten().collect())
}

/// The source of the pipeline after a merge.
pub(crate) struct MergeReceiver {
    merge: RunMerge<QueueReader>,
}

impl MergeReceiver {
    /// Merges rows of `types` that each of `readers` gets sorted by `keys`.
    pub(crate) fn new(
        types: &[Type],
        keys: &[SortKey],
        readers: Vec<QueueReader>,
        cx: &OperatorContext,
    ) -> MergeReceiver {
        MergeReceiver { merge: RunMerge::new(types, keys, readers, cx.task.batch_rows) }
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
