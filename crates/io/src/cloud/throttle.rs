//! How many requests of one store run at the same time, and how long they take.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most requests at the same time.
pub(super) const REQUESTS_MAX: usize = 64;

/// The fewest, however often the store says that it is too busy.
const REQUESTS_MIN: usize = 4;

/// After this many answers the bound grows by one again.
const ANSWERS_TO_GROW: u64 = 64;

/// Requests whose durations are remembered.
const REMEMBERED: usize = 128;

/// With fewer durations known, a straggler is not told from others.
const KNOWN_MIN: usize = 16;

/// A second request is never sent before this.
const STRAGGLER_MIN: Duration = Duration::from_millis(200);

/// Bounds the requests of a store. The bound is halved when the store says that it is too busy, and
/// grows again with the answers after that.
#[derive(Debug)]
pub(super) struct Throttle {
    permits: Arc<Semaphore>,
    bound: AtomicUsize,
    answers: AtomicU64,
    latencies: Mutex<Latencies>,
}

/// Durations of the last reads, as a ring.
#[derive(Debug, Default)]
struct Latencies {
    next: usize,
    /// Until the first byte, and the bytes per microsecond after that.
    reads: Vec<(Duration, f64)>,
}

impl Throttle {
    pub fn new() -> Throttle {
        Throttle {
            permits: Arc::new(Semaphore::new(REQUESTS_MAX)),
            bound: AtomicUsize::new(REQUESTS_MAX),
            answers: AtomicU64::new(0),
            latencies: Mutex::default(),
        }
    }

    /// Waits until another request may run.
    pub async fn acquire(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed.
        Arc::clone(&self.permits).acquire_owned().await.ok()
    }

    /// An answer that is not about load.
    pub fn answered(&self) {
        let answers = self.answers.fetch_add(1, Ordering::Relaxed) + 1;
        let bound = self.bound.load(Ordering::Relaxed);
        if answers.is_multiple_of(ANSWERS_TO_GROW) && bound < REQUESTS_MAX {
            let grown = (bound, bound + 1);
            let order = Ordering::Relaxed;
            if self.bound.compare_exchange(grown.0, grown.1, order, order).is_ok() {
                self.permits.add_permits(1);
            }
        }
    }

    /// The store says that it is too busy.
    pub fn too_busy(&self) {
        let bound = self.bound.load(Ordering::Relaxed);
        let wanted = (bound / 2).max(REQUESTS_MIN);
        // Permits in use are not taken away: those that are free are.
        let forgotten = self.permits.forget_permits(bound.saturating_sub(wanted));
        self.bound.fetch_sub(forgotten, Ordering::Relaxed);
    }

    /// Remembers how long a read took.
    pub fn finished(&self, first_byte: Duration, rest: Duration, bytes: u64) {
        let rate = bytes as f64 / rest.as_micros().max(1) as f64;
        let mut known = self.latencies.lock().unwrap_or_else(PoisonError::into_inner);
        let next = known.next;
        match known.reads.get_mut(next) {
            Some(old) => *old = (first_byte, rate),
            None => known.reads.push((first_byte, rate)),
        }
        known.next = (next + 1) % REMEMBERED;
    }

    /// After which time a read of `bytes` is a straggler: twice what 95 of 100 reads need. `None`
    /// while too little is known.
    pub fn straggles_after(&self, bytes: u64) -> Option<Duration> {
        let known = self.latencies.lock().unwrap_or_else(PoisonError::into_inner);
        if known.reads.len() < KNOWN_MIN {
            return None;
        }
        let mut first_bytes: Vec<Duration> = known.reads.iter().map(|it| it.0).collect();
        let mut rates: Vec<f64> = known.reads.iter().map(|it| it.1).collect();
        drop(known);
        first_bytes.sort_unstable();
        rates.sort_unstable_by(f64::total_cmp);
        let slow = first_bytes.get(first_bytes.len() * 95 / 100)?;
        let rate = rates.get(rates.len() * 5 / 100)?.max(0.001);
        let body = Duration::from_micros((bytes as f64 / rate) as u64);
        Some((2 * (*slow + body)).max(STRAGGLER_MIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_halved_and_grows_again() {
        let throttle = Throttle::new();
        for bound in [32, 16, 8, 4, 4] {
            throttle.too_busy();
            assert_eq!(throttle.bound.load(Ordering::Relaxed), bound);
            assert_eq!(throttle.permits.available_permits(), bound);
        }
        (0..3 * ANSWERS_TO_GROW).for_each(|_| throttle.answered());
        assert_eq!(throttle.permits.available_permits(), 7);
    }

    #[test]
    fn stragglers_are_told_by_the_durations_of_others() {
        let throttle = Throttle::new();
        for read in 0..KNOWN_MIN as u64 {
            assert_eq!(throttle.straggles_after(1000), None);
            let first_byte = Duration::from_millis(30 + read);
            throttle.finished(first_byte, Duration::from_micros(100), 1000);
        }
        assert_eq!(throttle.straggles_after(1000), Some(STRAGGLER_MIN));
        // 10 bytes in a microsecond.
        let long = throttle.straggles_after(10_000_000).unwrap();
        assert_eq!(long, 2 * Duration::from_micros(45_000 + 1_000_000));
        let often = 3 * REMEMBERED;
        (0..often).for_each(|_| throttle.finished(Duration::from_secs(1), Duration::ZERO, 1));
        assert!(throttle.straggles_after(0).unwrap() >= Duration::from_secs(2));
    }
}
