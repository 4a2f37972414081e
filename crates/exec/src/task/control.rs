//! What others can do to a running task.

use crate::task::TaskShared;
use std::{
    fmt,
    str::FromStr,
    sync::{Arc, Weak},
};
use volley_error::{Error, Result};

/// How much of the threads' time a task gets beside others: four times that of the next lower one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Priority {
    /// For what nobody waits for.
    Low,
    /// For what has no reason for another.
    #[default]
    Normal,
    /// For what somebody waits for beside long tasks.
    High,
}

/// Stops, pauses and resumes a task, from any thread. Cheap to clone; does not keep the task alive,
/// and does nothing when it has ended.
#[derive(Clone, Debug, Default)]
pub struct TaskHandle(Weak<TaskShared>);

impl Priority {
    /// All priorities, the lowest first.
    pub const ALL: [Priority; 3] = [Priority::Low, Priority::Normal, Priority::High];

    /// The part of the time that it stands for.
    pub(crate) fn weight(self) -> u64 {
        match self {
            Priority::Low => 1,
            Priority::Normal => 4,
            Priority::High => 16,
        }
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Priority::Low => "low",
            Priority::Normal => "normal",
            Priority::High => "high",
        })
    }
}

impl FromStr for Priority {
    type Err = Error;

    fn from_str(text: &str) -> Result<Priority> {
        let found = Priority::ALL.into_iter().find(|it| it.to_string().eq_ignore_ascii_case(text));
        found.ok_or_else(|| {
            Error::invalid_value(format!("a priority is low, normal or high: '{text}'"))
        })
    }
}

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
    /// are asked to. It can be cancelled and dropped, and its deadline is not put off. Whoever asks
    /// it for a batch that is not there yet waits.
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

    /// Whether nobody holds what the task shared with its drivers.
    #[cfg(test)]
    pub(crate) fn is_dead(&self) -> bool {
        self.0.strong_count() == 0
    }

    fn with(&self, act: impl FnOnce(&TaskShared)) {
        if let Some(shared) = self.0.upgrade() {
            act(&shared);
        }
    }
}
