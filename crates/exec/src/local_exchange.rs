//! Moves batches from the drivers of some pipelines to those of another one.
//!
//! ```text
//! sender ─┐                ┌─ lane ── receiver
//! sender ─┼── BatchQueue ──┤           Single, Any: one lane that all receivers take from
//! sender ─┘                └─ lane     Hash: one lane per receiver
//! ```
//!
//! Senders wait while the lanes together hold more than a bound; receivers wait while their lane is
//! empty and a sender is left. When all receivers of a lane are gone, rows sent there are dropped;
//! when all receivers are gone, senders finish.

#[cfg(test)]
mod tests;

use crate::{
    Operator, OperatorContext,
    queue_ends::{QueueSink, QueueSource},
};
use std::sync::Arc;
use volley_memory::Pool;
use volley_state::{
    partition::{HashSalt, Partitioner},
    queue::{BatchQueue, QueueBound, QueueConfig, QueueReader, WakeProducers},
};

/// Senders wait while all lanes of an exchange hold more bytes than this, or their share of the
/// memory limit.
const BYTES_MAX: usize = 32 << 20;

/// Senders wait while all lanes of an exchange hold more batches than this per receiver.
const BATCHES_MAX_PER_RECEIVER: usize = 64;

/// Where rows go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Partitioning {
    /// To the only receiver.
    Single,
    /// Batches to whichever receiver is free.
    Any,
    /// Rows with equal values in these columns to the same receiver.
    Hash(Vec<usize>),
}

/// What senders of an exchange share.
#[derive(Clone, Debug)]
pub(crate) struct ExchangeSenders {
    queue: Arc<BatchQueue>,
    partitioning: Partitioning,
}

/// What receivers of an exchange share. Lanes close when it and their receivers are dropped.
#[derive(Debug)]
pub(crate) struct ExchangeReceivers(Vec<Arc<QueueReader>>);

/// An exchange from `senders` to `receivers` drivers; queued batches are reserved in `pool`.
pub(crate) fn exchange(
    senders: usize,
    receivers: usize,
    partitioning: Partitioning,
    pool: &Pool,
) -> (ExchangeSenders, ExchangeReceivers) {
    let config = QueueConfig {
        lanes: if let Partitioning::Hash(_) = partitioning { receivers } else { 1 },
        producers: senders,
        bound: QueueBound::new(pool, BATCHES_MAX_PER_RECEIVER * receivers, BYTES_MAX),
        wake: WakeProducers::Few,
        spill: None,
    };
    let (queue, readers) = BatchQueue::with_readers(config, pool);
    if senders == 0 {
        queue.close(Ok(()));
    }
    let readers = readers.into_iter().map(Arc::new).collect();
    (ExchangeSenders { queue, partitioning }, ExchangeReceivers(readers))
}

impl ExchangeSenders {
    /// One driver's sender.
    pub(crate) fn sender(&self, cx: &OperatorContext) -> Box<dyn Operator> {
        let name = "local exchange sender";
        Box::new(match &self.partitioning {
            Partitioning::Single | Partitioning::Any => QueueSink::new(name, &self.queue),
            Partitioning::Hash(keys) => {
                let (keys, lanes, rows) = (keys.clone(), self.queue.lanes(), cx.task.batch_rows);
                let partitioner = Partitioner::new(keys, lanes, HashSalt::Exchange, rows, &cx.pool);
                QueueSink::partitioned(name, &self.queue, partitioner)
            }
        })
    }
}

impl ExchangeReceivers {
    /// The receiver of driver `cx.driver`.
    pub(crate) fn receiver(&self, cx: &OperatorContext) -> Box<dyn Operator> {
        let reader = &self.0[cx.driver % self.0.len()];
        Box::new(QueueSource::new("local exchange receiver", reader, &cx.metrics))
    }
}
