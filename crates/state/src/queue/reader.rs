//! The reading end of a queue.

use super::{
    BatchQueue, State,
    lane::{Next, RunReader},
};
use crate::{
    barrier::Waiters,
    sort::{RunStep, SortedRun},
};
use std::{
    cell::RefCell,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    task::{Poll, Wake, Waker},
    time::Instant,
};
use volley_error::{Error, Result};
use volley_vector::Batch;

/// A reader of one lane: it gets every batch that the lane gets. Threads that share a reader share
/// its batches. Dropping it tells that it needs no more.
#[derive(Debug)]
pub struct QueueReader {
    queue: Arc<BatchQueue>,
    lane: usize,
    cursor: usize,
}

/// What a reader gets from the queue.
pub(super) enum Taken {
    /// The answer.
    Ready(Result<Option<Batch>>),
    /// The answer is on disk: the reader must come back ([`QueueReader::put_back`]).
    Run(RunReader),
    /// The waker was stored.
    Wait,
}

impl QueueReader {
    /// A new reader of a lane. It must be made before another reader of the lane, if there is one,
    /// takes a batch; before the first batch is pushed, if there is none.
    ///
    /// # Errors
    ///
    /// Internal: batches of the lane are gone; no such lane.
    pub fn new(queue: &Arc<BatchQueue>, lane: usize) -> Result<QueueReader> {
        let mut state = queue.lock();
        let no_lane = || Error::internal("a reader of a lane that a queue does not have");
        let cursor = state.lanes.get_mut(lane).ok_or_else(no_lane)?.add_cursor()?;
        state.readers += 1;
        drop(state);
        Ok(QueueReader { queue: Arc::clone(queue), lane, cursor })
    }

    /// The queue.
    pub fn queue(&self) -> &Arc<BatchQueue> {
        &self.queue
    }

    /// The next batch, `None` at the end; pending when `waker` will be woken.
    ///
    /// # Errors
    ///
    /// What the queue was closed with. Rows on disk that cannot be read: the queue is closed with
    /// that. Out of memory.
    pub fn poll_next(&self, waker: &Waker) -> Poll<Result<Option<Batch>>> {
        loop {
            match self.take(waker) {
                Taken::Ready(result) => return Poll::Ready(result),
                Taken::Wait => return Poll::Pending,
                Taken::Run(mut reader) => {
                    let batch = reader.next();
                    if let Some(result) = self.put_back(reader, batch) {
                        return Poll::Ready(result);
                    }
                }
            }
        }
    }

    /// As [`QueueReader::poll_next`], but blocks the thread until there is an answer; `None` when
    /// there is none at `deadline`. Not for threads that run drivers.
    pub fn wait_next(&self, deadline: Option<Instant>) -> Option<Result<Option<Batch>>> {
        thread_local! {
            static SIGNAL: RefCell<Arc<Signal>> = RefCell::default();
        }
        let signal = SIGNAL.with_borrow(Arc::clone);
        let waker = Waker::from(Arc::clone(&signal));
        loop {
            match self.poll_next(&waker) {
                Poll::Ready(result) => return Some(result),
                Poll::Pending if signal.wait(deadline) => {}
                Poll::Pending => return None,
            }
        }
    }

    /// What comes next.
    pub(super) fn take(&self, waker: &Waker) -> Taken {
        let mut woken = Waiters::default();
        let mut guard = self.queue.lock();
        let state = &mut *guard;
        if let Some(Err(error)) = &state.outcome {
            return Taken::Ready(Err(error.clone()));
        }
        let lane = &mut state.lanes[self.lane];
        let taken = match lane.next(self.cursor, &mut state.totals) {
            Ok(Next::Batch(batch)) => Taken::Ready(Ok(Some(batch))),
            Ok(Next::Run(reader)) => Taken::Run(reader),
            Ok(Next::Empty) if state.outcome.is_some() => return Taken::Ready(Ok(None)),
            Ok(Next::Empty | Next::Reading) => {
                lane.waiting.add(waker);
                woken.append(state.waiting_producers.take_lane(self.lane));
                Taken::Wait
            }
            Err(error) => return Taken::Ready(Err(self.fail(guard, error))),
        };
        self.queue.wake_producers(state, &mut woken);
        self.queue.update_reclaimable(state, &mut woken);
        drop(guard);
        woken.wake();
        taken
    }

    /// Brings a reader of a run back, with what it has read. What the reader answers; `None` if
    /// that is not known, as the run has ended.
    pub(super) fn put_back(
        &self,
        reader: RunReader,
        batch: Result<Option<Batch>>,
    ) -> Option<Result<Option<Batch>>> {
        let mut guard = self.queue.lock();
        let state = &mut *guard;
        if let Some(Err(error)) = &state.outcome {
            return Some(Err(error.clone()));
        }
        let (reader, ended) = match &batch {
            Ok(Some(_)) => (Some(reader), None),
            Ok(None) => (None, Some(reader)),
            Err(error) => {
                let error = error.clone();
                return Some(Err(self.fail(guard, error)));
            }
        };
        let lane = &mut state.lanes[self.lane];
        lane.put_back(self.cursor, reader);
        // Threads that share the reader have waited for it.
        let woken = lane.waiting.take();
        drop(guard);
        drop(ended);
        woken.wake();
        batch.map(|it| it.map(Some)).transpose()
    }

    /// Closes the queue with an error, even if it has ended: batches are lost.
    fn fail(&self, mut state: MutexGuard<'_, State>, error: Error) -> Error {
        let mut woken = Waiters::default();
        let dropped = self.queue.end(&mut state, Err(error.clone()), &mut woken);
        drop(state);
        drop(dropped);
        woken.wake();
        error
    }
}

impl SortedRun for QueueReader {
    fn next(&mut self, waker: &Waker) -> Result<RunStep> {
        Ok(match self.poll_next(waker) {
            Poll::Ready(next) => next?.map_or(RunStep::End, RunStep::Batch),
            Poll::Pending => RunStep::Wait,
        })
    }
}

impl Drop for QueueReader {
    fn drop(&mut self) {
        let mut woken = Waiters::default();
        let mut guard = self.queue.lock();
        let state = &mut *guard;
        let lane = &mut state.lanes[self.lane];
        let dropped = lane.close_cursor(self.cursor, &mut state.totals);
        // Wakers of a reader that is gone: they may hold the queue.
        let forgotten = if lane.has_readers() { Waiters::default() } else { lane.waiting.take() };
        state.readers = state.readers.saturating_sub(1);
        match state.readers {
            // They finish.
            0 => woken.append(state.waiting_producers.take(usize::MAX)),
            _ => self.queue.wake_producers(state, &mut woken),
        }
        self.queue.update_reclaimable(state, &mut woken);
        drop(guard);
        drop((dropped, forgotten));
        woken.wake();
    }
}

/// Wakes a thread that blocks.
#[derive(Debug, Default)]
struct Signal {
    is_raised: Mutex<bool>,
    raised: Condvar,
}

impl Signal {
    /// Waits until the signal is raised, and lowers it; false at the deadline.
    fn wait(&self, deadline: Option<Instant>) -> bool {
        let mut is_raised = self.is_raised.lock().unwrap_or_else(PoisonError::into_inner);
        while !std::mem::take(&mut *is_raised) {
            is_raised = match deadline {
                None => self.raised.wait(is_raised).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let Some(left) = deadline.checked_duration_since(Instant::now()) else {
                        return false;
                    };
                    let waited = self.raised.wait_timeout(is_raised, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        true
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        *self.is_raised.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.raised.notify_one();
    }
}
