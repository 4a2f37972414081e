//! Control of a running task: pause, resume, cancel.

use crate::task::TaskShared;
use std::sync::{Arc, Weak};

/// Stops, pauses and resumes a task, from any thread. Cheap to clone; does not keep the task alive,
/// and does nothing when it has ended.
#[derive(Clone, Debug, Default)]
pub struct TaskHandle(Weak<TaskShared>);

impl TaskHandle {
    pub(crate) fn new(shared: &Arc<TaskShared>) -> TaskHandle {
        TaskHandle(Arc::downgrade(shared))
    }

    /// Stops the task: it answers the cancelled error from now on, unless it had ended before.
    pub fn cancel(&self) {
        self.with(TaskShared::cancel);
    }

    /// Lets no driver of the task take another step until [`TaskHandle::resume`]; returns at once,
    /// while steps that have begun go on for some milliseconds.
    ///
    /// The task keeps what it holds, but for memory that is short: its operators spill when they
    /// are asked to. It can be cancelled and dropped, and its deadline is not put off. Reading a
    /// batch that is not ready yet waits.
    pub fn pause(&self) {
        self.with(TaskShared::pause);
    }

    /// As [`TaskHandle::pause`]; when it returns, no driver takes a step any more. Not for the
    /// threads that run drivers.
    pub fn pause_wait(&self) {
        self.with(|it| {
            it.pause();
            it.wait_off_threads();
        });
    }

    /// Lets a paused task go on.
    pub fn resume(&self) {
        self.with(TaskShared::resume);
    }

    /// Whether the shared state of the task has no other references.
    pub fn is_dead(&self) -> bool {
        self.0.strong_count() == 0
    }

    fn with(&self, act: impl FnOnce(&TaskShared)) {
        if let Some(shared) = self.0.upgrade() {
            act(&shared);
        }
    }
}
