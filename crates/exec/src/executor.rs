//! The CPU pool: threads that take drivers from one queue.
//!
//! A driver runs for a quantum and goes back to the queue, in which tasks take turns by their
//! priority (`executor/turns.rs`). A blocked driver is not in the queue.
//!
//! The same threads free the memory of cancelled drivers, in turn with the tasks: freeing gigabytes
//! takes longer than a user should wait for the end of a query.

mod priority;
mod timer;
mod turns;

use crate::chain::Chain;
pub use priority::Priority;
use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
pub(crate) use timer::{Alarm, Timer};
use turns::Turns;
use volley_error::{Error, ErrorKind, Result};
use volley_memory::CancellationToken;

/// How long a driver keeps its thread while others wait for it.
pub(crate) const QUANTUM: Duration = Duration::from_millis(5);

/// The interval at which a waiter for released memory checks whether waiting still helps.
const RELEASE_LOOK: Duration = Duration::from_millis(10);

/// Threads that run drivers. Cheap to clone; the threads end with the last clone.
#[derive(Clone)]
pub struct Executor(Arc<Threads>);

struct Threads {
    queue: Arc<RunQueue>,
    handles: Mutex<Vec<JoinHandle<()>>>,
    count: usize,
    timer: Arc<Timer>,
    /// The process that made them.
    process: u32,
}

/// What the threads do next.
pub(crate) struct RunQueue {
    state: Mutex<QueueState>,
    arrived: Condvar,
    /// Signalled when the last discarded chain is gone.
    released: Condvar,
}

struct QueueState {
    ready: Turns<Work>,
    /// The id under which chains of ended tasks take turns.
    releases: u64,
    /// Such chains that still hold memory: those waiting and those being dropped now.
    unreleased: usize,
    shut_down: bool,
}

/// What a thread runs for a quantum: a driver.
pub(crate) trait Run: Send + Sync {
    /// Runs, if it is still in the queue; puts itself back when there is more to do.
    fn run(self: Arc<Self>);
}

/// One turn.
enum Work {
    Run(Arc<dyn Run>),
    Release(Box<Chain>),
}

/// A task's right to run drivers on the threads of an executor.
pub(crate) struct Share {
    queue: Arc<RunQueue>,
    number: u64,
}

impl Executor {
    /// Starts `threads` threads, at least one.
    ///
    /// # Errors
    ///
    /// I/O, when the system refuses a thread.
    pub fn new(threads: usize) -> Result<Executor> {
        let count = threads.max(1);
        let queue = Arc::new(RunQueue::new());
        let executor = Executor(Arc::new(Threads {
            queue: Arc::clone(&queue),
            handles: Mutex::new(Vec::with_capacity(count)),
            count,
            timer: Arc::default(),
            process: std::process::id(),
        }));
        for index in 0..count {
            let queue = Arc::clone(&queue);
            let handle = thread::Builder::new()
                .name(format!("driver-{index}"))
                .spawn(move || queue.work())
                .map_err(|it| Error::new(ErrorKind::Io, "no thread to be had").caused_by(it))?;
            executor.0.handles.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
        }
        Ok(executor)
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.0.count
    }

    /// Waits until all memory of cancelled tasks is released. Not for the threads of the executor
    /// itself.
    pub fn wait_released(&self) {
        let queue = &self.0.queue;
        let mut state = queue.lock();
        while state.unreleased > 0 {
            state = queue.released.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// As [`Executor::wait_released`], for a query that may be cancelled, or out of time, before.
    pub(crate) fn wait_released_for(&self, query: &CancellationToken) -> Result<()> {
        let queue = &self.0.queue;
        let mut state = queue.lock();
        while state.unreleased > 0 {
            query.check()?;
            let waited = queue.released.wait_timeout(state, RELEASE_LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    /// Lets a task take part.
    pub(crate) fn join(&self, priority: Priority) -> Share {
        let queue = Arc::clone(&self.0.queue);
        let number = queue.lock().ready.join(priority.weight());
        Share { queue, number }
    }

    pub(crate) fn timer(&self) -> &Arc<Timer> {
        &self.0.timer
    }
}

impl Share {
    /// Lets a driver of the task run when it is its turn.
    pub(crate) fn push(&self, driver: Arc<dyn Run>) {
        let pushed = self.queue.lock().ready.push(self.number, Work::Run(driver));
        debug_assert!(pushed.is_ok(), "the share of the task is gone");
        self.queue.arrived.notify_one();
    }

    /// Lets the task's drivers run before those of others from now on.
    pub(crate) fn hurry(&self) {
        self.queue.lock().ready.hurry(self.number);
    }

    /// Takes a chain that is not run any more, to drop it when there is time.
    pub(crate) fn discard(&self, chain: Chain) {
        let mut state = self.queue.lock();
        let releases = state.releases;
        let pushed = state.ready.push(releases, Work::Release(Box::new(chain)));
        debug_assert!(pushed.is_ok(), "releases take no turns");
        state.unreleased += 1;
        drop(state);
        self.queue.arrived.notify_one();
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let left = self.queue.lock().ready.leave(self.number);
        // After the lock is released: dropping a driver may take it again.
        drop(left);
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // A fork has no threads to wait for; the handles are those of another process.
            let handles = self.handles.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(std::mem::take(handles));
            return;
        }
        self.timer.shut_down();
        self.queue.lock().shut_down = true;
        self.queue.arrived.notify_all();
        let handles =
            std::mem::take(self.handles.get_mut().unwrap_or_else(PoisonError::into_inner));
        for handle in handles {
            // The last clone may go on one of our own threads, which cannot wait for itself.
            if handle.thread().id() != thread::current().id() {
                let _ = handle.join();
            }
        }
    }
}

impl RunQueue {
    fn new() -> RunQueue {
        let mut ready = Turns::new(QUANTUM);
        let releases = ready.join(Priority::Normal.weight());
        let state = QueueState { ready, releases, unreleased: 0, shut_down: false };
        RunQueue { state: Mutex::new(state), arrived: Condvar::new(), released: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs drivers until shutdown.
    fn work(&self) {
        let mut ran = None;
        while let Some((task, work)) = self.pop(ran.take()) {
            let start = Instant::now();
            match work {
                Work::Run(driver) => driver.run(),
                Work::Release(chain) => self.release(*chain),
            }
            ran = Some((task, start.elapsed()));
        }
    }

    fn release(&self, mut chain: Chain) {
        // The task has ended, so that a panic cannot be reported.
        let _ = chain.dismantle();
        drop(chain);
        let mut state = self.lock();
        state.unreleased -= 1;
        if state.unreleased == 0 {
            self.released.notify_all();
        }
    }

    /// What to do next and for which task, after what was done for the task `ran.0` took so long.
    fn pop(&self, ran: Option<(u64, Duration)>) -> Option<(u64, Work)> {
        let mut state = self.lock();
        if let Some((task, time)) = ran {
            state.ready.charge(task, time);
        }
        loop {
            if let Some(next) = state.ready.pop() {
                return Some(next);
            }
            if state.shut_down {
                return None;
            }
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
