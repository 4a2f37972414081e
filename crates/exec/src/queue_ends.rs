//! The operators at the ends of a queue between two pipelines.

use crate::{
    BatchSink, BlockedOn, Operator, OperatorMetrics, SinkOperator, Spill, Step, StepContext,
};
use std::{
    sync::Arc,
    task::{Poll, Waker},
};
use volley_error::{Error, Result};
use volley_state::{
    partition::Partitioner,
    queue::{BatchQueue, QueueReader, Room},
};
use volley_vector::Batch;

/// The source of a pipeline that reads a lane of a queue, together with the other drivers that
/// share the reader.
pub struct QueueSource {
    name: &'static str,
    reader: Arc<QueueReader>,
    metrics: Arc<OperatorMetrics>,
}

impl QueueSource {
    /// Takes batches from `reader`; counts what it spills in `metrics`.
    pub fn new(
        name: &'static str,
        reader: &Arc<QueueReader>,
        metrics: &Arc<OperatorMetrics>,
    ) -> QueueSource {
        QueueSource { name, reader: Arc::clone(reader), metrics: Arc::clone(metrics) }
    }
}

impl Operator for QueueSource {
    fn name(&self) -> &'static str {
        self.name
    }

    fn accept(&mut self, _input: Batch) -> Result<()> {
        Err(Error::internal("input of a source"))
    }

    fn finish_input(&mut self) -> Result<()> {
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        Ok(match self.reader.poll_next(cx.waker) {
            Poll::Ready(next) => next?.map_or(Step::Finished, Step::Output),
            Poll::Pending => Step::Blocked(BlockedOn::Exchange),
        })
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        if self.reader.queue().spills() { Some(self) } else { None }
    }
}

impl Spill for QueueSource {
    fn reclaimable_bytes(&self) -> usize {
        self.reader.queue().reclaimable_bytes()
    }

    fn spill(&mut self) -> Result<()> {
        self.metrics.add_spilled(self.reader.queue().spill()?);
        Ok(())
    }
}

/// The sink of a pipeline whose rows go to the lanes of a bounded queue.
pub struct QueueSink {
    name: &'static str,
    queue: Arc<BatchQueue>,
    /// `None` for a queue of one lane.
    partitioner: Option<Partitioner>,
}

impl QueueSink {
    /// Pushes to the only lane of `queue`, as one of its producers.
    pub fn new(name: &'static str, queue: &Arc<BatchQueue>) -> SinkOperator<QueueSink> {
        SinkOperator::new(QueueSink { name, queue: Arc::clone(queue), partitioner: None })
    }

    /// Pushes the partitions of rows to the lanes of `queue`, as one of its producers.
    pub(crate) fn partitioned(
        name: &'static str,
        queue: &Arc<BatchQueue>,
        partitioner: Partitioner,
    ) -> SinkOperator<QueueSink> {
        let partitioner = Some(partitioner);
        SinkOperator::new(QueueSink { name, queue: Arc::clone(queue), partitioner })
    }
}

impl BatchSink for QueueSink {
    fn name(&self) -> &'static str {
        self.name
    }

    fn poll_room(&mut self, waker: &Waker) -> Room {
        self.queue.poll_ready(waker)
    }

    fn push(&mut self, batch: Batch) -> Result<Room> {
        match &mut self.partitioner {
            None => self.queue.push(0, batch),
            Some(partitioner) => self.queue.push_all(partitioner.split(&batch)?),
        }
    }

    fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(partitioner) = &mut self.partitioner {
            self.queue.push_all(partitioner.finish()?)?;
        }
        self.queue.producer_finished();
        Ok(())
    }
}
