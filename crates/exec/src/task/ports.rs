//! How a task is connected with what is outside of it.
//!
//! ```text
//! add_splits(node, ..)    no_more_splits(node)  ──> table scans that get their splits from outside
//! input(node): push(..)   finish()              ──> TaskInput nodes
//! TaskSource                                    ──> PageSource nodes
//! TaskFilters                                   <─> joins, and scans of other tasks
//!                                                   pipelines ──> result queue, or a TaskOutput
//! ```

use crate::{
    Operator, OperatorContext,
    task_input::{InputQueue, TaskInput},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};
use volley_connector::Split;
use volley_error::{Error, Result};
use volley_expression::filter::KeyFilter;
use volley_memory::Pool;
use volley_plan::{PageSourceNode, PlanNodeId};
use volley_types::Type;

/// What of a task is connected with the outside, beyond reading its result.
#[derive(Clone, Default)]
pub struct TaskPorts {
    /// Table scans whose splits the owner adds ([`Task::add_splits`](crate::Task::add_splits)); the
    /// other scans list their tables' splits.
    pub added_splits: BTreeSet<PlanNodeId>,
    /// Where the rows of the plan's page sources come from.
    pub sources: BTreeMap<PlanNodeId, Arc<dyn TaskSource>>,
    /// The task's number among the tasks that run the same plan, from 0.
    pub number: u32,
    /// Where the rows of the last pipeline go; `None`: to [`Task::next`](crate::Task::next).
    pub output: Option<Arc<dyn TaskOutput>>,
    /// Dynamic filters between this task and others; `None`: there are none.
    pub filters: Option<Arc<dyn TaskFilters>>,
}

/// The dynamic filters between a task and the tasks of other plans, each with a number.
pub trait TaskFilters: Send + Sync {
    /// The filters that a join of the task makes for scans of other tasks: for each, the position
    /// of the key among those of the join.
    fn made_by(&self, join: PlanNodeId) -> Vec<(usize, TaskFilterId)>;

    /// The filters that joins of other tasks make for a scan: for each, the column of the table.
    fn applied_by(&self, scan: PlanNodeId) -> Vec<(usize, TaskFilterId)>;

    /// Takes the keys that the task's join has; `None`: all values may be keys. Calls after the
    /// first change nothing.
    fn publish(&self, filter: TaskFilterId, keys: Option<Arc<KeyFilter>>);

    /// Calls `listener` once the keys of all tasks are known, maybe at once.
    fn when_known(&self, filter: TaskFilterId, listener: TaskFilterListener);
}

/// The number of a filter between tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskFilterId(pub u32);

/// What is told of the keys of all tasks; `None`: all values may be keys.
pub type TaskFilterListener = Box<dyn FnOnce(Option<Arc<KeyFilter>>) + Send>;

/// Where rows of other tasks come from, such as the reader of an exchange.
///
/// The calls for one task come in this order: `open`, then `source` for each driver.
pub trait TaskSource: Send + Sync {
    /// The name of the sources in statistics, such as `page source`.
    fn name(&self) -> &'static str;

    /// Prepares for sources that return the rows of `node`, in as many drivers as it answers: at
    /// most `drivers`. Buffers are charged to `pool`.
    ///
    /// # Errors
    ///
    /// Any; the task does not start.
    fn open(&self, node: &PageSourceNode, drivers: usize, pool: &Pool) -> Result<usize>;

    /// Makes the source of one driver: an operator that answers output, blocked or finished.
    ///
    /// # Errors
    ///
    /// Any; the task does not start.
    fn source(&self, cx: &OperatorContext) -> Result<Box<dyn Operator>>;
}

/// Where a task's rows go, such as the output buffer of an exchange.
///
/// The calls for one task come in this order: `open`, then `sink` for each driver, then `close`.
pub trait TaskOutput: Send + Sync {
    /// The name of the sinks in statistics, such as `page sink`.
    fn name(&self) -> &'static str;

    /// Prepares for `drivers` sinks that take batches of columns of `types`. Buffers are charged to
    /// `pool`.
    ///
    /// # Errors
    ///
    /// Any; the task does not start.
    fn open(&self, types: &[Type], drivers: usize, pool: &Pool) -> Result<()>;

    /// Makes the sink of one driver: an operator that takes batches and answers
    /// [`Step::NeedInput`](crate::Step::NeedInput), blocked or finished. When it has no room it
    /// answers [`Step::Blocked`](crate::Step::Blocked) with
    /// [`BlockedOn::Reader`](crate::BlockedOn), so that its pipeline waits.
    ///
    /// # Errors
    ///
    /// Any; the task does not start.
    fn sink(&self, cx: &OperatorContext) -> Result<Box<dyn Operator>>;

    /// Tells how the task ended: all sinks have finished, or the first error. Called once, by any
    /// thread; when the outcome is an error, sinks may still be in a step.
    fn close(&self, outcome: Result<()>);
}

/// A scan that gets its splits from the task's owner.
pub trait SplitReceiver: Send + Sync {
    /// Takes further splits.
    ///
    /// # Errors
    ///
    /// Invalid query, after [`SplitReceiver::finish`].
    fn add(&self, splits: Vec<Split>) -> Result<()>;

    /// Tells that there are no more. Calls after the first change nothing.
    fn finish(&self);
}

impl fmt::Debug for TaskPorts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let output = self.output.as_ref().map(|it| it.name());
        let mut ports = f.debug_struct("TaskPorts");
        ports.field("added_splits", &self.added_splits).field("number", &self.number);
        ports.field("sources", &self.sources.keys()).field("output", &output);
        ports.field("has_filters", &self.filters.is_some()).finish()
    }
}

/// The ends inside of a task that the outside is connected with.
#[derive(Default)]
pub(crate) struct OpenPorts {
    pub splits: BTreeMap<PlanNodeId, Arc<dyn SplitReceiver>>,
    pub inputs: BTreeMap<PlanNodeId, Arc<InputQueue>>,
}

impl OpenPorts {
    /// Checks that there is a scan for each of the nodes.
    pub(crate) fn check(&self, added_splits: &BTreeSet<PlanNodeId>) -> Result<()> {
        match added_splits.iter().find(|it| !self.splits.contains_key(it)) {
            Some(node) => Err(no_scan(*node)),
            None => Ok(()),
        }
    }

    pub(super) fn add_splits(&self, node: PlanNodeId, splits: Vec<Split>) -> Result<()> {
        self.splits.get(&node).ok_or_else(|| no_scan(node))?.add(splits)
    }

    pub(super) fn split_receiver(&self, node: PlanNodeId) -> Result<Arc<dyn SplitReceiver>> {
        self.splits.get(&node).cloned().ok_or_else(|| no_scan(node))
    }

    pub(super) fn no_more_splits(&self, node: PlanNodeId) -> Result<()> {
        self.splits.get(&node).ok_or_else(|| no_scan(node))?.finish();
        Ok(())
    }

    pub(super) fn input(&self, node: PlanNodeId) -> Result<TaskInput> {
        let queue = self.inputs.get(&node).ok_or_else(|| {
            Error::invalid_query(format!("the plan has no task input with the id {node}"))
        })?;
        Ok(TaskInput::new(Arc::clone(queue)))
    }
}

fn no_scan(node: PlanNodeId) -> Error {
    let message = format!("the task has no table scan with the id {node} whose splits are added");
    let error = Error::invalid_query(message);
    error.hint("name the scan in TaskPorts::added_splits; scans in recursions list their splits")
}
