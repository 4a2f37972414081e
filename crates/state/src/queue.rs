//! A bounded queue of batches between producers and readers.
//!
//! ```text
//! producer ─┐               ┌─ lane 0 ── reader            one reader: each batch goes to it
//! producer ─┼─ BatchQueue ──┼─ lane 1 ── reader, reader    several: each reads every batch
//! producer ─┘  bound, pool  └─ lane 2 ── reader            the oldest batches may be on disk
//! ```
//!
//! One type serves every connection of pipelines:
//!
//! | use | lanes | readers of a lane | bound | spills |
//! |---|---|---|---|---|
//! | exchange | one, or one per consumer | 1 | of all lanes together | no |
//! | merge | one queue of one lane per sorted producer, read by a [`crate::sort::RunMerge`] | 1 | of each | no |
//! | result of a query | 1 | 1 | yes | yes |
//! | result of a subplan that several nodes read | 1 | any number | no | yes |
//!
//! The threads of a consumer may share a [`QueueReader`]: each batch goes to one of them. Batches
//! of one reader keep the order in which they were pushed.
//!
//! A producer asks [`BatchQueue::poll_ready`] and pushes when there is room; a push is never
//! refused, so that the rows of one batch may go to several lanes. While the queue is full, a lane
//! whose reader waits still takes batches ([`BatchQueue::poll_lane_ready`]): it never waits for
//! lanes without one.
//!
//! The queue ends when all announced producers have finished, or with [`BatchQueue::close`]. An
//! error hides the batches that were not read. When the last reader of a lane is dropped, the lane
//! drops its batches and those that still come; when the last reader of all lanes is dropped, the
//! queue is closed for producers.
//!
//! All state is behind one lock: a waker is stored, and the state that it waits for is looked at,
//! under it. Wakers are called, files are written and read, and batches of a closed lane are
//! dropped without it. Room wakes two producers, not all: there may be thousands. A producer that
//! was woken pushes or finishes, and each of these wakes two more while there is room. Therefore no
//! producer sleeps while there is room.

mod lane;
mod reader;
mod spill;
mod waiting;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod schedule_tests;

pub use reader::QueueReader;
pub use spill::{QueueSpill, ReaderMemory};

use crate::{
    barrier::Waiters,
    charge::{BatchCharge, queue_bytes},
    spill::SPILL_BYTES_MIN,
};
use lane::{Dropped, Lane, Totals};
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::Waker,
};
use volley_error::{Error, Result};
use volley_memory::Pool;
use volley_vector::Batch;
use waiting::WaitingProducers;

/// How many producers one event wakes at most: two, so that their number doubles while there is
/// room.
const WOKEN_MAX: usize = 2;

/// Batches in memory are offered for spilling when they take at least 1/64 of the memory limit: the
/// arbiter does not ask for less.
const SPILL_SHARE: usize = 64;

/// What a queue is made with.
#[derive(Debug)]
pub struct QueueConfig {
    /// How many lanes; at least one.
    pub lanes: usize,
    /// How many producers will call [`BatchQueue::producer_finished`]. More can be announced later
    /// ([`BatchQueue::add_producers`]).
    pub producers: usize,
    /// Producers wait while the queue holds so much.
    pub bound: QueueBound,
    /// How many waiting producers an event wakes.
    pub wake: WakeProducers,
    /// Where batches can be spilled; `None` for a queue that holds too little for it.
    pub spill: Option<QueueSpill>,
}

/// How much a queue holds in memory before producers have to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueBound {
    /// Batches in all lanes.
    pub batches: usize,
    /// Their bytes.
    pub bytes: usize,
}

/// How many waiting producers are woken when there is room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeProducers {
    /// A few: each of them pushes or finishes as soon as it is woken.
    Few,
    /// All: some may never return.
    All,
}

/// A bounded queue of batches. See the module's documentation.
///
/// # Examples
///
/// ```
/// use std::{sync::Arc, task::{Poll, Waker}};
/// use volley_memory::Pool;
/// use volley_state::queue::{
///     BatchQueue, QueueBound, QueueConfig, QueueReader, Room, WakeProducers,
/// };
/// use volley_types::Type;
/// use volley_vector::{Batch, Vector};
///
/// let pool = Pool::root("queue", Some(1 << 20));
/// let config = QueueConfig {
///     lanes: 1,
///     producers: 1,
///     bound: QueueBound::new(&pool, 2, 1 << 20),
///     wake: WakeProducers::Few,
///     spill: None,
/// };
/// let queue = Arc::new(BatchQueue::new(config, &pool));
/// let reader = QueueReader::new(&queue, 0)?;
/// let waker = Waker::noop();
///
/// assert_eq!(queue.poll_ready(waker), Room::Free);
/// let numbers = Vector::native::<i64>(Type::BigInt, vec![1, 2, 3], None);
/// queue.push(0, Batch::new(vec![numbers], 3))?;
/// queue.producer_finished();
///
/// let Poll::Ready(batch) = reader.poll_next(waker) else { unreachable!("it was pushed") };
/// assert_eq!(batch?.map(|it| it.rows()), Some(3));
/// assert!(matches!(reader.poll_next(waker), Poll::Ready(Ok(None))));
/// # Ok::<(), volley_error::Error>(())
/// ```
#[derive(Debug)]
pub struct BatchQueue {
    bound: QueueBound,
    woken_max: usize,
    /// `None` if a type has no form on disk.
    spill: Option<QueueSpill>,
    /// Fewer bytes in memory are not offered for spilling.
    spill_bytes_min: usize,
    /// What spilling would free.
    reclaimable_bytes: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    lanes: Vec<Lane>,
    totals: Totals,
    /// Readers of all lanes that were not dropped.
    readers: usize,
    /// Producers that have not finished.
    producers: usize,
    waiting_producers: WaitingProducers,
    /// Those that wait until nothing is offered for spilling.
    waiting_for_spill: Waiters,
    /// Those that wait for producers to finish.
    waiting_for_end: Waiters,
    outcome: Option<Result<()>>,
    spilling: Spilling,
}

/// Whether batches can be spilled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spilling {
    /// As far as that is known.
    Possible,
    /// A thread does it.
    Running,
    /// A write has failed.
    Impossible,
}

/// What a producer can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Push a batch.
    Free,
    /// Wait for the waker.
    Full,
    /// All readers are gone: batches are dropped.
    Closed,
    /// The queue has ended: batches are dropped.
    Ended,
}

impl QueueBound {
    /// No bound: for producers that must not wait.
    pub const NONE: QueueBound = QueueBound { batches: usize::MAX, bytes: usize::MAX };

    /// `batches`, and `bytes` or less under the memory limit of `pool` ([`queue_bytes`]).
    pub fn new(pool: &Pool, batches: usize, bytes: usize) -> QueueBound {
        QueueBound { batches, bytes: queue_bytes(pool, bytes) }
    }
}

impl BatchQueue {
    /// An empty queue; reserves what it holds in `pool`.
    pub fn new(config: QueueConfig, pool: &Pool) -> BatchQueue {
        let state = State {
            lanes: std::iter::repeat_with(Lane::default).take(config.lanes.max(1)).collect(),
            totals: Totals::new(BatchCharge::new(pool)),
            readers: 0,
            producers: config.producers,
            waiting_producers: WaitingProducers::default(),
            waiting_for_spill: Waiters::default(),
            waiting_for_end: Waiters::default(),
            outcome: None,
            spilling: Spilling::Possible,
        };
        BatchQueue {
            bound: config.bound,
            woken_max: match config.wake {
                WakeProducers::Few => WOKEN_MAX,
                WakeProducers::All => usize::MAX,
            },
            spill: config.spill.filter(QueueSpill::is_possible),
            spill_bytes_min: SPILL_BYTES_MIN.max(pool.limit_bytes() / SPILL_SHARE),
            reclaimable_bytes: AtomicUsize::new(0),
            state: Mutex::new(state),
        }
    }

    /// A queue and one reader per lane.
    pub fn with_readers(config: QueueConfig, pool: &Pool) -> (Arc<BatchQueue>, Vec<QueueReader>) {
        let queue = Arc::new(BatchQueue::new(config, pool));
        let reader = |lane| QueueReader::new(&queue, lane).expect("the queue is new");
        let readers = (0..queue.lanes()).map(reader).collect();
        (queue, readers)
    }

    /// How many lanes there are.
    pub fn lanes(&self) -> usize {
        self.lock().lanes.len()
    }

    /// Announces `count` more producers.
    pub fn add_producers(&self, count: usize) {
        self.lock().producers += count;
    }

    /// Whether a producer may push a batch for any lane. When the queue is full, `waker` is woken
    /// once there is room, or the queue is closed.
    pub fn poll_ready(&self, waker: &Waker) -> Room {
        self.poll_room(None, waker)
    }

    /// As [`BatchQueue::poll_ready`] for a batch of one lane: there is always room if the reader of
    /// the lane waits, however much other lanes hold.
    pub fn poll_lane_ready(&self, lane: usize, waker: &Waker) -> Room {
        self.poll_room(Some(lane), waker)
    }

    fn poll_room(&self, lane: Option<usize>, waker: &Waker) -> Room {
        let mut state = self.lock();
        let room = self.room(&state);
        let is_awaited = || lane.is_some_and(|it| state.lanes[it].is_awaited());
        if room == Room::Full && !is_awaited() {
            state.waiting_producers.add(waker, lane);
            return Room::Full;
        }
        state.waiting_producers.remove(waker);
        if room == Room::Full { Room::Free } else { room }
    }

    fn room(&self, state: &State) -> Room {
        if state.readers == 0 {
            Room::Closed
        } else if state.outcome.is_some() {
            Room::Ended
        } else if self.is_full(&state.totals) {
            Room::Full
        } else {
            Room::Free
        }
    }

    fn is_full(&self, totals: &Totals) -> bool {
        totals.batches >= self.bound.batches
            || totals.charge.bytes() >= self.bound.bytes
            || self.spill.as_ref().is_some_and(|it| totals.runs >= it.runs_max)
    }

    /// Whether all readers are gone.
    pub fn is_closed(&self) -> bool {
        self.lock().readers == 0
    }

    /// Appends a batch to a lane, whether or not there is room. Columns must be loaded. A batch for
    /// a lane without readers, or after the end, is dropped. Answers whether there is room for
    /// another one.
    ///
    /// # Errors
    ///
    /// Out of memory; then the batch was dropped.
    ///
    /// # Panics
    ///
    /// If there is no such lane.
    pub fn push(&self, lane: usize, batch: Batch) -> Result<Room> {
        self.push_all([(lane, batch)])
    }

    /// Appends batches to lanes, as [`BatchQueue::push`].
    ///
    /// # Errors
    ///
    /// As [`BatchQueue::push`]; the batches before the refused one were appended.
    pub fn push_all(&self, batches: impl IntoIterator<Item = (usize, Batch)>) -> Result<Room> {
        let mut woken = Waiters::default();
        let mut state = self.lock();
        let mut pushed = Ok(());
        if state.outcome.is_none() {
            pushed = state.append(batches, &mut woken);
        }
        let room = self.room(&state);
        self.wake_producers(&mut state, &mut woken);
        self.update_reclaimable(&mut state, &mut woken);
        drop(state);
        woken.wake();
        pushed.map(|()| room)
    }

    /// Counts a producer that pushes nothing more; the last one ends the queue.
    pub fn producer_finished(&self) {
        let mut woken = Waiters::default();
        let mut state = self.lock();
        state.producers = state.producers.saturating_sub(1);
        woken.append(state.waiting_for_end.take());
        let is_last = state.producers == 0 && state.outcome.is_none();
        match is_last {
            true => drop(self.end(&mut state, Ok(()), &mut woken)),
            false => self.wake_producers(&mut state, &mut woken),
        }
        drop(state);
        woken.wake();
    }

    /// Ends the queue; only the first end counts. After an error, readers get it instead of the
    /// batches that they have not read.
    pub fn close(&self, outcome: Result<()>) {
        let mut woken = Waiters::default();
        let mut state = self.lock();
        let is_first = state.outcome.is_none();
        let dropped = is_first.then(|| self.end(&mut state, outcome, &mut woken));
        drop(state);
        drop(dropped);
        woken.wake();
    }

    /// Drops the unread batches, and without calling them the wakers, which may hold the queue.
    pub fn forget(&self) {
        let mut state = self.lock();
        let dropped = state.clear();
        let wakers = state.take_wakers();
        self.update_reclaimable(&mut state, &mut Waiters::default());
        drop(state);
        drop((dropped, wakers));
    }

    /// The rows that were pushed so far, those of dropped batches not included.
    pub fn pushed_rows(&self) -> usize {
        self.lock().totals.pushed_rows
    }

    /// Whether all producers but `left` have finished, or the queue has ended; if not, `waker` is
    /// woken once that may have changed.
    pub fn poll_finished(&self, left: usize, waker: &Waker) -> bool {
        let mut state = self.lock();
        let is_finished = state.producers <= left || state.outcome.is_some();
        if !is_finished {
            state.waiting_for_end.add(waker);
        }
        is_finished
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the outcome; the batches that an error hides.
    #[must_use = "batches should be dropped without the lock"]
    fn end(&self, state: &mut State, outcome: Result<()>, woken: &mut Waiters) -> Vec<Dropped> {
        let dropped = if outcome.is_err() { state.clear() } else { Vec::new() };
        self.update_reclaimable(state, woken);
        state.outcome = Some(outcome);
        state.lanes.iter_mut().for_each(|it| woken.append(it.waiting.take()));
        woken.append(state.waiting_for_end.take());
        woken.append(state.waiting_producers.take(usize::MAX));
        dropped
    }

    /// Takes some of the producers that wait, while there is room.
    fn wake_producers(&self, state: &mut State, woken: &mut Waiters) {
        if !state.waiting_producers.is_empty() && !self.is_full(&state.totals) {
            woken.append(state.waiting_producers.take(self.woken_max));
        }
    }

    /// The bytes that [`BatchQueue::spill`] would free; zero if that is not worth a file, or less
    /// than the arbiter asks for.
    pub fn reclaimable_bytes(&self) -> usize {
        self.reclaimable_bytes.load(Ordering::Relaxed)
    }

    fn update_reclaimable(&self, state: &mut State, woken: &mut Waiters) {
        let bytes = state.totals.charge.bytes();
        let is_possible = self.spill.is_some() && state.spilling == Spilling::Possible;
        let is_offered = is_possible && bytes >= self.spill_bytes_min;
        self.reclaimable_bytes.store(if is_offered { bytes } else { 0 }, Ordering::Relaxed);
        if !is_offered {
            woken.append(state.waiting_for_spill.take());
        }
    }
}

impl State {
    fn append(
        &mut self,
        batches: impl IntoIterator<Item = (usize, Batch)>,
        woken: &mut Waiters,
    ) -> Result<()> {
        for (lane, batch) in batches {
            let lane = &mut self.lanes[lane];
            if lane.has_readers() {
                lane.push(batch, &mut self.totals)?;
                woken.append(lane.waiting.take());
            }
        }
        Ok(())
    }

    /// Empties all lanes.
    #[must_use = "batches should be dropped without the lock"]
    fn clear(&mut self) -> Vec<Dropped> {
        self.totals.clear();
        self.lanes.iter_mut().map(Lane::clear).collect()
    }

    fn take_wakers(&mut self) -> Vec<Waiters> {
        let mut wakers: Vec<_> = self.lanes.iter_mut().map(|it| it.waiting.take()).collect();
        wakers.push(self.waiting_producers.take(usize::MAX));
        wakers.push(self.waiting_for_spill.take());
        wakers.push(self.waiting_for_end.take());
        wakers
    }
}

/// The error of a reader that begins too late.
#[cold]
fn already_read() -> Error {
    Error::internal("a reader of a queue whose first batches were read and dropped")
}
