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

mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub(crate) use receiver::MergeReceiver;
pub use receiver::Received;
pub use sender::MergeSender;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
};
use volley_error::Result;
use volley_memory::Pool;
use volley_state::{BatchCharge, barrier::Waiters, charge::queue_bytes, sort::RunStep};
use volley_vector::Batch;

/// A sender waits while its queue holds this number of batches.
const BATCHES_MAX: usize = 8;

/// A sender waits while its queue holds this number of bytes, or its share of the memory limit.
const BYTES_MAX: usize = 2 << 20;

/// The queue of one sender.
#[derive(Debug)]
pub struct MergeQueue {
    state: Mutex<State>,
    bytes_max: usize,
}

#[derive(Debug)]
struct State {
    batches: VecDeque<Batch>,
    charge: BatchCharge,
    has_ended: bool,
    /// The receiver has ended.
    is_closed: bool,
    sender: Waiters,
    receiver: Waiters,
}

/// What a sender is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// Send.
    Free,
    /// Wait for the waker.
    Full,
    /// The receiver has ended.
    Closed,
}

impl MergeQueue {
    /// Queues of `senders`; what they hold is charged to `pool`.
    pub fn new(senders: usize, pool: &Pool) -> Vec<Arc<MergeQueue>> {
        let state = || State {
            batches: VecDeque::new(),
            charge: BatchCharge::new(pool),
            has_ended: false,
            is_closed: false,
            sender: Waiters::default(),
            receiver: Waiters::default(),
        };
        let bytes_max = (queue_bytes(pool, BYTES_MAX * senders) / senders.max(1)).max(1);
        let queue = || MergeQueue { state: Mutex::new(state()), bytes_max };
        (0..senders).map(|_| Arc::new(queue())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a batch may be sent; when the queue is full, `waker` is woken once there is room.
    fn room(&self, waker: &Waker) -> Room {
        let mut state = self.lock();
        if state.is_closed {
            return Room::Closed;
        }
        if state.batches.len() < BATCHES_MAX && state.charge.bytes() < self.bytes_max {
            return Room::Free;
        }
        state.sender.add(waker);
        Room::Full
    }

    fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Appends a batch, which is dropped if the receiver has ended.
    fn send(&self, batch: Batch) -> Result<()> {
        let mut state = self.lock();
        if !state.is_closed {
            let batch = state.charge.keep(batch)?;
            state.batches.push_back(batch);
        }
        let receiver = state.receiver.take();
        drop(state);
        receiver.wake();
        Ok(())
    }

    /// No batch will come any more.
    fn end(&self) {
        let mut state = self.lock();
        state.has_ended = true;
        let receiver = state.receiver.take();
        drop(state);
        receiver.wake();
    }

    fn receive(&self, waker: &Waker) -> RunStep {
        let mut state = self.lock();
        let Some(batch) = state.batches.pop_front() else {
            if state.has_ended {
                return RunStep::End;
            }
            state.receiver.add(waker);
            return RunStep::Wait;
        };
        state.charge.remove(&batch);
        let sender = state.sender.take();
        drop(state);
        sender.wake();
        RunStep::Batch(batch)
    }

    /// The receiver has ended.
    fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.charge.clear();
        let dropped = std::mem::take(&mut state.batches);
        let sender = state.sender.take();
        drop(state);
        drop(dropped);
        sender.wake();
    }
}
