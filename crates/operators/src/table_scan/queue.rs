//! The splits of a scan that no driver has taken.
//!
//! ```text
//! listed    a split source of the connector; beyond 10,000 splits it is asked as drivers take them
//! added     by the task's owner, while the task runs, until there are no more
//! ```

use crate::dynamic_filters::JoinFilter;
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Poll, Wake, Waker},
};
use volley_connector::{Scan, ScanMetrics, Source, Split, SplitSource, SplitStep};
use volley_error::{Error, Result};
use volley_exec::SplitReceiver;
use volley_plan::PlanNodeId;
use volley_state::barrier::Waiters;

/// How many splits are listed before drivers run.
const LISTED_AT_ONCE: usize = 10_000;

/// How many are listed at a time afterwards,
const LISTED_LATER: usize = 1000;

/// when fewer than this are left.
const FEW_SPLITS: usize = 100;

/// Where the splits of a scan come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SplitOrigin {
    /// The table lists them.
    Listed,
    /// The task's owner adds them.
    Added,
}

/// The splits of a scan that no driver has taken.
pub struct SplitQueue {
    node: PlanNodeId,
    scan: Box<dyn Scan>,
    /// What sources wait for.
    filters: Vec<Arc<JoinFilter>>,
    state: Mutex<State>,
    /// Locked after the state, or alone: a split source may wake while it is asked.
    waiters: Arc<Mutex<Waiters>>,
    /// Wakes the drivers that wait for splits.
    waker: Waker,
}

struct State {
    ready: VecDeque<Split>,
    /// How many drivers the first of `ready` was handed to, and what they have read of it.
    readers: u32,
    share: Option<SplitShare>,
    source: Option<Box<dyn SplitSource>>,
    /// Whether the task's owner may add some.
    is_open: bool,
    /// Splits that all their drivers have taken.
    taken: u64,
    /// Splits so far, one that several drivers read counted as often.
    total: u64,
    /// The bytes of the splits so far.
    bytes: u64,
}

/// What a driver gets.
pub(super) struct Taken {
    pub split: Split,
    pub share: SplitShare,
    /// Its place among the splits, from 0.
    pub number: u64,
    /// What some driver will most likely take next.
    pub following: Option<Split>,
}

/// About how many bytes a split has; at least 1.
fn bytes_of(split: &Split) -> u64 {
    split.size_bytes.max(1)
}

impl SplitShare {
    fn new(split: &Split) -> SplitShare {
        SplitShare { bytes: bytes_of(split), read: Arc::default() }
    }

    /// Notes that the readers of the split have read this share of it; how many bytes no reader has
    /// noted before.
    pub(super) fn advance(&self, share: f64) -> u64 {
        let now = ((self.bytes as f64 * share) as u64).min(self.bytes);
        now.saturating_sub(self.read.fetch_max(now, Ordering::Relaxed))
    }
}

/// How much of a split its readers have read.
#[derive(Clone, Debug)]
pub(super) struct SplitShare {
    bytes: u64,
    read: Arc<AtomicU64>,
}

struct QueueWaker(Arc<Mutex<Waiters>>);

impl SplitQueue {
    /// The splits of `scan`, which uses `filters`.
    ///
    /// # Errors
    ///
    /// What listing them fails with.
    pub(crate) fn new(
        node: PlanNodeId,
        scan: Box<dyn Scan>,
        filters: Vec<Arc<JoinFilter>>,
        origin: SplitOrigin,
    ) -> Result<Arc<SplitQueue>> {
        let source = match origin {
            SplitOrigin::Listed => Some(scan.splits()?),
            SplitOrigin::Added => None,
        };
        let waiters = Arc::new(Mutex::default());
        let waker = Waker::from(Arc::new(QueueWaker(Arc::clone(&waiters))));
        let is_open = origin == SplitOrigin::Added;
        let mut state = State {
            ready: VecDeque::new(),
            readers: 0,
            share: None,
            source,
            is_open,
            taken: 0,
            total: 0,
            bytes: 0,
        };
        // Connectors list some files at a time: up to the first splits that have to be waited for.
        while let Some(max) = LISTED_AT_ONCE.checked_sub(state.ready.len()).filter(|it| *it > 0) {
            if !state.list(max, &waker)? {
                break;
            }
        }
        let state = Mutex::new(state);
        Ok(Arc::new(SplitQueue { node, scan, filters, state, waiters, waker }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// How many drivers can be busy: at most `most`, and at least one.
    pub(crate) fn drivers(&self, most: usize) -> usize {
        let state = self.lock();
        if state.is_open || state.source.is_some() {
            return most.max(1);
        }
        most.min(usize::try_from(state.total).unwrap_or(usize::MAX)).max(1)
    }

    /// How many splits are known so far.
    pub(super) fn total(&self) -> u64 {
        self.lock().total
    }

    /// How many bytes the splits have that are known so far.
    pub(super) fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    pub(super) fn filters(&self) -> &[Arc<JoinFilter>] {
        &self.filters
    }

    pub(super) fn source(&self) -> Result<Box<dyn Source>> {
        self.scan.source()
    }

    pub(super) fn pruned(&self) -> ScanMetrics {
        self.scan.pruned()
    }

    /// The next split, `None` when there are no more; pending when `waker` is woken once there may
    /// be one.
    pub(super) fn next(&self, waker: &Waker) -> Poll<Result<Option<Taken>>> {
        let mut state = self.lock();
        if state.source.is_some() && state.ready.len() < FEW_SPLITS {
            if state.ready.is_empty() {
                // Before the source is asked: it may wake at any time from then on.
                lock(&self.waiters).add(waker);
            }
            if let Err(error) = state.list(LISTED_LATER, &self.waker) {
                return Poll::Ready(Err(error));
            }
        }
        let Some((split, share, number)) = state.take() else {
            let is_last = state.source.is_none() && !state.is_open;
            if !is_last {
                lock(&self.waiters).add(waker);
                return Poll::Pending;
            }
            drop(state);
            self.wake_waiting();
            return Poll::Ready(Ok(None));
        };
        let following = state.ready.front().cloned();
        drop(state);
        if following.is_some() {
            self.wake_waiting();
        }
        Poll::Ready(Ok(Some(Taken { split, share, number, following })))
    }

    fn wake_waiting(&self) {
        let waiters = lock(&self.waiters).take();
        waiters.wake();
    }
}

impl SplitReceiver for SplitQueue {
    fn add(&self, splits: Vec<Split>) -> Result<()> {
        let mut state = self.lock();
        if !state.is_open {
            let message = format!("splits for plan node {} after its last ones", self.node);
            return Err(Error::invalid_query(message));
        }
        state.extend(splits);
        drop(state);
        self.wake_waiting();
        Ok(())
    }

    fn finish(&self) {
        self.lock().is_open = false;
        self.wake_waiting();
    }
}

impl State {
    fn extend(&mut self, splits: Vec<Split>) {
        self.total += splits.iter().map(|it| u64::from(it.readers_max.max(1))).sum::<u64>();
        self.bytes = splits.iter().map(bytes_of).fold(self.bytes, u64::saturating_add);
        self.ready.extend(splits);
    }

    /// Asks the connector for more, unless it has no more; whether it gave some.
    fn list(&mut self, max: usize, waker: &Waker) -> Result<bool> {
        let Some(source) = &mut self.source else { return Ok(false) };
        match source.next(max, waker)? {
            SplitStep::Splits(splits) => {
                self.extend(splits);
                return Ok(true);
            }
            SplitStep::Blocked => {}
            SplitStep::End => self.source = None,
        }
        Ok(false)
    }

    /// The first split and its number; it stays for as many drivers as can read it.
    fn take(&mut self) -> Option<(Split, SplitShare, u64)> {
        let (first, number) = (self.ready.front()?, self.taken);
        let share = self.share.get_or_insert_with(|| SplitShare::new(first)).clone();
        self.readers += 1;
        if self.readers < first.readers_max {
            return Some((first.clone(), share, number));
        }
        (self.readers, self.share) = (0, None);
        self.taken += 1;
        Some((self.ready.pop_front()?, share, number))
    }
}

impl Wake for QueueWaker {
    fn wake(self: Arc<Self>) {
        let waiters = lock(&self.0).take();
        waiters.wake();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
