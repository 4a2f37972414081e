//! Rows of RETURNING: complete before the statement commits, shown after it has succeeded.
//!
//! ```text
//! drivers of the query ──> BatchQueue, without a bound ── commit ──> ResultStream
//!                            └── more than 32 MiB in memory: on disk
//! ```

use crate::{ResultStream, Session, planning::Planned, profiles::WatchedPlan};
use std::sync::{Arc, Mutex, PoisonError};
use volley_error::{Error, Result};
use volley_exec::{
    BatchSink, Operator, OperatorContext, OperatorMetrics, SinkOperator, Spill, TaskOutput,
    TaskPorts,
};
use volley_memory::{Pool, spill::SpillSpace};
use volley_state::queue::{
    BatchQueue, QueueBound, QueueConfig, QueueReader, QueueSpill, ReaderMemory, Room, WakeProducers,
};
use volley_types::{Schema, Type};
use volley_vector::Batch;

/// Rows are written to disk when they take more bytes than this, or their share of the memory
/// limit.
const BYTES_MAX: usize = 32 << 20;

/// Where the rows of a task are held.
pub(crate) struct HeldRows {
    space: SpillSpace,
    batch_rows: usize,
    opened: Mutex<Option<Opened>>,
}

/// The queue and its reader, which keeps what is pushed.
struct Opened {
    queue: Arc<BatchQueue>,
    reader: QueueReader,
}

impl HeldRows {
    /// Runs a plan to its end; returns its rows, which have these columns.
    ///
    /// # Errors
    ///
    /// What the plan fails with. Out of memory, if rows can be written nowhere.
    pub(crate) fn run(
        session: &Session,
        mut planned: Planned,
        schema: Schema,
    ) -> Result<ResultStream> {
        let schema = crate::session::shown(schema, &planned.constants.time_zone);
        let (space, batch_rows) = (session.spill.clone(), session.settings().batch_rows);
        let held = Arc::new(HeldRows { space, batch_rows, opened: Mutex::default() });
        let output: Arc<dyn TaskOutput> = Arc::clone(&held) as _;
        let ports = TaskPorts { output: Some(output), ..TaskPorts::default() };
        let (watched, settings) = (WatchedPlan::of(&mut planned), session.settings());
        let task = session.start_task(planned, ports)?;
        let mut source = session.watch(&task, watched, settings);
        let ran = task.wait();
        let shown = source.end(&task, ran.as_ref().err());
        ran.and(shown)?;
        let opened = held.opened.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Opened { queue: _, reader } = opened.ok_or_else(not_open)?;
        Ok(ResultStream::of_held(schema, reader))
    }

    fn queue(&self) -> Result<Arc<BatchQueue>> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.as_ref().map(|it| Arc::clone(&it.queue)).ok_or_else(not_open)
    }
}

#[cold]
fn not_open() -> Error {
    Error::internal("rows are held nowhere")
}

impl TaskOutput for HeldRows {
    fn name(&self) -> &'static str {
        "held rows"
    }

    fn open(&self, types: &[Type], _drivers: usize, pool: &Pool) -> Result<()> {
        let spill = QueueSpill {
            space: self.space.clone(),
            types: types.to_vec(),
            batch_rows: self.batch_rows,
            run_bytes: usize::MAX,
            runs_max: usize::MAX,
            reader_memory: ReaderMemory::WhenRead,
        };
        let config = QueueConfig {
            lanes: 1,
            producers: 1,
            // Nothing waits for room: a sink writes what is in memory when that is too much.
            bound: QueueBound::new(pool, usize::MAX, BYTES_MAX),
            wake: WakeProducers::Few,
            spill: Some(spill),
        };
        let queue = Arc::new(BatchQueue::new(config, pool));
        let reader = QueueReader::new(&queue, 0)?;
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        *opened = Some(Opened { queue, reader });
        Ok(())
    }

    fn sink(&self, cx: &OperatorContext) -> Result<Box<dyn Operator>> {
        let (queue, metrics) = (self.queue()?, Arc::clone(&cx.metrics));
        Ok(Box::new(SinkOperator::new(HeldSink { queue, metrics })))
    }

    fn close(&self, outcome: Result<()>) {
        if let Ok(queue) = self.queue() {
            queue.close(outcome);
        }
    }
}

/// One driver's end of the queue.
struct HeldSink {
    queue: Arc<BatchQueue>,
    metrics: Arc<OperatorMetrics>,
}

impl BatchSink for HeldSink {
    fn name(&self) -> &'static str {
        "held rows"
    }

    fn push(&mut self, batch: Batch) -> Result<Room> {
        if self.queue.push(0, batch)? == Room::Full {
            self.spill()?;
        }
        Ok(Room::Free)
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        Some(self)
    }
}

impl Spill for HeldSink {
    fn reclaimable_bytes(&self) -> usize {
        self.queue.reclaimable_bytes()
    }

    /// Where batches cannot be written, they stay in memory.
    fn spill(&mut self) -> Result<()> {
        if let Ok(spilled) = self.queue.spill() {
            self.metrics.add_spilled(spilled);
        }
        Ok(())
    }
}
