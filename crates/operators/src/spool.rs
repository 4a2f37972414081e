//! A subplan's result that several nodes read.
//!
//! Writers append to a queue; every reading node has a reader of it, which its drivers share, and
//! sees every batch once, while the subplan still runs or after. A batch is dropped when all
//! reading nodes have taken it. Writers never wait: a reader may only start when another one is
//! done (a build and a probe side of the same join), so that a bound would be a deadlock. The bytes
//! are reserved instead.
//!
//! When memory is short, batches that wait for slow readers are spilled, in runs that each reading
//! node reads by itself.

mod lower;
#[cfg(test)]
mod tests;

pub(crate) use lower::lower;

use std::sync::Arc;
use volley_error::Result;
use volley_exec::{BatchSink, OperatorMetrics, SinkOperator, Spill, TaskContext};
use volley_memory::Pool;
use volley_state::queue::{
    BatchQueue, QueueBound, QueueConfig, QueueSpill, ReaderMemory, Room, WakeProducers,
};
use volley_types::Type;
use volley_vector::Batch;

/// A queue of batches of `types` from any number of writers to any number of readers; reserves what
/// it holds in `pool`. Writers are announced with [`BatchQueue::add_producers`].
pub(crate) fn spool(types: Vec<Type>, pool: &Pool, task: &TaskContext) -> Arc<BatchQueue> {
    let spill = QueueSpill {
        space: task.spill.clone(),
        types,
        batch_rows: task.batch_rows,
        run_bytes: task.sizes.spool_run_bytes,
        runs_max: usize::MAX,
        reader_memory: ReaderMemory::WhenRead,
    };
    let config = QueueConfig {
        lanes: 1,
        producers: 0,
        bound: QueueBound::NONE,
        wake: WakeProducers::Few,
        spill: Some(spill),
    };
    Arc::new(BatchQueue::new(config, pool))
}

/// The sink of a driver of the subplan's pipeline.
pub(crate) struct SpoolSink {
    name: &'static str,
    rows: Arc<BatchQueue>,
    metrics: Arc<OperatorMetrics>,
}

impl SpoolSink {
    /// Appends to `rows`; counts what it spills in `metrics`.
    pub(crate) fn new(
        name: &'static str,
        rows: &Arc<BatchQueue>,
        metrics: &Arc<OperatorMetrics>,
    ) -> SpoolSink {
        SpoolSink { name, rows: Arc::clone(rows), metrics: Arc::clone(metrics) }
    }

    /// As [`SpoolSink::new`], as an operator.
    pub(crate) fn operator(
        name: &'static str,
        rows: &Arc<BatchQueue>,
        metrics: &Arc<OperatorMetrics>,
    ) -> SinkOperator<SpoolSink> {
        SinkOperator::new(SpoolSink::new(name, rows, metrics))
    }
}

impl BatchSink for SpoolSink {
    fn name(&self) -> &'static str {
        self.name
    }

    fn push(&mut self, batch: Batch) -> Result<Room> {
        self.rows.push(0, batch)
    }

    fn finish(&mut self) -> Result<()> {
        self.rows.producer_finished();
        Ok(())
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        if self.rows.spills() { Some(self) } else { None }
    }
}

impl Spill for SpoolSink {
    fn reclaimable_bytes(&self) -> usize {
        self.rows.reclaimable_bytes()
    }

    fn spill(&mut self) -> Result<()> {
        self.metrics.add_spilled(self.rows.spill()?);
        Ok(())
    }
}
