//! A driver: one chain of operators and its place in the scheduler.
//!
//! ```text
//!            wake             pop             blocked
//!   Idle ──────────> Queued ───────> Running ─────────> Idle
//!                      ^               │ │ wake
//!                      │ quantum over  │ └──> Notified ── blocked or quantum over ──> Queued
//!                      └───────────────┘
//!   Running, Notified ── finished or failed ──> Done
//! ```
//!
//! A wake while the driver runs is remembered (`Notified`): a driver that then says it is blocked
//! goes back to the queue at once. So no wake is lost, and no driver is in the queue twice.

use crate::{
    chain::{Chain, Progress},
    executor::RunQueue,
    task::TaskShared,
};
use std::{
    any::Any,
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    task::{Wake, Waker},
    time::Duration,
};
use volley_error::{Error, Result};

thread_local! {
    /// The task whose driver runs on this thread.
    static CURRENT: RefCell<Option<Arc<TaskShared>>> = const { RefCell::new(None) };
}

/// Fails when nobody wants the result of the running driver any more. For loops within a step that
/// cannot be cut into steps, such as the growth of a hash table; costs some nanoseconds.
///
/// # Errors
///
/// Cancelled.
pub(crate) fn check_stopped() -> Result<()> {
    let is_stopped = CURRENT.with_borrow(|it| it.as_ref().is_some_and(|task| task.is_stopped()));
    if is_stopped { Err(Error::cancelled()) } else { Ok(()) }
}

/// How long a driver keeps its thread while others wait for it.
const QUANTUM: Duration = Duration::from_millis(5);

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
    queue: Arc<RunQueue>,
    task: Arc<TaskShared>,
    pipeline: usize,
}

impl Driver {
    /// A driver that is idle until it is woken for the first time.
    pub(crate) fn new(
        chain: Chain,
        queue: Arc<RunQueue>,
        task: Arc<TaskShared>,
        pipeline: usize,
    ) -> Driver {
        let (state, chain) = (AtomicU8::new(IDLE), Mutex::new(Some(chain)));
        Driver { state, chain, queue, task, pipeline }
    }

    /// Which pipeline it belongs to.
    pub(crate) fn pipeline(&self) -> usize {
        self.pipeline
    }

    /// Makes the driver run, now or as soon as it is off its thread.
    pub(crate) fn schedule(self: &Arc<Self>) {
        let next = |state| match state {
            IDLE => Some(QUEUED),
            RUNNING => Some(NOTIFIED),
            _ => None,
        };
        let previous = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
        if previous == Ok(IDLE) {
            self.queue.push(Arc::clone(self));
        }
    }

    /// Runs for a quantum. Called by a thread of the pool that took the driver from the queue.
    pub(crate) fn run(self: Arc<Self>) {
        self.state.store(RUNNING, Ordering::Release);
        match self.run_chain() {
            Ok(Progress::Ready) => self.requeue(),
            Ok(Progress::Blocked) => self.park(),
            Ok(Progress::Finished) => self.end(),
            Err(error) => {
                // Before anything is dropped: whoever sees this driver's operators go must be able
                // to see that the task failed.
                self.task.fail(error);
                self.end();
            }
        }
    }

    fn run_chain(self: &Arc<Self>) -> Result<Progress> {
        let waker = Waker::from(Arc::clone(self));
        let mut guard = self.chain.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(chain) = guard.as_mut() else { return Ok(Progress::Finished) };
        if self.task.is_stopped() {
            return Ok(Progress::Finished);
        }
        let stopped = || self.task.is_stopped();
        CURRENT.set(Some(Arc::clone(&self.task)));
        let result = catch_unwind(AssertUnwindSafe(|| chain.run(&waker, QUANTUM, &stopped)));
        CURRENT.set(None);
        result.unwrap_or_else(|panic| Err(panic_error(chain.current(), &*panic)))
    }

    fn requeue(self: Arc<Self>) {
        self.state.store(QUEUED, Ordering::Release);
        let queue = Arc::clone(&self.queue);
        queue.push(self);
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
        // An operator whose drop panics must not take the thread along.
        let dropped = catch_unwind(AssertUnwindSafe(|| match chain {
            // Whoever cancels does not wait until the memory is given back.
            Some(mut chain) if self.task.is_cancelled() => {
                chain.withdraw();
                self.queue.discard(chain);
            }
            chain => drop(chain),
        }));
        if let Err(panic) = dropped {
            self.task.fail(panic_error("drop of operators", &*panic));
        }
        self.task.driver_ended(self.pipeline);
    }
}

impl Wake for Driver {
    fn wake(self: Arc<Self>) {
        self.schedule();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.schedule();
    }
}

fn panic_error(operator: &str, panic: &(dyn Any + Send)) -> Error {
    let message = panic
        .downcast_ref::<&str>()
        .map(|it| (*it).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panic".to_owned());
    Error::internal(format!("panic: {message}")).at("operator", operator)
}
