//! Where the last pipeline leaves its batches for the task's owner.

use crate::{
    BatchCharge, BlockedOn, Operator, OperatorContext, Step, StepContext, barrier::Waiters,
    charge::queue_bytes,
};
use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
    time::{Duration, Instant},
};
use volley_error::{Error, Result};
use volley_memory::Pool;
use volley_vector::Batch;

/// Producers wait while more bytes than this are queued, or their share of the memory limit.
const BYTES_MAX: usize = 32 << 20;

/// Producers wait while more batches than this are queued.
const BATCHES_MAX: usize = 64;

/// A bounded queue from drivers to the owner of the task.
#[derive(Debug)]
pub(crate) struct ResultQueue {
    state: Mutex<State>,
    bytes_max: usize,
    /// Signalled when a batch or the end arrives.
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    batches: VecDeque<Batch>,
    charge: BatchCharge,
    producers: Waiters,
    consumers: Waiters,
    /// How the task ended.
    outcome: Option<Result<()>>,
}

impl State {
    fn forget(&mut self) {
        self.batches.clear();
        self.charge.clear();
    }
}

impl ResultQueue {
    pub(crate) fn new(pool: &Pool) -> ResultQueue {
        let state = State {
            batches: VecDeque::new(),
            charge: BatchCharge::new(pool),
            producers: Waiters::default(),
            consumers: Waiters::default(),
            outcome: None,
        };
        let bytes_max = queue_bytes(pool, BYTES_MAX);
        ResultQueue { state: Mutex::new(state), bytes_max, changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a producer may push; when not, `waker` is woken once it may.
    fn has_room(&self, waker: &Waker) -> bool {
        let mut state = self.lock();
        let full = state.batches.len() >= BATCHES_MAX || state.charge.bytes() >= self.bytes_max;
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
        let batch = state.charge.keep(batch)?;
        state.batches.push_back(batch);
        self.notify(state);
        Ok(())
    }

    /// Ends the queue; only the first call counts. An error hides batches that nobody took yet.
    pub(crate) fn close(&self, outcome: Result<()>) {
        let mut state = self.lock();
        if state.outcome.is_some() {
            return;
        }
        if outcome.is_err() {
            state.forget();
        }
        state.outcome = Some(outcome);
        self.notify(state);
    }

    /// Drops the batches that nobody took: nobody will.
    pub(crate) fn forget(&self) {
        self.lock().forget();
    }

    fn notify(&self, mut state: MutexGuard<'_, State>) {
        let consumers = state.consumers.take();
        drop(state);
        self.changed.notify_all();
        consumers.wake();
    }

    /// The next batch, `None` at the end; pending when `waker` will be woken.
    pub(crate) fn poll_next(&self, waker: &Waker) -> Poll<Result<Option<Batch>>> {
        let mut state = self.lock();
        match take(&mut state) {
            Some(result) => {
                let producers = state.producers.take();
                drop(state);
                producers.wake();
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
                let producers = state.producers.take();
                drop(state);
                producers.wake();
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
    if let Some(batch) = state.batches.pop_front() {
        state.charge.remove(&batch);
        return Some(Ok(Some(batch)));
    }
    match &state.outcome {
        Some(Ok(())) => Some(Ok(None)),
        Some(Err(error)) => Some(Err(Error::clone(error))),
        None => None,
    }
}

/// The sink of the last pipeline.
pub(crate) struct ResultSink {
    queue: Arc<ResultQueue>,
    pending: Option<Batch>,
    input_done: bool,
}

impl ResultSink {
    pub(crate) fn new(queue: &Arc<ResultQueue>, _cx: &OperatorContext) -> ResultSink {
        ResultSink { queue: Arc::clone(queue), pending: None, input_done: false }
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
        Ok(if self.input_done { Step::Finished } else { Step::NeedInput })
    }
}
