//! The CPU pool: threads that take drivers from one queue, first come, first served.
//!
//! A driver runs for a quantum and goes to the end of the queue, so that all runnable drivers of
//! all tasks advance at the same pace. A blocked driver is not in the queue.
//!
//! What cancelled drivers held is given back by the same threads, behind the drivers that can run:
//! gigabytes take longer to free than a user should wait for the end of a query.

use crate::{chain::Chain, driver::Driver};
use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
};
use volley_error::{Error, ErrorKind, Result};

/// Threads that run drivers. Cheap to clone; the threads end with the last clone.
#[derive(Clone)]
pub struct Executor(Arc<Threads>);

struct Threads {
    queue: Arc<RunQueue>,
    handles: Mutex<Vec<JoinHandle<()>>>,
    count: usize,
}

/// One chain is released for this many runs of drivers, when there are always drivers to run.
const RUNS_PER_RELEASE: usize = 16;

/// Drivers that are ready to run, and chains that nobody needs any more.
#[derive(Default)]
pub(crate) struct RunQueue {
    state: Mutex<QueueState>,
    arrived: Condvar,
    /// Signalled when the last discarded chain is gone.
    released: Condvar,
}

#[derive(Default)]
struct QueueState {
    ready: VecDeque<Arc<Driver>>,
    discarded: Vec<Chain>,
    /// Discarded chains that still hold memory: those waiting and those being dropped now.
    unreleased: usize,
    /// Drivers taken since a chain was.
    runs: usize,
    shut_down: bool,
}

/// What a thread does next.
enum Work {
    Run(Arc<Driver>),
    Release(Chain),
}

impl Executor {
    /// Starts `threads` threads, at least one.
    ///
    /// # Errors
    ///
    /// I/O, when the system refuses a thread.
    pub fn new(threads: usize) -> Result<Executor> {
        let count = threads.max(1);
        let queue = Arc::new(RunQueue::default());
        let executor = Executor(Arc::new(Threads {
            queue: Arc::clone(&queue),
            handles: Mutex::new(Vec::with_capacity(count)),
            count,
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

    /// Waits until everything that cancelled tasks held is given back. Not for the threads of the
    /// executor itself.
    pub fn wait_released(&self) {
        let queue = &self.0.queue;
        let mut state = queue.lock();
        while state.unreleased > 0 {
            state = queue.released.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn queue(&self) -> &Arc<RunQueue> {
        &self.0.queue
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
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
    /// Appends a driver.
    pub(crate) fn push(&self, driver: Arc<Driver>) {
        self.lock().ready.push_back(driver);
        self.arrived.notify_one();
    }

    /// Takes a chain that is not run any more, to drop it when there is time.
    pub(crate) fn discard(&self, chain: Chain) {
        let mut state = self.lock();
        state.unreleased += 1;
        state.discarded.push(chain);
        drop(state);
        self.arrived.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs drivers until shutdown.
    fn work(&self) {
        while let Some(work) = self.pop() {
            match work {
                Work::Run(driver) => driver.run(),
                Work::Release(chain) => self.release(chain),
            }
        }
    }

    fn release(&self, chain: Chain) {
        // The task has ended, so nobody is left to be told of a panic; the thread must go on.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(chain)));
        let mut state = self.lock();
        state.unreleased -= 1;
        if state.unreleased == 0 {
            self.released.notify_all();
        }
    }

    fn pop(&self) -> Option<Work> {
        let mut state = self.lock();
        loop {
            let is_turn = state.ready.is_empty() || state.runs >= RUNS_PER_RELEASE;
            if let Some(chain) = state.discarded.pop_if(|_| is_turn) {
                state.runs = 0;
                return Some(Work::Release(chain));
            }
            if let Some(driver) = state.ready.pop_front() {
                state.runs += 1;
                return Some(Work::Run(driver));
            }
            if state.shut_down {
                return None;
            }
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
