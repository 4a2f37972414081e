//! A driver: one chain of operators and its state in the scheduler.
//!
//! ```text
//!            wake             pop             blocked
//!   Idle ──────────> Queued ───────> Running ─────────> Idle
//!                      ^               │ │ wake
//!                      │ quantum over  │ └──> Notified ── blocked or quantum over ──> Queued
//!                      └───────────────┘
//!   Running, Notified ── finished or failed ──> Done
//!   Idle, Queued ── cancelled ──> Done
//! ```
//!
//! The thread that cancels a task ends the drivers that are on no thread, since all threads may be
//! at long steps of other tasks. Drivers that are still in the queue then are not run.
//!
//! While its task is paused, a driver only checks whether it must spill, and is idle then. When the
//! task resumes, all drivers are woken.
//!
//! A wake while the driver runs is remembered (`Notified`): a driver that then says it is blocked
//! goes back to the queue at once. A wake of a queued driver does nothing: the event happened
//! before, and the driver checks for it after it has set its state to running, with a fence between
//! them on either side. Therefore no wake is lost, and no driver is in the queue twice.

use crate::{
    chain::{Chain, Progress},
    executor::{QUANTUM, Run},
    task::{TaskDriver, TaskShared},
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU8, Ordering, fence},
    },
    task::{Wake, Waker},
};
use volley_error::Result;
use volley_memory::with_cancellation;

const IDLE: u8 = 0;
const QUEUED: u8 = 1;
const RUNNING: u8 = 2;
const NOTIFIED: u8 = 3;
const DONE: u8 = 4;

/// One driver of a pipeline.
pub(crate) struct Driver {
    state: AtomicU8,
    /// Locked by the thread that runs the driver; `None` once it is done.
    chain: Mutex<Option<Chain>>,
    task: Arc<TaskShared>,
    pipeline: usize,
}

impl Driver {
    /// A driver that is idle until it is woken for the first time.
    pub(crate) fn new(chain: Chain, task: Arc<TaskShared>, pipeline: usize) -> Driver {
        let (state, chain) = (AtomicU8::new(IDLE), Mutex::new(Some(chain)));
        Driver { state, chain, task, pipeline }
    }

    fn run_chain(self: &Arc<Self>) -> Result<Progress> {
        let waker = Waker::from(Arc::clone(self));
        let mut guard = self.chain.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(chain) = guard.as_mut() else { return Ok(Progress::Finished) };
        if self.task.is_stopped() {
            return Ok(Progress::Finished);
        }
        let interrupted = || self.task.is_stopped() || self.task.is_paused();
        let run = || match self.task.is_paused() {
            true => chain.rest(&waker).map(|()| Progress::Blocked),
            false => chain.run(&waker, QUANTUM, &interrupted),
        };
        let caught = || catch_unwind(AssertUnwindSafe(run));
        let result = with_cancellation(self.task.cancellation(), caught);
        result.unwrap_or_else(|panic| Err(self.task.panic_error(chain.current(), &*panic)))
    }

    fn requeue(self: Arc<Self>) {
        self.state.store(QUEUED, Ordering::Release);
        let task = Arc::clone(&self.task);
        task.share().push(self);
    }

    fn park(self: Arc<Self>) {
        let idle = self.state.compare_exchange(RUNNING, IDLE, Ordering::AcqRel, Ordering::Acquire);
        if idle.is_err() {
            self.requeue();
        }
    }

    fn end(&self) {
        self.state.store(DONE, Ordering::Release);
        let chain = self.chain.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut chain) = chain {
            chain.record_end();
            if self.task.is_cancelled() {
                // Cancelling does not wait until the memory is released.
                chain.abort();
                self.task.share().discard(chain);
            } else if let Err((operator, panic)) = chain.dismantle() {
                self.task.fail(self.task.panic_error(operator, &*panic).at("in", "drop"));
            }
        }
        self.task.driver_ended(self.pipeline);
    }
}

impl TaskDriver for Driver {
    fn pipeline(&self) -> usize {
        self.pipeline
    }

    fn schedule(self: Arc<Self>) {
        // Either the driver sees what was changed before, or here it is seen to run already.
        fence(Ordering::SeqCst);
        let next = |state| match state {
            IDLE => Some(QUEUED),
            RUNNING => Some(NOTIFIED),
            _ => None,
        };
        let previous = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        if previous == Ok(IDLE) {
            let task = Arc::clone(&self.task);
            task.share().push(self);
        }
    }

    fn wait_off_thread(&self) {
        drop(self.chain.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn end_off_thread(&self) {
        let next = |state| matches!(state, IDLE | QUEUED).then_some(DONE);
        if self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok() {
            self.end();
        }
    }
}

impl Run for Driver {
    fn run(self: Arc<Self>) {
        let queued =
            self.state.compare_exchange(QUEUED, RUNNING, Ordering::AcqRel, Ordering::Acquire);
        if queued.is_err() {
            return;
        }
        fence(Ordering::SeqCst);
        match self.run_chain() {
            Ok(_) if self.task.is_stopped() => self.end(),
            Ok(Progress::Ready) => self.requeue(),
            Ok(Progress::Blocked) => self.park(),
            Ok(Progress::Finished) => self.end(),
            Err(error) => {
                // Before anything is dropped: code that observes the drop of this driver's
                // operators must see that the task failed.
                self.task.fail(error);
                self.end();
            }
        }
    }
}

impl Wake for Driver {
    fn wake(self: Arc<Self>) {
        self.schedule();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        Arc::clone(self).schedule();
    }
}
