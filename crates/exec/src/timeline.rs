//! What the drivers of a task did when, and what its query held meanwhile.
//!
//! A driver records one segment per visit of a thread, not per step. Segments are at least as long
//! as a *resolution*, which begins at 1 ms: shorter neighbors become one. A driver whose time line
//! is full doubles its resolution, so that its memory is bounded and the whole time is covered.

#[cfg(test)]
mod tests;

use crate::BlockedOn;
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use volley_memory::Pool;

/// The resolution of a new time line, in nanoseconds.
const RESOLUTION_NANOS: u64 = 1_000_000;

/// The most segments of a driver: 48 KiB at 24 bytes each.
const SEGMENTS_MAX: usize = 2048;

/// The most samples of memory of a task: 16 KiB at 16 bytes each.
const SAMPLES_MAX: usize = 1024;

/// What a driver does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DriverState {
    /// It is on a thread.
    Running,
    /// It frees memory.
    Spilling,
    /// It waits.
    Blocked(
        /// Why.
        BlockedOn,
    ),
}

/// A stretch of a driver's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSegment {
    /// What the driver did most of the time.
    pub state: DriverState,
    /// The position in the pipeline of the operator with the longest step, or of that which waits.
    pub position: usize,
    /// Since the start of the task.
    pub start: Duration,
    /// Since the start of the task; not before `start`.
    pub end: Duration,
}

/// The time line of one driver.
#[derive(Clone, Debug)]
pub struct DriverTimeline {
    /// The pipeline that it runs.
    pub pipeline: usize,
    /// Its number among the drivers of the pipeline.
    pub driver: usize,
    /// In the order of time, not overlapping. Between two segments the driver waits for a thread.
    pub segments: Vec<TimeSegment>,
}

/// What a query held at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySample {
    /// Since the start of the task.
    pub at: Duration,
    /// What the pool of the query held.
    pub bytes: usize,
}

/// What a task did when.
#[derive(Clone, Debug, Default)]
pub struct TaskTimeline {
    /// From the start of the task to the end of its last driver, or until now.
    pub elapsed: Duration,
    /// By pipeline and driver.
    pub drivers: Vec<DriverTimeline>,
    /// In the order of time.
    pub memory: Vec<MemorySample>,
}

/// What the drivers of a task write to.
#[derive(Debug)]
pub(crate) struct TimelineRecorder {
    start: Instant,
    pool: Pool,
    drivers: Mutex<Vec<Arc<DriverRecorder>>>,
    memory: Mutex<Samples>,
    /// Before this moment, no driver takes a sample.
    next_sample_nanos: AtomicU64,
    /// The latest end of a segment.
    end_nanos: AtomicU64,
}

/// What one driver writes to.
#[derive(Debug)]
pub(crate) struct DriverRecorder {
    pub(crate) pipeline: usize,
    driver: usize,
    has_ended: AtomicBool,
    has_begun: AtomicBool,
    task: Arc<TimelineRecorder>,
    segments: Mutex<Segments>,
}

#[derive(Debug)]
struct Segments {
    all: Vec<Segment>,
    resolution_nanos: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    state: DriverState,
    position: u16,
    start: u64,
    end: u64,
}

#[derive(Debug)]
struct Samples {
    all: Vec<(u64, usize)>,
    interval_nanos: u64,
}

impl TimelineRecorder {
    /// Of a task that starts now, and whose query holds what `pool` does.
    pub(crate) fn new(pool: Pool) -> Arc<TimelineRecorder> {
        Arc::new(TimelineRecorder {
            start: Instant::now(),
            pool,
            drivers: Mutex::default(),
            memory: Mutex::new(Samples { all: Vec::new(), interval_nanos: RESOLUTION_NANOS }),
            next_sample_nanos: AtomicU64::new(0),
            end_nanos: AtomicU64::new(0),
        })
    }

    /// Adds a driver.
    pub(crate) fn driver(
        self: &Arc<TimelineRecorder>,
        pipeline: usize,
        driver: usize,
    ) -> Arc<DriverRecorder> {
        let recorder = Arc::new(DriverRecorder {
            pipeline,
            driver,
            has_ended: AtomicBool::new(false),
            has_begun: AtomicBool::new(false),
            task: Arc::clone(self),
            segments: Mutex::new(Segments { all: Vec::new(), resolution_nanos: RESOLUTION_NANOS }),
        });
        lock(&self.drivers).push(Arc::clone(&recorder));
        recorder
    }

    /// Time since the start of the task until it ended; until now when it runs.
    pub(crate) fn elapsed(&self) -> Duration {
        let all_ended = lock(&self.drivers).iter().all(|it| it.has_ended());
        match all_ended {
            true => Duration::from_nanos(self.end_nanos.load(Ordering::Relaxed)),
            false => self.start.elapsed(),
        }
    }

    /// How many drivers a pipeline has, how many of them have begun, and how many have ended.
    pub(crate) fn drivers_of(&self, pipeline: usize) -> (usize, usize, usize) {
        let drivers = lock(&self.drivers);
        let of_pipeline = drivers.iter().filter(|it| it.pipeline == pipeline);
        of_pipeline.fold((0, 0, 0), |(all, begun, ended), it| {
            let begins = usize::from(it.has_begun.load(Ordering::Relaxed));
            (all + 1, begun + begins, ended + usize::from(it.has_ended()))
        })
    }

    /// All that was recorded so far.
    pub(crate) fn timeline(&self) -> TaskTimeline {
        let elapsed = self.elapsed();
        let drivers = lock(&self.drivers).iter().map(|it| it.timeline()).collect();
        let samples = lock(&self.memory).all.clone();
        let sample =
            |(at, bytes): (u64, usize)| MemorySample { at: Duration::from_nanos(at), bytes };
        TaskTimeline { elapsed, drivers, memory: samples.into_iter().map(sample).collect() }
    }

    fn nanos(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.start).as_nanos()).unwrap_or(u64::MAX)
    }

    /// Notes what the query holds, unless that was done a moment ago.
    fn sample(&self, now: u64) {
        if now < self.next_sample_nanos.load(Ordering::Relaxed) {
            return;
        }
        // Another driver may be at it.
        let Ok(mut samples) = self.memory.try_lock() else { return };
        samples.push(now, self.pool.stats().bytes);
        self.next_sample_nanos.store(now + samples.interval_nanos, Ordering::Relaxed);
    }
}

impl DriverRecorder {
    /// Records what the driver did from `start` to `end`.
    pub(crate) fn record(&self, state: DriverState, position: usize, start: Instant, end: Instant) {
        let (start, end) = (self.task.nanos(start), self.task.nanos(end));
        let position = u16::try_from(position).unwrap_or(u16::MAX);
        lock(&self.segments).push(Segment { state, position, start, end });
        self.has_begun.store(true, Ordering::Relaxed);
        self.task.end_nanos.fetch_max(end, Ordering::Relaxed);
        self.task.sample(end);
    }

    /// Notes that the driver takes no further steps.
    pub(crate) fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }

    fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    fn timeline(&self) -> DriverTimeline {
        let segment = |it: &Segment| TimeSegment {
            state: it.state,
            position: usize::from(it.position),
            start: Duration::from_nanos(it.start),
            end: Duration::from_nanos(it.end),
        };
        let segments = lock(&self.segments).all.iter().map(segment).collect();
        DriverTimeline { pipeline: self.pipeline, driver: self.driver, segments }
    }
}

impl Segments {
    fn push(&mut self, new: Segment) {
        if let Some(last) = self.all.last_mut()
            && last.absorbs(&new, self.resolution_nanos)
        {
            return;
        }
        while self.all.len() >= SEGMENTS_MAX {
            self.coarsen();
        }
        self.all.push(new);
    }

    /// Doubles the resolution.
    fn coarsen(&mut self) {
        self.resolution_nanos = self.resolution_nanos.saturating_mul(2);
        let mut kept: Vec<Segment> = Vec::with_capacity(SEGMENTS_MAX);
        for segment in self.all.drain(..) {
            let last = kept.last_mut();
            if !last.is_some_and(|it| it.absorbs(&segment, self.resolution_nanos)) {
                kept.push(segment);
            }
        }
        self.all = kept;
    }
}

impl Segment {
    /// Extends this segment by the one that follows, if it is the same or both are short.
    fn absorbs(&mut self, next: &Segment, resolution_nanos: u64) -> bool {
        let is_same = self.state == next.state && self.position == next.position;
        let is_near = next.start.saturating_sub(self.end) < resolution_nanos;
        let is_short = next.end.saturating_sub(self.start) <= resolution_nanos;
        if !(is_same && is_near || is_short) {
            return false;
        }
        if next.end.saturating_sub(next.start) > self.end.saturating_sub(self.start) {
            (self.state, self.position) = (next.state, next.position);
        }
        self.end = self.end.max(next.end);
        true
    }
}

impl Samples {
    fn push(&mut self, at: u64, bytes: usize) {
        if self.all.len() >= SAMPLES_MAX {
            // Of two neighbors, the one that held more.
            let pairs = self.all.chunks(2);
            let larger = pairs.filter_map(|pair| pair.iter().copied().max_by_key(|it| it.1));
            self.all = larger.collect();
            self.interval_nanos = self.interval_nanos.saturating_mul(2);
        }
        self.all.push((at, bytes));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
