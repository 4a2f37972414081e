//! Runs distributed plans: fragments as tasks, connected by exchanges.
//!
//! ```text
//! DistributedPlan ── start ──> per fragment: tasks on one executor
//!                              splits ── SplitFeed ──> scans of all tasks
//!                              PageOutput ── transport ── PageInput
//!                              keys of joins ── FilterBoard ──> scans of other fragments
//!                              last fragment: one task ── next ──> rows
//! ```
//!
//! Read [`DistributedQuery`] first, then [`Platform`] for queries of several processes. Invariants:
//! all fragments run at once; the first real cause of a failure ends all tasks and is what the
//! caller gets; no task outlives the query. This crate does not know SQL or any platform but the
//! threads of this process.

mod processes;
mod spec;
mod outcome;
mod splits;
mod filters;
mod start;
mod statistics;
mod process_statistics;
mod query;
mod partial_query;
#[cfg(test)]
mod tests;

pub use filters::{FilterKeys, FilterStatistics};
pub use partial_query::PartialQuery;
pub use processes::{
    FailureListener, FilterListener, Platform, ProcessEnd, Processes, TaskNumbers,
};
pub use query::DistributedQuery;
pub use spec::QuerySpec;
pub use start::DistributedConfig;
pub use statistics::{EdgeStatistics, QueryStatistics};
