//! What a producer has for each lane, until it is read.
//!
//! ```text
//! lane   | freed | sent, not acknowledged | in memory | on disk | in memory |
//!                ^ first token                          the oldest unsent pages overflow
//! ```
//!
//! Producers ask [`OutputBuffer::poll_ready`] before they push. While the pages in memory are
//! within the budget, it is ready. Beyond, it waits for readers, unless a reader waits for a page:
//! then the largest lane without a waiting reader overflows to disk, and the producer continues. So
//! a lane with a waiting reader never waits for lanes without one. A page that was asked for may
//! always be pushed, whatever its size.
//!
//! Bytes are decoded ones; they are charged to the pool. A push beyond the pool's limit overflows
//! lanes, too, before it fails. Files are written and read without holding the lock.

mod lane;
mod overflow;
#[cfg(test)]
mod tests;

use crate::{Closed, Failure, FailureSlot, Lane, LaneSize, Page, PageSupply, Supply};
use lane::{Front, LaneQueue};
use overflow::Overflow;
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Poll, Waker},
};
use volley_error::Error;
use volley_memory::{CancelHook, CancellationToken, Pool, Reservation, spill::SpillSpace};
use volley_types::Type;

/// What an output buffer is made of.
#[derive(Clone, Debug)]
pub struct OutputBufferConfig {
    /// The number of lanes.
    pub lanes: usize,
    /// The types of the columns, for pages that overflow as batches.
    pub types: Arc<[Type]>,
    /// Decoded bytes in memory, beyond which producers wait.
    pub budget_bytes: usize,
    /// What the pages are charged to.
    pub pool: Pool,
    /// Where pages overflow to. Without it, a producer that must not wait exceeds the budget.
    pub spill: Option<SpillSpace>,
}

/// The pages of a producer by lane.
pub struct OutputBuffer {
    state: Mutex<State>,
    overflow: Option<Overflow>,
    budget_bytes: usize,
}

/// One driver that pushes pages. The output ends when all drivers have finished; a driver that is
/// dropped before that fails the output.
#[derive(Debug)]
pub struct Producer {
    buffer: Arc<OutputBuffer>,
    has_finished: bool,
}

/// Whether a producer should make a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// One page may be pushed.
    Room,
    /// No lane needs rows any more.
    NotNeeded,
}

struct State {
    lanes: Vec<LaneQueue>,
    /// Drivers that have not finished.
    producers: usize,
    /// Producers that wait for room.
    waiting: Vec<Waker>,
    failure: FailureSlot,
    /// The pages in memory.
    charge: Reservation,
}

impl OutputBuffer {
    /// A buffer, and a producer for each of `producers` drivers.
    pub fn new(config: OutputBufferConfig, producers: usize) -> (Arc<OutputBuffer>, Vec<Producer>) {
        let lanes = std::iter::repeat_with(LaneQueue::default).take(config.lanes).collect();
        let state = State {
            lanes,
            producers,
            waiting: Vec::new(),
            failure: FailureSlot::default(),
            charge: config.pool.reservation(),
        };
        let buffer = Arc::new(OutputBuffer {
            state: Mutex::new(state),
            overflow: config.spill.map(|it| Overflow::new(it, config.types)),
            budget_bytes: config.budget_bytes,
        });
        let producer = || Producer { buffer: Arc::clone(&buffer), has_finished: false };
        let producers = std::iter::repeat_with(producer).take(producers).collect();
        (buffer, producers)
    }

    /// Fails the output: pages that were not read are freed, readers get the failure. The first
    /// real cause wins.
    pub fn fail(&self, failure: Failure) {
        let mut state = self.lock();
        state.failure.record(failure);
        let freed = state.lanes.iter_mut().map(LaneQueue::clear).sum();
        state.charge.shrink(freed);
        let mut wakers = std::mem::take(&mut state.waiting);
        wakers.extend(state.lanes.iter_mut().filter_map(|it| it.reader.take()));
        wake(state, wakers);
    }

    /// Fails the output when `token` is cancelled, with its cause. Dropping the hook ends that.
    pub fn cancel_with(self: &Arc<Self>, token: &CancellationToken) -> CancelHook {
        let buffer: Weak<OutputBuffer> = Arc::downgrade(self);
        token.on_cancel(move |cause| {
            if let Some(buffer) = buffer.upgrade() {
                buffer.fail(Failure::new(cause.clone()));
            }
        })
    }

    /// Whether a producer may push a page. Pending: `waker` is woken when that may have changed.
    ///
    /// # Errors
    ///
    /// The failure of the output; I/O of the overflow.
    pub fn poll_ready(&self, waker: &Waker) -> Poll<Result<Readiness, Failure>> {
        loop {
            let mut state = self.lock();
            if let Some(failure) = state.failure.get() {
                return Poll::Ready(Err(failure.clone()));
            }
            if state.lanes.iter().all(|it| it.is_closed) {
                return Poll::Ready(Ok(Readiness::NotNeeded));
            }
            if state.charge.bytes() < self.budget_bytes {
                return Poll::Ready(Ok(Readiness::Room));
            }
            if !state.lanes.iter().any(LaneQueue::is_reader_waiting) {
                add(&mut state.waiting, waker);
                return Poll::Pending;
            }
            match self.spill_largest(state) {
                Ok(true) => {}
                // All pages in memory are on their way to readers.
                Ok(false) => return Poll::Ready(Ok(Readiness::Room)),
                Err(failure) => return Poll::Ready(Err(failure)),
            }
        }
    }

    /// About how many bytes [`OutputBuffer::spill`] would free.
    pub fn spillable_bytes(&self) -> usize {
        match self.overflow {
            Some(_) => self.lock().lanes.iter().map(LaneQueue::spillable_bytes).sum(),
            None => 0,
        }
    }

    /// Writes the pages to disk that were not sent and that no reader waits for.
    ///
    /// # Errors
    ///
    /// I/O, a full disk: the output has failed.
    pub fn spill(&self) -> Result<(), Failure> {
        while self.spill_largest(self.lock())? {}
        Ok(())
    }

    /// Whether a lane still needs rows. Rows of other lanes should not be encoded.
    pub fn is_needed(&self, lane: usize) -> bool {
        self.lock().lanes.get(lane).is_some_and(|it| !it.is_closed)
    }

    /// What each lane had so far.
    pub fn statistics(&self) -> Vec<LaneSize> {
        self.lock().lanes.iter().map(|it| it.size).collect()
    }

    /// Appends a page to a lane.
    fn push(&self, lane: usize, page: Page) -> Result<(), Failure> {
        loop {
            let mut state = self.lock();
            if let Some(failure) = state.failure.get() {
                return Err(failure.clone());
            }
            let Some(queue) = state.lanes.get(lane) else {
                let message = format!("lane {lane} of {}", state.lanes.len());
                return Err(Error::internal(message).into());
            };
            if queue.is_closed {
                return Ok(());
            }
            let Err(refused) = state.charge.grow(page.bytes) else {
                let waker = state.lanes[lane].push(page);
                wake(state, waker.into_iter().collect());
                return Ok(());
            };
            if !self.spill_largest(state)? {
                let failure = Failure::new(refused);
                self.fail(failure.clone());
                return Err(failure);
            }
        }
    }

    /// Writes the unsent pages of the largest lane without a waiting reader to disk; false if no
    /// lane has such pages. A failure to write fails the output.
    fn spill_largest(&self, mut state: MutexGuard<'_, State>) -> Result<bool, Failure> {
        let Some(overflow) = &self.overflow else { return Ok(false) };
        let lanes = state.lanes.iter().enumerate();
        let largest = lanes.max_by_key(|(_, it)| it.spillable_bytes()).map(|it| it.0);
        let Some(lane) = largest.filter(|it| state.lanes[*it].spillable_bytes() > 0) else {
            return Ok(false);
        };
        let (token, pages) = state.lanes[lane].begin_spill();
        drop(state);
        match overflow.write(&pages) {
            Ok(run) => {
                let mut state = self.lock();
                let freed = state.lanes[lane].finish_spill(token, &pages, &run);
                drop(pages);
                state.charge.shrink(freed);
                let mut wakers = std::mem::take(&mut state.waiting);
                wakers.extend(state.lanes[lane].reader.take());
                wake(state, wakers);
                Ok(true)
            }
            Err(error) => {
                let failure = Failure::new(error);
                self.fail(failure.clone());
                Err(failure)
            }
        }
    }

    fn finish_producer(&self) {
        let mut state = self.lock();
        state.producers = state.producers.saturating_sub(1);
        let mut wakers = Vec::new();
        if state.producers == 0 {
            wakers.extend(state.lanes.iter_mut().filter_map(|it| it.reader.take()));
        }
        wake(state, wakers);
    }

    /// Reads the page at the front of the unsent ones from disk.
    fn load(&self, lane: usize, token: u64, run: &overflow::Run) -> Result<(), Failure> {
        let read = run.read();
        let mut state = self.lock();
        let page = match read {
            Ok(page) => page,
            Err(error) => {
                drop(state);
                let failure = Failure::new(error);
                self.fail(failure.clone());
                return Err(failure);
            }
        };
        let Some(queue) = state.lanes.get_mut(lane) else { return Ok(()) };
        let bytes = page.bytes;
        let is_needed = queue.finish_load(token, page);
        // A repeated request may have found the page being read.
        let waiting = queue.reader.take();
        if is_needed && let Err(refused) = state.charge.grow(bytes) {
            drop(state);
            let failure = Failure::new(refused);
            self.fail(failure.clone());
            return Err(failure);
        }
        wake(state, waiting.into_iter().collect());
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PageSupply for OutputBuffer {
    fn poll(
        &self,
        lane: Lane,
        token: u64,
        bytes_max: usize,
        waker: &Waker,
    ) -> Poll<Result<Supply, Failure>> {
        let lane = lane.0 as usize;
        loop {
            let mut state = self.lock();
            if let Some(failure) = state.failure.get() {
                return Poll::Ready(Err(failure.clone()));
            }
            let input_done = state.producers == 0;
            let Some(queue) = state.lanes.get_mut(lane) else {
                return Poll::Ready(Err(Error::internal(format!("no lane {lane}")).into()));
            };
            if queue.is_closed {
                return Poll::Ready(Ok(Supply {
                    is_end: true,
                    next_token: token,
                    ..Supply::default()
                }));
            }
            let freed = match queue.acknowledge(token) {
                Ok(freed) => freed,
                Err(error) => return Poll::Ready(Err(error.into())),
            };
            let front = queue.front(bytes_max, input_done);
            let is_pending = matches!(front, Front::Empty | Front::Busy);
            if is_pending {
                queue.wait(waker, matches!(front, Front::Empty));
            }
            state.charge.shrink(freed);
            let has_room = state.charge.bytes() < self.budget_bytes || is_pending;
            let wakers = if has_room { std::mem::take(&mut state.waiting) } else { Vec::new() };
            wake(state, wakers);
            match front {
                Front::Supply(supply) => return Poll::Ready(Ok(supply)),
                Front::Empty | Front::Busy => return Poll::Pending,
                Front::Disk(token, run) => {
                    if let Err(failure) = self.load(lane, token, &run) {
                        return Poll::Ready(Err(failure));
                    }
                }
            }
        }
    }

    fn close(&self, lane: Lane, _: Closed) {
        let mut state = self.lock();
        let Some(queue) = state.lanes.get_mut(lane.0 as usize) else { return };
        queue.is_closed = true;
        queue.reader = None;
        let freed = queue.clear();
        state.charge.shrink(freed);
        let wakers = std::mem::take(&mut state.waiting);
        wake(state, wakers);
    }

    fn sizes(&self) -> Option<Vec<LaneSize>> {
        let state = self.lock();
        let sizes = || state.lanes.iter().map(|it| it.size).collect();
        (state.producers == 0).then(sizes)
    }
}

impl Producer {
    /// Appends a page to a lane; it is dropped if the lane is closed.
    ///
    /// # Errors
    ///
    /// The failure of the output; out of memory; I/O of the overflow.
    pub fn push(&self, lane: usize, page: Page) -> Result<(), Failure> {
        self.buffer.push(lane, page)
    }

    /// The buffer.
    pub fn buffer(&self) -> &Arc<OutputBuffer> {
        &self.buffer
    }

    /// Ends the pages of this driver.
    pub fn finish(mut self) {
        self.has_finished = true;
        self.buffer.finish_producer();
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        if !self.has_finished {
            let error = Error::cancelled().at("edge", "a driver ended before its output");
            self.buffer.fail(Failure::new(error));
        }
    }
}

/// Wakes without the lock.
fn wake(state: MutexGuard<'_, State>, wakers: Vec<Waker>) {
    drop(state);
    wakers.into_iter().for_each(Waker::wake);
}

/// Adds a waker, unless an equal one is there.
fn add(wakers: &mut Vec<Waker>, waker: &Waker) {
    if !wakers.iter().any(|it| it.will_wake(waker)) {
        wakers.push(waker.clone());
    }
}

impl fmt::Debug for OutputBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.lock();
        let mut output = f.debug_struct("OutputBuffer");
        output.field("lanes", &state.lanes.len()).field("bytes", &state.charge.bytes());
        output.field("failure", &state.failure).finish()
    }
}
