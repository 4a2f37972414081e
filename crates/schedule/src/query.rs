//! A running distributed plan.

use crate::{
    filters::FilterBoard,
    outcome::Outcome,
    process_statistics::ProcessStatistics,
    splits::SplitFeed,
    statistics::{QueryStatistics, edges},
};
use std::{
    sync::Arc,
    task::{Poll, Waker},
    time::Duration,
};
use volley_error::{Error, Result};
use volley_exec::{Task, TaskHandle, TaskMonitor, TaskStatistics, TaskTimeline};
use volley_operators::PageOutput;
use volley_plan::DistributedPlan;
use volley_vector::Batch;

/// A distributed plan that runs. Dropping it cancels what still runs and waits until no task does.
///
/// The methods are those of [`Task`], for the rows of the last fragment.
pub struct DistributedQuery {
    /// The task that returns the result.
    root: Task,
    /// The other fragments, in the order of the plan.
    fragments: Vec<RunningFragment>,
    outcome: Arc<Outcome>,
    plan: Arc<DistributedPlan>,
    /// `None`: dynamic filters are off.
    filters: Option<Arc<FilterBoard>>,
}

/// The tasks of a fragment.
#[derive(Default)]
pub(crate) struct RunningFragment {
    /// Dropped before the tasks.
    pub(crate) feeds: Vec<Arc<SplitFeed>>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) outputs: Vec<Arc<PageOutput>>,
}

impl DistributedQuery {
    pub(crate) fn new(
        mut fragments: Vec<RunningFragment>,
        outcome: Arc<Outcome>,
        plan: Arc<DistributedPlan>,
        filters: Option<Arc<FilterBoard>>,
    ) -> Result<DistributedQuery> {
        let root = fragments.pop().and_then(|mut it| it.tasks.pop());
        let root = root.ok_or_else(|| Error::internal("a distributed plan without a result"))?;
        Ok(DistributedQuery { root, fragments, outcome, plan, filters })
    }

    /// The next batch of the result; waits for it. `None` at the end, when no task runs any more.
    ///
    /// # Errors
    ///
    /// The first real cause of what went wrong in any task, also on every later call.
    pub fn next(&self) -> Result<Option<Batch>> {
        self.finish(self.root.next())
    }

    /// As [`DistributedQuery::next`], but waits no longer than `timeout`: the outer `None`.
    pub fn next_timeout(&self, timeout: Duration) -> Option<Result<Option<Batch>>> {
        self.root.next_timeout(timeout).map(|it| self.finish(it))
    }

    /// As [`DistributedQuery::next`] without waiting; when pending, `waker` is woken once there is
    /// more.
    pub fn poll_next(&self, waker: &Waker) -> Poll<Result<Option<Batch>>> {
        self.root.poll_next(waker).map(|it| self.finish(it))
    }

    /// What stops, pauses and resumes all tasks of this process from another thread. Stopping ends
    /// the query in the other processes, too.
    pub fn handle(&self) -> TaskHandle {
        TaskHandle::of_all([&self.root].into_iter().chain(self.others()).map(Task::handle))
    }

    /// The fragments that run.
    pub fn plan(&self) -> &Arc<DistributedPlan> {
        &self.plan
    }

    /// What every operator of every task did, and what crossed the exchanges: so far in this
    /// process, and in others when the query has ended.
    pub fn statistics(&self) -> QueryStatistics {
        let mut own = process_statistics(&self.fragments);
        own.fragments.push(self.root.statistics());
        own.edges.push(Vec::new());
        self.outcome.statistics_of_others().into_iter().for_each(|it| own.add(it));
        let filters = self.filters.as_ref().map(|it| it.statistics()).unwrap_or_default();
        QueryStatistics { filters, ..own.into_query() }
    }

    /// What every task did so far, and when, by fragment and task.
    pub fn task_runs(&self) -> Vec<Vec<(TaskStatistics, TaskTimeline)>> {
        let run = |it: &Task| (it.statistics(), it.timeline());
        let of_fragments = self.fragments.iter().map(|it| it.tasks.iter().map(run).collect());
        of_fragments.chain([vec![run(&self.root)]]).collect()
    }

    /// What answers how far each task of this process is, from other threads.
    pub fn monitors(&self) -> Vec<TaskMonitor> {
        self.others().chain([&self.root]).map(Task::monitor).collect()
    }

    fn others(&self) -> impl Iterator<Item = &Task> {
        self.fragments.iter().flat_map(|it| &it.tasks)
    }

    /// At the end of the result, ends the other tasks.
    fn finish(&self, result: Result<Option<Batch>>) -> Result<Option<Batch>> {
        if matches!(result, Ok(Some(_))) {
            return result;
        }
        if let Err(error) = &result {
            self.outcome.fail(error.clone());
        }
        // Other tasks have nothing left to do: no further row is needed.
        self.outcome.token().cancel();
        self.others().for_each(Task::wait_idle);
        self.outcome.end_others();
        result.map_err(|it| self.outcome.cause(it))
    }
}

/// What the tasks of these fragments did so far.
pub(crate) fn process_statistics(fragments: &[RunningFragment]) -> ProcessStatistics {
    let tasks =
        |it: &RunningFragment| TaskStatistics::of_tasks(it.tasks.iter().map(Task::statistics));
    ProcessStatistics {
        fragments: fragments.iter().map(tasks).collect(),
        edges: fragments.iter().map(|it| edges(&it.outputs)).collect(),
    }
}

impl Drop for DistributedQuery {
    fn drop(&mut self) {
        // All at once: tasks that are dropped one by one would wait for each other.
        self.outcome.token().cancel();
        self.outcome.processes().cancel();
    }
}
