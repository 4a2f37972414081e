//! The processes that run the tasks of a query.
//!
//! ```text
//! process 0                            process 1 ...
//! QuerySpec ── Platform::begin ──────> QuerySpec::from_bytes, PartialQuery::start
//! DistributedQuery::start_on           its tasks
//! SplitFeed ── Processes::scan_of ───> PartialQuery::add_splits
//! keys of joins <── Processes::send_filter ──> keys of joins
//! Processes::end ────────────────────> PartialQuery::end ──> failure, statistics
//! ```
//!
//! Task `number` of each fragment that several tasks run is in process `number`, or all tasks are
//! in one process. Fragments of one task, and so the result, are in process 0.

use crate::filters::FilterKeys;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_exchange::{Failure, InProcessHub, TaskId, Transport};
use volley_exec::SplitReceiver;
use volley_plan::{DistributedPlan, PlanNodeId, TaskCount};

/// Processes that run queries together.
pub trait Platform: Send + Sync {
    /// The name, such as `mpi`.
    fn name(&self) -> &'static str;

    /// How many processes there are; each runs one task of every fragment that several tasks run.
    fn processes(&self) -> usize;

    /// Decoded bytes of a page that suit the links between them.
    fn page_bytes(&self) -> usize;

    /// Begins a query in all other processes; `spec` is that of a [`crate::QuerySpec`].
    ///
    /// # Errors
    ///
    /// I/O: a process is lost.
    fn begin(&self, spec: Vec<u8>, tasks: TaskNumbers) -> Result<Arc<dyn Processes>>;
}

/// What is told of a failure in another process.
pub type FailureListener = Box<dyn Fn(Failure) + Send + Sync>;

/// What is told of a filter by another process: the filter, the number of the task, its keys.
pub type FilterListener = Box<dyn Fn(u32, usize, FilterKeys) + Send + Sync>;

/// The processes of one query, as one of them sees them.
pub trait Processes: Send + Sync {
    /// Whether task `number` of a fragment runs in this process.
    fn has_task(&self, number: usize) -> bool;

    /// The transport of a task of this process.
    fn transport(&self, task: TaskId) -> Arc<dyn Transport>;

    /// A scan of a task in another process, for its splits.
    ///
    /// # Errors
    ///
    /// Internal: the task is in this process.
    fn scan_of(&self, task: TaskId, scan: PlanNodeId) -> Result<Arc<dyn SplitReceiver>>;

    /// Calls `listener` when the query fails in another process.
    fn on_failure(&self, listener: FailureListener);

    /// Tells process 0, or all others if this is process 0, that the query has failed here.
    fn report(&self, failure: Failure);

    /// Sends keys of a join: process 0 sends those of all tasks to all others, another one those
    /// of task `task` to process 0.
    fn send_filter(&self, filter: u32, task: usize, keys: FilterKeys);

    /// Calls `listener` when keys come from another process.
    fn on_filter(&self, listener: FilterListener);

    /// Asks the other processes to end the query; does not wait.
    fn cancel(&self);

    /// Ends the query in the other processes and waits until it has; how it ended in each of them,
    /// once.
    fn end(&self) -> Vec<ProcessEnd>;
}

/// How a query ended in a process.
#[derive(Clone, Debug, Default)]
pub struct ProcessEnd {
    /// What went wrong.
    pub failure: Option<Failure>,
    /// What its tasks did: bytes of [`crate::PartialQuery::end`].
    pub statistics: Vec<u8>,
}

/// How the tasks of a query are numbered: those of a fragment follow those of the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskNumbers {
    /// The number of the first task of each fragment, ascending.
    pub first_tasks: Vec<u32>,
}

/// All tasks run on the threads of this process.
#[derive(Debug, Default)]
pub(crate) struct Threads(InProcessHub);

impl TaskNumbers {
    /// Of a plan whose fragments run as `tasks` tasks each, or as one.
    pub fn new(plan: &DistributedPlan, tasks: usize) -> TaskNumbers {
        let mut next = 0;
        let first = plan.fragments.iter().map(|it| {
            let first = next;
            next += match it.tasks {
                TaskCount::One => 1,
                TaskCount::All => tasks.max(1) as u32,
            };
            first
        });
        TaskNumbers { first_tasks: first.collect() }
    }

    /// The task with this number within its fragment.
    ///
    /// # Errors
    ///
    /// Internal: no such fragment.
    pub fn task(&self, fragment: usize, number: usize) -> Result<TaskId> {
        let first = self.first_tasks.get(fragment).copied();
        let first =
            first.ok_or_else(|| Error::internal("a task of a fragment that is not there"))?;
        Ok(TaskId(first + number as u32))
    }

    /// How many tasks run a fragment of the plan whose tasks are numbered.
    pub(crate) fn tasks(&self, fragment: usize, plan: &DistributedPlan) -> usize {
        let first = |it: usize| self.first_tasks.get(it).copied();
        match (first(fragment), first(fragment + 1)) {
            (Some(own), Some(next)) => next.saturating_sub(own) as usize,
            // The last fragment has one task.
            _ => usize::from(fragment < plan.fragments.len()),
        }
    }

    /// The fragment of a task.
    pub fn fragment(&self, task: TaskId) -> usize {
        self.first_tasks.partition_point(|it| *it <= task.0).saturating_sub(1)
    }

    /// The number of a task within its fragment.
    pub fn number(&self, task: TaskId) -> usize {
        let first = self.first_tasks.get(self.fragment(task)).copied().unwrap_or(0);
        task.0.saturating_sub(first) as usize
    }
}

impl Processes for Threads {
    fn has_task(&self, _: usize) -> bool {
        true
    }

    fn transport(&self, task: TaskId) -> Arc<dyn Transport> {
        Arc::new(self.0.transport(task))
    }

    fn scan_of(&self, _: TaskId, _: PlanNodeId) -> Result<Arc<dyn SplitReceiver>> {
        Err(Error::internal("a scan of another process"))
    }

    fn on_failure(&self, _: FailureListener) {}

    fn report(&self, _: Failure) {}

    fn send_filter(&self, _: u32, _: usize, _: FilterKeys) {}

    fn on_filter(&self, _: FilterListener) {}

    fn cancel(&self) {}

    fn end(&self) -> Vec<ProcessEnd> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_numbered_within_their_fragments() {
        let numbers = TaskNumbers { first_tasks: vec![0, 4, 5, 9] };
        let found: Vec<usize> = (0..10).map(|it| numbers.number(TaskId(it))).collect();
        assert_eq!(found, [0, 1, 2, 3, 0, 0, 1, 2, 3, 0]);
        assert_eq!([0, 3, 4, 9].map(|it| numbers.fragment(TaskId(it))), [0, 0, 1, 3]);
        assert_eq!(numbers.task(2, 3).unwrap(), TaskId(8));
        assert!(numbers.task(4, 0).is_err());
    }
}
