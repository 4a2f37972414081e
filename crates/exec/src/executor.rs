//! The CPU pool: threads that take drivers from one queue, first come, first served.
//!
//! A driver runs for a quantum and goes to the end of the queue, so that all runnable drivers of
//! all tasks advance at the same pace. A blocked driver is not in the queue.

use crate::driver::Driver;
use std::{
    collections::VecDeque,
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

/// Drivers that are ready to run.
#[derive(Default)]
pub(crate) struct RunQueue {
    state: Mutex<QueueState>,
    arrived: Condvar,
}

#[derive(Default)]
struct QueueState {
    ready: VecDeque<Arc<Driver>>,
    shut_down: bool,
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

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs drivers until shutdown.
    fn work(&self) {
        while let Some(driver) = self.pop() {
            driver.run();
        }
    }

    fn pop(&self) -> Option<Arc<Driver>> {
        let mut state = self.lock();
        loop {
            if let Some(driver) = state.ready.pop_front() {
                return Some(driver);
            }
            if state.shut_down {
                return None;
            }
            state = self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
