//! Repeats rows for grouping sets.

use crate::{PlanNode, PlanNodeId};
use std::sync::Arc;
use volley_types::Schema;

/// Returns every row of the input once per grouping set (the paper on Velox calls it GroupId): the
/// input's columns, then a copy of each key column, null if the set lacks the key, then the set's
/// identity (BIGINT), and, if there are `extra_rows`, whether it is a row of the input (BOOLEAN:
/// true, or null in an extra row).
#[derive(Clone, Debug)]
pub struct GroupIdNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// The key columns of all sets, by position in the input.
    pub keys: Vec<usize>,
    /// The sets.
    pub sets: Vec<GroupingSet>,
    /// Whether each set without keys has a row of nulls besides, even without any input: it makes
    /// the group that an aggregation without keys always has. Aggregates have to leave it out.
    pub extra_rows: bool,
    /// The output columns.
    pub schema: Schema,
}

/// One of the lists of keys that rows are grouped by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupingSet {
    /// Its identity among the sets of the node.
    pub id: i64,
    /// Which of the node's keys it has: positions in [`GroupIdNode::keys`], ascending.
    pub keys: Vec<usize>,
}
