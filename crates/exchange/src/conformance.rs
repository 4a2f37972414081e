//! What every transport must do: one suite, run for each transport.
//!
//! ```text
//! Fabric        some tasks and what connects them; `advance` lets time pass
//! transport()   runs every case over fabrics that a closure makes, by seed
//! Violation     the rule that was broken, and the seed
//! ```
//!
//! A case schedules producers and readers by a seed: no thread sleeps, and no case depends on time.
//! A case fails when a rule is broken, or when nothing happens any more before all streams ended.
//! Over a fabric with faults, a stream may fail with the loss of a task instead of its pages; never
//! with other pages, and never with another cause than the producer's.

mod cases;
mod run;
mod windows;
#[cfg(test)]
mod tests;

use crate::{TaskId, Transport};
use std::{fmt, sync::Arc};

pub use cases::CASES;
pub use windows::windows;

/// Tasks and what connects them.
pub trait Fabric {
    /// The transport of a task, 0, 1 or 2.
    fn transport(&self, task: TaskId) -> Arc<dyn Transport>;

    /// Lets things happen; false when nothing can happen any more until a task acts.
    fn advance(&mut self) -> bool;

    /// Ends a task without notice, if the fabric can.
    fn kill(&mut self, task: TaskId);

    /// Edges and streams that are open: 0 after all were closed, or the transport leaks.
    fn open_edges(&self) -> usize;
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The name of the case.
    pub case: &'static str,
    /// The seed of the run.
    pub seed: u64,
    /// What was expected and found.
    pub rule: String,
}

/// A case: runs once over a fabric.
pub type Case = fn(&mut dyn Fabric, u64) -> Result<(), String>;

/// Runs every case for each seed over a new fabric, which `fabric` makes of the seed.
///
/// # Errors
///
/// The first broken rule.
pub fn transport<F: Fabric>(
    seeds: std::ops::Range<u64>,
    fabric: impl Fn(u64) -> F,
) -> Result<(), Violation> {
    for (case, run) in CASES {
        for seed in seeds.clone() {
            let mut fabric = fabric(seed);
            run(&mut fabric, seed).map_err(|rule| Violation { case, seed, rule })?;
        }
    }
    Ok(())
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (seed {}): {}", self.case, self.seed, self.rule)
    }
}
