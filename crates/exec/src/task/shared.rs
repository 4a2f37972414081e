//! The shared state of a task: drivers and owner.

use crate::{
    TaskOutput,
    executor::{Alarm, Share, Timer},
    result_queue::ResultQueue,
};
use std::{
    any::Any,
    fmt,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use volley_error::{Error, ErrorKind, Result};
use volley_memory::{CancelHook, CancellationToken};
use volley_plan::PlanNode;

/// The most bytes of a plan's text in an error.
const PLAN_BYTES_MAX: usize = 4000;

/// Where the rows of the last pipeline go.
#[derive(Clone)]
pub(crate) enum Output {
    Results(Arc<ResultQueue>),
    Elsewhere(Arc<dyn TaskOutput>),
}

impl Output {
    fn close(&self, outcome: Result<()>) {
        match self {
            Output::Results(results) => results.close(outcome),
            Output::Elsewhere(output) => output.close(outcome),
        }
    }
}

/// What ends a task from outside. Dropped with the task.
pub(super) struct Ending {
    _hook: CancelHook,
    _alarm: Option<Alarm>,
}

/// What drivers and the task's owner share.
pub(crate) struct TaskShared {
    /// A child of the query's. It is cancelled once drivers should end, for whatever reason.
    cancellation: CancellationToken,
    /// Whether the end was requested from outside: then memory may be released after it.
    cancelled: AtomicBool,
    paused: AtomicBool,
    output: Output,
    outcome: OnceLock<Result<()>>,
    plan: Arc<PlanNode>,
    share: Share,
    progress: Mutex<Progress>,
    /// Signalled when the last driver has ended.
    idle: Condvar,
}

#[derive(Default)]
struct Progress {
    /// Drivers that have not ended, in all and in the pipeline that makes the result.
    live: usize,
    live_in_last: usize,
    last_pipeline: usize,
    drivers: Vec<Arc<dyn TaskDriver>>,
}

/// A driver, as its task sees it.
pub(crate) trait TaskDriver: Send + Sync {
    /// Which pipeline it belongs to.
    fn pipeline(&self) -> usize;

    /// Makes the driver run, now or as soon as it is off its thread.
    fn schedule(self: Arc<Self>);

    /// Waits for the end of the step that the driver takes now, if it takes one.
    fn wait_off_thread(&self);

    /// Ends the driver, whose task was cancelled, unless it is on a thread: there it ends soon.
    fn end_off_thread(&self);
}

impl TaskShared {
    pub(super) fn new(
        output: &Output,
        plan: &Arc<PlanNode>,
        cancellation: CancellationToken,
        share: Share,
    ) -> Arc<TaskShared> {
        Arc::new(TaskShared {
            cancellation,
            cancelled: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            output: output.clone(),
            outcome: OnceLock::new(),
            plan: Arc::clone(plan),
            share,
            progress: Mutex::default(),
            idle: Condvar::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The queue of the result, if the rows go to the owner.
    pub(super) fn results(&self) -> Option<&ResultQueue> {
        match &self.output {
            Output::Results(results) => Some(results),
            Output::Elsewhere(_) => None,
        }
    }

    /// How the task ended.
    pub(super) fn outcome(&self) -> Option<Result<()>> {
        self.outcome.get().cloned()
    }

    /// The task's place on the threads.
    pub(crate) fn share(&self) -> &Share {
        &self.share
    }

    pub(super) fn launch(&self, drivers: Vec<Arc<dyn TaskDriver>>, last_pipeline: usize) {
        let in_last = drivers.iter().filter(|it| it.pipeline() == last_pipeline).count();
        let mut progress = self.lock();
        progress.live = drivers.len();
        progress.live_in_last = in_last;
        progress.last_pipeline = last_pipeline;
        progress.drivers.clone_from(&drivers);
        drop(progress);
        drivers.into_iter().for_each(|it| it.schedule());
    }

    /// Ends the task when `query` is cancelled, and sets an alarm that cancels it at its deadline:
    /// drivers that wait make no checks.
    pub(super) fn end_with(
        self: &Arc<Self>,
        query: &CancellationToken,
        timer: &Arc<Timer>,
    ) -> Result<Ending> {
        let shared = Arc::downgrade(self);
        let hook = query.on_cancel(move |cause| {
            if let Some(shared) = shared.upgrade() {
                shared.give_up(cause.clone());
            }
        });
        let alarm = query.deadline().map(|deadline| {
            let query = query.clone();
            timer.set(deadline.at, move || query.cancel_with(deadline.error()))
        });
        Ok(Ending { _hook: hook, _alarm: alarm.transpose()? })
    }

    /// The token of the task's work.
    pub(crate) fn cancellation(&self) -> &CancellationToken {
        &self.cancellation
    }

    /// Whether drivers should give up: the task failed, was cancelled, or its result is complete.
    pub(crate) fn is_stopped(&self) -> bool {
        self.cancellation.is_cancelled()
    }

    /// Whether the end of the task was requested from outside.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Whether drivers should take no steps now.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused.load(Ordering::Acquire)
    }

    pub(super) fn cancel(&self) {
        self.give_up(Error::cancelled());
    }

    /// Ends the task from outside, unless it has ended already.
    fn give_up(&self, error: Error) {
        self.cancelled.store(true, Ordering::Release);
        self.fail(error);
    }

    /// Ends the task with an error, unless it has ended already.
    pub(crate) fn fail(&self, error: Error) {
        // An operator may notice the deadline before the alarm does.
        if error.kind() == ErrorKind::TimedOut {
            self.cancelled.store(true, Ordering::Release);
        }
        self.stop(Err(error));
    }

    fn stop(&self, outcome: Result<()>) {
        // The outcome first: a driver that ends because of the flag must not be mistaken for one
        // that has emitted everything.
        if self.outcome.set(outcome.clone()).is_ok() {
            self.output.close(outcome);
        }
        self.cancellation.cancel();
        self.share.hurry();
        // Drivers that wait must come to their end, too.
        if self.is_cancelled() {
            let drivers = self.lock().drivers.clone();
            drivers.iter().for_each(|it| it.end_off_thread());
        }
        self.schedule_all();
    }

    pub(super) fn pause(&self) {
        self.paused.store(true, Ordering::Release);
        // Those that wait for memory stop doing so: others may have to wait for them.
        self.schedule_all();
    }

    pub(super) fn resume(&self) {
        self.paused.store(false, Ordering::Release);
        // What they waited for may have come.
        self.schedule_all();
    }

    /// Waits for the steps that have begun.
    pub(super) fn wait_off_threads(&self) {
        let drivers = self.lock().drivers.clone();
        drivers.iter().for_each(|it| it.wait_off_thread());
    }

    fn schedule_all(&self) {
        let drivers = self.lock().drivers.clone();
        drivers.into_iter().for_each(|it| it.schedule());
    }

    pub(super) fn forget_drivers(&self) {
        let drivers = std::mem::take(&mut self.lock().drivers);
        drop(drivers);
    }

    /// Counts a driver that is done and holds nothing any more. The outcome is known before the
    /// last one is counted.
    pub(crate) fn driver_ended(&self, pipeline: usize) {
        let mut progress = self.lock();
        let mut result_complete = false;
        if pipeline == progress.last_pipeline {
            progress.live_in_last -= 1;
            result_complete = progress.live_in_last == 0;
        }
        drop(progress);
        if result_complete {
            // The driver may have ended because the query was cancelled, whose hook comes later.
            self.stop(self.cancellation.cause().map_or(Ok(()), Err));
        }
        let mut progress = self.lock();
        progress.live -= 1;
        if progress.live == 0 {
            self.idle.notify_all();
        }
    }

    pub(super) fn wait_idle(&self) {
        let mut progress = self.lock();
        while progress.live > 0 {
            progress = self.idle.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What a driver panicked with, as the error of a bug.
    pub(crate) fn panic_error(&self, operator: &str, panic: &(dyn Any + Send)) -> Error {
        let message = panic
            .downcast_ref::<&str>()
            .map(|it| (*it).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        let mut plan = self.plan.to_string();
        plan.truncate(plan.floor_char_boundary(PLAN_BYTES_MAX));
        Error::internal(format!("panic: {message}"))
            .at("operator", operator)
            .hint(format!("this is a bug: please report it, with the plan\n{}", plan.trim_end()))
    }
}

impl fmt::Debug for TaskShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TaskShared")
    }
}
