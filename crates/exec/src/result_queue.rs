//! The queue of result batches between the last pipeline and the task's owner.
//!
//! The queue is bounded. When memory is short, batches that the owner has not read are spilled, so
//! that producers go on and other operators of the query free their memory as soon as they have
//! finished. A driver stays until little is left to spill, since the arbiter can only ask drivers.

mod backlog;
#[cfg(test)]
mod tests;

use crate::{
    BlockedOn, Operator, OperatorContext, OperatorMetrics, Spill, Step, StepContext, TaskContext,
};
use backlog::{Backlog, First};
use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Poll, Waker},
    time::{Duration, Instant},
};
use volley_error::{Error, Result};
use volley_memory::{Pool, spill::SpillSpace};
use volley_state::{
    barrier::Waiters,
    spill::{SPILLED_BYTES, SPILLED_ROWS, SPILLED_RUNS, SpillRun, SpillWriter},
};
use volley_types::Type;
use volley_vector::Batch;
use volley_wire::Encoder;

/// A bounded queue from drivers to the owner of the task.
#[derive(Debug)]
pub(crate) struct ResultQueue {
    types: Vec<Type>,
    space: SpillSpace,
    state: Mutex<State>,
    /// The bytes that spilling would free.
    reclaimable_bytes: AtomicUsize,
    /// Signalled when a batch or the end arrives.
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    backlog: Backlog,
    producers: Waiters,
    consumers: Waiters,
    /// How the task ended.
    outcome: Option<Result<()>>,
}

impl ResultQueue {
    /// Of batches of `types`; charges to `pool`.
    pub(crate) fn new(types: Vec<Type>, pool: &Pool, task: &TaskContext) -> ResultQueue {
        let state = State {
            backlog: Backlog::new(Encoder::new(&types).is_ok(), pool, task),
            producers: Waiters::default(),
            consumers: Waiters::default(),
            outcome: None,
        };
        ResultQueue {
            types,
            space: task.spill.clone(),
            state: Mutex::new(state),
            reclaimable_bytes: AtomicUsize::new(0),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a producer may push; when not, `waker` is woken once it may.
    fn has_room(&self, waker: &Waker) -> bool {
        let mut state = self.lock();
        let full = state.backlog.is_full();
        if full {
            state.producers.add(waker);
        }
        !full
    }

    fn push(&self, batch: Batch) -> Result<()> {
        let mut state = self.lock();
        if state.outcome.is_some() {
            return Ok(());
        }
        state.backlog.push(batch)?;
        self.notify(state);
        Ok(())
    }

    /// The bytes that [`ResultQueue::spill`] would free.
    fn reclaimable_bytes(&self) -> usize {
        self.reclaimable_bytes.load(Ordering::Relaxed)
    }

    /// Whether batches may have to be written, for which the arbiter asks drivers; if so, `waker`
    /// is woken once that has changed.
    fn needs_driver(&self, waker: &Waker) -> bool {
        let mut state = self.lock();
        let needs = self.reclaimable_bytes() > 0;
        if needs {
            state.producers.add(waker);
        }
        needs
    }

    /// Writes the batches in memory to disk, unless another driver does. Where that is not possible
    /// they stay, and producers wait for the owner to take them.
    fn spill(&self, metrics: &OperatorMetrics) -> Result<()> {
        let mut state = self.lock();
        let batches = state.backlog.begin_writing();
        if batches.is_empty() {
            return Ok(());
        }
        let pool = state.backlog.pool().clone();
        drop(state);
        let run = self.write(&batches, &pool);
        let mut state = self.lock();
        if matches!(state.outcome, Some(Err(_))) {
            return Ok(());
        }
        let written = match run {
            Ok(run) => {
                metrics.add(SPILLED_RUNS, 1);
                metrics.add(SPILLED_ROWS, run.rows() as u64);
                metrics.add(SPILLED_BYTES, run.bytes());
                state.backlog.written(&batches, run)
            }
            Err(_) => {
                state.backlog.not_written(batches);
                Ok(())
            }
        };
        let producers = state.producers.take();
        self.notify(state);
        producers.wake();
        written
    }

    fn write(&self, batches: &[Batch], pool: &Pool) -> Result<SpillRun> {
        let mut writer = SpillWriter::new(&self.space, &self.types, pool)?;
        batches.iter().try_for_each(|it| writer.write(it))?;
        writer.finish()
    }

    /// Ends the queue; only the first call counts. An error hides unread batches.
    pub(crate) fn close(&self, outcome: Result<()>) {
        let mut state = self.lock();
        if state.outcome.is_some() {
            return;
        }
        if outcome.is_err() {
            state.backlog.clear();
        }
        state.outcome = Some(outcome);
        self.notify(state);
    }

    /// Drops the unread batches and the wakers of producers that wait: they hold drivers, which
    /// hold this queue.
    pub(crate) fn forget(&self) {
        let mut state = self.lock();
        state.backlog.clear();
        let wakers = (state.producers.take(), state.consumers.take());
        drop(state);
        drop(wakers);
    }

    fn notify(&self, mut state: MutexGuard<'_, State>) {
        self.note_bytes(&state);
        let consumers = state.consumers.take();
        drop(state);
        self.changed.notify_all();
        consumers.wake();
    }

    /// Lets producers look whether there is room.
    fn taken(&self, mut state: MutexGuard<'_, State>) {
        self.note_bytes(&state);
        let producers = state.producers.take();
        drop(state);
        producers.wake();
    }

    fn note_bytes(&self, state: &State) {
        self.reclaimable_bytes.store(state.backlog.reclaimable_bytes(), Ordering::Relaxed);
    }

    /// The next batch, `None` at the end; pending when `waker` will be woken.
    pub(crate) fn poll_next(&self, waker: &Waker) -> Poll<Result<Option<Batch>>> {
        let mut state = self.lock();
        match take(&mut state) {
            Some(result) => {
                self.taken(state);
                Poll::Ready(result)
            }
            None => {
                state.consumers.add(waker);
                Poll::Pending
            }
        }
    }

    /// Waits for the next batch; `None` when the time is over.
    pub(crate) fn next(&self, timeout: Option<Duration>) -> Option<Result<Option<Batch>>> {
        let deadline = timeout.map(|it| Instant::now() + it);
        let mut state = self.lock();
        loop {
            if let Some(result) = take(&mut state) {
                self.taken(state);
                return Some(result);
            }
            state = match deadline {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let rest = deadline.checked_duration_since(Instant::now())?;
                    let result = self.changed.wait_timeout(state, rest);
                    result.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

/// What the consumer gets now; `None` when it has to wait.
fn take(state: &mut State) -> Option<Result<Option<Batch>>> {
    if let Some(Err(error)) = &state.outcome {
        return Some(Err(Error::clone(error)));
    }
    match state.backlog.pop() {
        Ok(First::Batch(batch)) => Some(Ok(Some(batch))),
        Ok(First::Later) => None,
        Ok(First::Empty) => matches!(state.outcome, Some(Ok(()))).then_some(Ok(None)),
        Err(error) => {
            state.backlog.clear();
            state.outcome = Some(Err(error.clone()));
            Some(Err(error))
        }
    }
}

/// The sink of the last pipeline.
pub(crate) struct ResultSink {
    queue: Arc<ResultQueue>,
    metrics: Arc<OperatorMetrics>,
    pending: Option<Batch>,
    input_done: bool,
}

impl ResultSink {
    pub(crate) fn new(queue: &Arc<ResultQueue>, cx: &OperatorContext) -> ResultSink {
        let metrics = Arc::clone(&cx.metrics);
        ResultSink { queue: Arc::clone(queue), metrics, pending: None, input_done: false }
    }
}

impl Operator for ResultSink {
    fn name(&self) -> &'static str {
        "result"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.pending = Some(input.loaded()?);
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        self.input_done = true;
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        if self.pending.is_some() && !self.queue.has_room(cx.waker) {
            return Ok(Step::Blocked(BlockedOn::Reader));
        }
        if let Some(batch) = self.pending.take() {
            self.queue.push(batch)?;
        }
        if !self.input_done {
            return Ok(Step::NeedInput);
        }
        // The operators before this one are gone.
        let stays = self.queue.needs_driver(cx.waker);
        Ok(if stays { Step::Blocked(BlockedOn::Reader) } else { Step::Finished })
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        Some(self)
    }
}

impl Spill for ResultSink {
    fn reclaimable_bytes(&self) -> usize {
        self.queue.reclaimable_bytes()
    }

    fn spill(&mut self) -> Result<()> {
        self.queue.spill(&self.metrics)
    }
}
