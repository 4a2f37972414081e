//! The queue of result batches between the last pipeline and the task's owner.
//!
//! The queue is bounded. When memory is short, batches that the owner has not read are spilled, so
//! that producers go on and other operators of the query free their memory as soon as they have
//! finished. A driver stays until little is left to spill, since the arbiter can only ask drivers.

#[cfg(test)]
mod tests;

use crate::{
    BatchSink, BlockedOn, Operator, OperatorContext, OperatorMetrics, SinkOperator, Spill,
    TaskContext,
};
use std::{
    sync::Arc,
    task::{Poll, Waker},
    time::{Duration, Instant},
};
use volley_error::Result;
use volley_memory::Pool;
use volley_state::queue::{
    BatchQueue, QueueBound, QueueConfig, QueueReader, QueueSpill, ReaderMemory, Room, WakeProducers,
};
use volley_types::Type;
use volley_vector::Batch;

/// It is full with more bytes than this in memory, or their share of the memory limit,
const BYTES_MAX: usize = 32 << 20;

/// with more batches than this in memory,
const BATCHES_MAX: usize = 64;

/// or with more runs than this: on disk may be about as much as the memory limit.
const RUNS_MAX: usize = 16;

/// A bounded queue from drivers to the owner of the task. The task ends it.
#[derive(Debug)]
pub(crate) struct ResultQueue {
    queue: Arc<BatchQueue>,
    reader: QueueReader,
}

impl ResultQueue {
    /// Of batches of `types`; reserves what it holds in `pool`.
    ///
    /// # Errors
    ///
    /// None: the queue is new.
    pub(crate) fn new(types: Vec<Type>, pool: &Pool, task: &TaskContext) -> Result<ResultQueue> {
        let spill = QueueSpill {
            space: task.spill.clone(),
            types,
            batch_rows: task.batch_rows,
            // All that it holds.
            run_bytes: usize::MAX,
            runs_max: RUNS_MAX,
            reader_memory: ReaderMemory::Ahead,
        };
        let config = QueueConfig {
            lanes: 1,
            producers: 1,
            bound: QueueBound::new(pool, BATCHES_MAX, BYTES_MAX),
            wake: WakeProducers::Few,
            spill: Some(spill),
        };
        let queue = Arc::new(BatchQueue::new(config, pool));
        let reader = QueueReader::new(&queue, 0)?;
        Ok(ResultQueue { queue, reader })
    }

    /// The sink of one driver of the last pipeline.
    pub(crate) fn sink(queue: &Arc<BatchQueue>, cx: &OperatorContext) -> Box<dyn Operator> {
        let (queue, metrics) = (Arc::clone(queue), Arc::clone(&cx.metrics));
        Box::new(SinkOperator::new(ResultSink { queue, metrics }))
    }

    /// What sinks push to.
    pub(crate) fn queue(&self) -> &Arc<BatchQueue> {
        &self.queue
    }

    /// As [`BatchQueue::close`].
    pub(crate) fn close(&self, outcome: Result<()>) {
        self.queue.close(outcome);
    }

    /// Drops the unread batches and the wakers of producers that wait: they hold drivers, which
    /// hold this queue.
    pub(crate) fn forget(&self) {
        self.queue.forget();
    }

    /// The next batch, `None` at the end; pending when `waker` will be woken.
    pub(crate) fn poll_next(&self, waker: &Waker) -> Poll<Result<Option<Batch>>> {
        self.reader.poll_next(waker)
    }

    /// Waits for the next batch; `None` when the time is over.
    pub(crate) fn next(&self, timeout: Option<Duration>) -> Option<Result<Option<Batch>>> {
        self.reader.wait_next(timeout.map(|it| Instant::now() + it))
    }
}

/// One driver's end of the queue.
struct ResultSink {
    queue: Arc<BatchQueue>,
    metrics: Arc<OperatorMetrics>,
}

impl BatchSink for ResultSink {
    fn name(&self) -> &'static str {
        "result"
    }

    fn waits_for(&self) -> BlockedOn {
        BlockedOn::Reader
    }

    fn poll_room(&mut self, waker: &Waker) -> Room {
        self.queue.poll_ready(waker)
    }

    fn push(&mut self, batch: Batch) -> Result<Room> {
        self.queue.push(0, batch)
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    /// The operators before this one are gone: the driver stays for the arbiter alone.
    fn poll_done(&mut self, waker: &Waker) -> bool {
        !self.queue.poll_reclaimable(waker)
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        Some(self)
    }
}

impl Spill for ResultSink {
    fn reclaimable_bytes(&self) -> usize {
        self.queue.reclaimable_bytes()
    }

    /// Where batches cannot be written, they stay, and producers wait for the owner to take them.
    fn spill(&mut self) -> Result<()> {
        if let Ok(spilled) = self.queue.spill() {
            self.metrics.add_spilled(spilled);
        }
        Ok(())
    }
}
