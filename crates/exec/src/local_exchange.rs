//! Moves batches from the drivers of some pipelines to those of another one.
//!
//! ```text
//! sender ─┐                    ┌─ queue ── receiver
//! sender ─┼── Exchange (bytes) ┤           Single, Any: one queue that all receivers take from
//! sender ─┘                    └─ queue    Hash: one queue per receiver
//! ```
//!
//! Senders wait while the queues together hold more than a bound; receivers wait while their queue
//! is empty and a sender is left. When all receivers of a queue are gone, rows sent there are
//! dropped; when all receivers are gone, senders finish.
//!
//! Space for one batch does not wake all senders: a UNION of thousands of inputs has thousands.
//! Every event wakes some senders while there is space, and a woken sender sends or finishes, which
//! is such an event. Therefore no sender sleeps while there is space.

mod receiver;
mod sender;
mod waiting_senders;
#[cfg(test)]
mod tests;

pub use receiver::ExchangeReceiver;
pub use sender::ExchangeSender;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
};
use volley_error::Result;
use volley_memory::Pool;
use volley_state::{BatchCharge, barrier::Waiters, charge::queue_bytes};
use volley_vector::Batch;
use waiting_senders::WaitingSenders;

/// Senders wait while all queues of an exchange hold more bytes than this, or their share of the
/// memory limit.
const BYTES_MAX: usize = 32 << 20;

/// Senders wait while all queues of an exchange hold more batches than this per receiver.
const BATCHES_MAX_PER_RECEIVER: usize = 64;

/// How many senders one event wakes at most: two, so that their number doubles while there is room.
const WOKEN_MAX: usize = 2;

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

/// The queues between senders and receivers.
#[derive(Debug)]
pub struct Exchange {
    partitioning: Partitioning,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    queues: Vec<Queue>,
    /// Batches in all queues.
    batches: usize,
    batches_max: usize,
    bytes_max: usize,
    charge: BatchCharge,
    /// Senders that have not finished.
    senders: usize,
    waiting_senders: WaitingSenders,
}

#[derive(Debug)]
struct Queue {
    batches: VecDeque<Batch>,
    /// Receivers that may still take from it.
    receivers: usize,
    waiting: Waiters,
}

/// What a receiver gets.
enum Received {
    Batch(Batch),
    Wait,
    End,
}

/// What a sender is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// Send.
    Free,
    /// Wait for the waker.
    Full,
    /// All receivers have ended.
    Closed,
}

impl Exchange {
    /// An exchange from `senders` to `receivers` drivers; queued batches are charged to `pool`.
    pub fn new(
        senders: usize,
        receivers: usize,
        partitioning: Partitioning,
        pool: &Pool,
    ) -> Arc<Exchange> {
        let (queues, per_queue) = match &partitioning {
            Partitioning::Single | Partitioning::Any => (1, receivers),
            Partitioning::Hash(_) => (receivers, 1),
        };
        let queue = || Queue {
            batches: VecDeque::new(),
            receivers: per_queue,
            waiting: Waiters::default(),
        };
        let state = State {
            queues: std::iter::repeat_with(queue).take(queues).collect(),
            batches: 0,
            batches_max: BATCHES_MAX_PER_RECEIVER * receivers,
            bytes_max: queue_bytes(pool, BYTES_MAX),
            charge: BatchCharge::new(pool),
            senders,
            waiting_senders: WaitingSenders::default(),
        };
        Arc::new(Exchange { partitioning, state: Mutex::new(state) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The queue that receiver `driver` takes from.
    fn queue_of(&self, driver: usize) -> usize {
        if matches!(self.partitioning, Partitioning::Hash(_)) { driver } else { 0 }
    }

    /// Whether a sender may send its batch; when it is full, `waker` is woken once there is room.
    fn room(&self, waker: &Waker) -> Room {
        let mut state = self.lock();
        if state.queues.iter().all(|it| it.receivers == 0) {
            return Room::Closed;
        }
        if state.is_full() {
            state.waiting_senders.add(waker);
            return Room::Full;
        }
        state.waiting_senders.remove(waker);
        Room::Free
    }

    /// Whether all receivers have ended.
    fn is_closed(&self) -> bool {
        self.lock().queues.iter().all(|it| it.receivers == 0)
    }

    /// Appends batches to queues; a batch for a queue without receivers is dropped.
    fn send(&self, batches: impl IntoIterator<Item = (usize, Batch)>) -> Result<()> {
        let mut woken = Vec::new();
        let mut state = self.lock();
        for (queue, batch) in batches {
            if state.queues[queue].receivers == 0 {
                continue;
            }
            let batch = state.charge.keep(batch)?;
            state.batches += 1;
            let queue = &mut state.queues[queue];
            queue.batches.push_back(batch);
            woken.push(queue.waiting.take());
        }
        woken.push(state.wake_senders());
        drop(state);
        woken.into_iter().for_each(Waiters::wake);
        Ok(())
    }

    fn sender_finished(&self) {
        let mut state = self.lock();
        state.senders -= 1;
        if state.senders > 0 {
            let woken = state.wake_senders();
            drop(state);
            return woken.wake();
        }
        let woken: Vec<_> = state.queues.iter_mut().map(|it| it.waiting.take()).collect();
        drop(state);
        woken.into_iter().for_each(Waiters::wake);
    }

    fn receive(&self, queue: usize, waker: &Waker) -> Received {
        let mut state = self.lock();
        let Some(batch) = state.queues[queue].batches.pop_front() else {
            if state.senders == 0 {
                return Received::End;
            }
            state.queues[queue].waiting.add(waker);
            return Received::Wait;
        };
        state.batches -= 1;
        state.charge.remove(&batch);
        let woken = state.wake_senders();
        drop(state);
        woken.wake();
        Received::Batch(batch)
    }

    fn receiver_gone(&self, queue: usize) {
        let mut state = self.lock();
        state.queues[queue].receivers -= 1;
        let mut dropped = VecDeque::new();
        if state.queues[queue].receivers == 0 {
            dropped = std::mem::take(&mut state.queues[queue].batches);
            state.batches -= dropped.len();
            dropped.iter().for_each(|it| state.charge.remove(it));
        }
        // The last receiver wakes all: they finish.
        let woken = match state.queues.iter().any(|it| it.receivers > 0) {
            true => state.wake_senders(),
            false => state.waiting_senders.take(usize::MAX),
        };
        drop(state);
        drop(dropped);
        woken.wake();
    }
}

impl State {
    fn is_full(&self) -> bool {
        self.batches >= self.batches_max || self.charge.bytes() >= self.bytes_max
    }

    /// Some of the senders that wait, while there is room.
    fn wake_senders(&mut self) -> Waiters {
        if self.is_full() { Waiters::default() } else { self.waiting_senders.take(WOKEN_MAX) }
    }
}
