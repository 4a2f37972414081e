//! TaskInput: batches that come from outside of the task.
//!
//! The owner pushes, drivers take; the queue is bounded in bytes and holds at least one batch. Once
//! no driver reads any more, because the task ended or needs no more rows, pushed batches are
//! dropped.

#[cfg(test)]
mod tests;

use crate::{BlockedOn, Operator, OperatorContext, Step, StepContext};
use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};
use volley_error::{Error, Result};
use volley_memory::Pool;
use volley_state::{
    barrier::Waiters,
    charge::{BatchCharge, queue_bytes},
};
use volley_types::Type;
use volley_vector::Batch;

/// The most bytes that wait in the queue, but for the last batch.
const QUEUE_BYTES_MAX: usize = 32 << 20;

/// The writing end of a [`volley_plan::TaskInputNode`]: rows for a running task. Clones are the
/// same end.
///
/// Rows are pushed when [`TaskInput::poll_ready`] says so. The input stays open until
/// [`TaskInput::finish`] or [`TaskInput::fail`].
#[derive(Clone)]
pub struct TaskInput(Arc<InputQueue>);

/// Whether a task takes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputState {
    /// There is room for a batch.
    Ready,
    /// No driver will read any more: there is no use in pushing.
    Closed,
}

/// Batches on their way into a task.
pub(crate) struct InputQueue {
    types: Vec<Type>,
    bytes_max: usize,
    state: Mutex<State>,
}

struct State {
    batches: VecDeque<Batch>,
    /// Rows of the first batch that drivers have taken; the charge is for whole batches.
    taken_rows: usize,
    charge: BatchCharge,
    /// How the rows ended.
    end: Option<Result<()>>,
    /// Drivers that have not ended; `None` before the task starts.
    readers: Option<usize>,
    waiting_readers: Waiters,
    waiting_writers: Waiters,
}

impl TaskInput {
    pub(crate) fn new(queue: Arc<InputQueue>) -> TaskInput {
        TaskInput(queue)
    }

    /// Whether a batch can be pushed. When it is pending, `waker` is woken once that has changed.
    pub fn poll_ready(&self, waker: &Waker) -> Poll<InputState> {
        let mut state = self.0.lock();
        if state.is_closed() {
            return Poll::Ready(InputState::Closed);
        }
        if state.is_full(self.0.bytes_max) {
            state.waiting_writers.add(waker);
            return Poll::Pending;
        }
        Poll::Ready(InputState::Ready)
    }

    /// Gives rows to the task. They are taken whether or not there is room, so that a batch of any
    /// size can pass; an empty batch, and one for a closed input, is dropped.
    ///
    /// # Errors
    ///
    /// Out of memory, and then the batch is not taken. Invalid query: columns of other types than
    /// the node's, rows after the end. What loading a lazy column fails with.
    pub fn push(&self, batch: Batch) -> Result<()> {
        let types = batch.columns().iter().map(|it| it.data_type());
        if !types.eq(&self.0.types) {
            return Err(Error::invalid_query("rows of other types than those of the task input"));
        }
        let batch = batch.loaded()?;
        let mut state = self.0.lock();
        if state.is_closed() || batch.rows() == 0 {
            return Ok(());
        }
        if state.end.is_some() {
            return Err(Error::invalid_query("rows for a task input after its end"));
        }
        let batch = state.charge.keep(batch)?;
        state.batches.push_back(batch);
        let readers = state.waiting_readers.take();
        drop(state);
        readers.wake();
        Ok(())
    }

    /// Tells that no more rows will come.
    pub fn finish(&self) {
        self.0.end(Ok(()));
    }

    /// Tells that no more rows will come because of an error, which the task then fails with.
    pub fn fail(&self, error: Error) {
        self.0.end(Err(error));
    }
}

impl fmt::Debug for TaskInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaskInput")
    }
}

impl InputQueue {
    /// Of batches with columns of `types`, charged to `pool`.
    pub(crate) fn new(types: Vec<Type>, pool: &Pool) -> InputQueue {
        let state = State {
            batches: VecDeque::new(),
            taken_rows: 0,
            charge: BatchCharge::new(pool),
            end: None,
            readers: None,
            waiting_readers: Waiters::default(),
            waiting_writers: Waiters::default(),
        };
        let bytes_max = queue_bytes(pool, QUEUE_BYTES_MAX);
        InputQueue { types, bytes_max, state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Only the first end counts.
    fn end(&self, end: Result<()>) {
        let mut state = self.lock();
        if state.end.is_none() {
            if end.is_err() {
                state.clear();
            }
            state.end = Some(end);
        }
        let readers = state.waiting_readers.take();
        drop(state);
        readers.wake();
    }

    /// The next rows, at most `rows_max`; `None` at the end.
    fn next(&self, rows_max: usize, waker: &Waker) -> Poll<Result<Option<Batch>>> {
        let mut state = self.lock();
        let Some(first) = state.batches.front() else {
            return match &state.end {
                Some(end) => Poll::Ready(end.clone().map(|()| None)),
                None => {
                    state.waiting_readers.add(waker);
                    Poll::Pending
                }
            };
        };
        let (start, of) = (state.taken_rows, first.rows());
        let rows = rows_max.min(of.saturating_sub(start));
        let batch = if rows == of { first.clone() } else { first.slice(start, rows) };
        state.taken_rows += rows;
        if state.taken_rows >= of {
            state.taken_rows = 0;
            if let Some(whole) = state.batches.pop_front() {
                state.charge.remove(&whole);
            }
        }
        let writers = match state.is_full(self.bytes_max) {
            true => Waiters::default(),
            false => state.waiting_writers.take(),
        };
        drop(state);
        writers.wake();
        Poll::Ready(Ok(Some(batch)))
    }

    /// Counts a driver's reader.
    fn open(&self) {
        *self.lock().readers.get_or_insert(0) += 1;
    }

    /// Counts a driver's reader that is gone.
    fn close(&self) {
        let mut state = self.lock();
        state.readers = state.readers.map(|it| it.saturating_sub(1));
        if !state.is_closed() {
            return;
        }
        state.clear();
        let (readers, writers) = (state.waiting_readers.take(), state.waiting_writers.take());
        drop(state);
        // Readers are gone: their wakers hold drivers.
        drop(readers);
        writers.wake();
    }
}

impl State {
    fn is_closed(&self) -> bool {
        self.readers == Some(0)
    }

    fn is_full(&self, bytes_max: usize) -> bool {
        !self.batches.is_empty() && self.charge.bytes() >= bytes_max
    }

    fn clear(&mut self) {
        self.batches.clear();
        self.taken_rows = 0;
        self.charge.clear();
    }
}

/// The source of a pipeline that reads a task input.
pub(crate) struct TaskInputReader {
    queue: Arc<InputQueue>,
    rows_max: usize,
}

impl TaskInputReader {
    pub(crate) fn new(queue: &Arc<InputQueue>, cx: &OperatorContext) -> TaskInputReader {
        queue.open();
        TaskInputReader { queue: Arc::clone(queue), rows_max: cx.task.batch_rows.max(1) }
    }
}

impl Operator for TaskInputReader {
    fn name(&self) -> &'static str {
        "task input"
    }

    fn accept(&mut self, _input: Batch) -> Result<()> {
        Err(Error::internal("input of a source"))
    }

    fn finish_input(&mut self) -> Result<()> {
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        Ok(match self.queue.next(self.rows_max, cx.waker) {
            Poll::Ready(next) => next?.map_or(Step::Finished, Step::Output),
            Poll::Pending => Step::Blocked(BlockedOn::Io),
        })
    }
}

impl Drop for TaskInputReader {
    fn drop(&mut self) {
        self.queue.close();
    }
}
