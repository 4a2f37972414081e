//! Control of a running task: pause, resume, cancel.

use crate::task::TaskShared;
use std::sync::{Arc, Weak};

/// Stops, pauses and resumes one task or several, from any thread. Cheap to clone; does not keep
/// them alive, and does nothing when they have ended.
#[derive(Clone, Debug, Default)]
pub struct TaskHandle(Vec<Weak<TaskShared>>);

impl TaskHandle {
    pub(crate) fn new(shared: &Arc<TaskShared>) -> TaskHandle {
        TaskHandle(vec![Arc::downgrade(shared)])
    }

    /// A handle of all tasks of these handles.
    pub fn of_all(handles: impl IntoIterator<Item = TaskHandle>) -> TaskHandle {
        TaskHandle(handles.into_iter().flat_map(|it| it.0).collect())
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
        self.with(TaskShared::pause);
        self.with(TaskShared::wait_off_threads);
    }

    /// Lets a paused task go on.
    pub fn resume(&self) {
        self.with(TaskShared::resume);
    }

    /// Whether the shared state of the task has no other references.
    pub fn is_dead(&self) -> bool {
        self.0.iter().all(|it| it.strong_count() == 0)
    }

    fn with(&self, act: impl Fn(&TaskShared)) {
        self.0.iter().filter_map(Weak::upgrade).for_each(|it| act(&it));
    }
}
