//! Rows between tasks.

use crate::{FragmentId, PlanNode, PlanNodeId, SortKey, TaskCount};
use std::{fmt, sync::Arc};
use volley_types::{Schema, Value};

/// Where rows go, from the tasks of one fragment to those of another one.
#[derive(Clone, Debug, PartialEq)]
pub enum Routing {
    /// All rows to the only task; in any order.
    Gather,
    /// All rows to the only task, in the order of these keys. Each sending task sends its rows in
    /// that order, in one stream.
    Merge(Vec<SortKey>),
    /// Batches to the tasks in turn: any distribution is right.
    Any,
    /// Rows with equal values in these columns to the same task.
    Hash(Vec<usize>),
    /// Rows to tasks by the range of their sort keys.
    Range(RangeRouting),
    /// All rows to every task.
    Broadcast,
    /// All rows of a task to the task with the same number.
    Forward,
    /// No row moves: every task runs the whole input itself, a scan of a small table that all tasks
    /// reach. The plan is not cut here.
    Replicate,
}

/// Distributes rows by ranges of sort keys: equal keys meet in one task, and tasks are in the order
/// of keys.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeRouting {
    /// The keys, most significant first.
    pub keys: Vec<SortKey>,
    /// Ascending in the order of the keys: one row per bound, one value per key. A row goes to task
    /// `k` if `k` bounds are not after it.
    pub bounds: Vec<Vec<Value>>,
}

/// Moves rows between tasks: the plan is cut here ([`crate::DistributedPlan`]). In a plan that is
/// not cut, which one task runs, all rows stay where they are.
#[derive(Clone, Debug)]
pub struct ExchangeNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// How many tasks run the input.
    pub senders: TaskCount,
    /// Where rows go.
    pub routing: Routing,
}

/// Reads the rows that the tasks of another fragment send to this one.
#[derive(Clone, Debug)]
pub struct PageSourceNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// The fragment that sends.
    pub fragment: FragmentId,
    /// Which of the outputs of the fragment.
    pub output: u32,
    /// The order in which each task sends its rows, and in which they are returned; empty for any
    /// order.
    pub merge: Vec<SortKey>,
    /// The output columns.
    pub schema: Schema,
}

impl Routing {
    /// Whether all rows reach a single task.
    pub fn is_single(&self) -> bool {
        matches!(self, Routing::Gather | Routing::Merge(_))
    }

    /// The order in which rows arrive; empty for any.
    pub fn merge_keys(&self) -> &[SortKey] {
        match self {
            Routing::Merge(keys) => keys,
            _ => &[],
        }
    }
}

impl fmt::Display for Routing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Routing::Gather => f.write_str("gather"),
            Routing::Merge(keys) => write!(f, "merge {}", listed(keys)),
            Routing::Any => f.write_str("any"),
            Routing::Hash(keys) => {
                let keys: Vec<_> = keys.iter().map(|it| format!("#{it}")).collect();
                write!(f, "hash [{}]", keys.join(", "))
            }
            Routing::Range(range) => {
                write!(f, "range {} bounds={}", listed(&range.keys), range.bounds.len())
            }
            Routing::Broadcast => f.write_str("broadcast"),
            Routing::Forward => f.write_str("forward"),
            Routing::Replicate => f.write_str("replicate"),
        }
    }
}

fn listed(keys: &[SortKey]) -> String {
    let keys: Vec<_> = keys.iter().map(ToString::to_string).collect();
    keys.join(", ")
}
