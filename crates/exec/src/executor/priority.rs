//! How tasks share the threads.

use std::{fmt, str::FromStr};
use volley_error::{Error, Result};

/// How much of the threads' time a task gets beside others: four times that of the next lower one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Priority {
    /// For background work.
    Low,
    /// For what has no reason for another.
    #[default]
    Normal,
    /// For interactive work next to long tasks.
    High,
}

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
