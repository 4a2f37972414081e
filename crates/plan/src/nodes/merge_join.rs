//! Joins sorted inputs on equal keys.

use crate::{JoinKind, PlanNode, PlanNodeId, SortKey};
use std::{fmt, sync::Arc};
use volley_expression::Expr;
use volley_types::Schema;

/// Joins two inputs that are sorted by the keys within each driver.
#[derive(Clone, Debug)]
pub struct MergeJoinNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// The left side.
    pub probe: Arc<PlanNode>,
    /// The right side.
    pub build: Arc<PlanNode>,
    /// Which rows are returned. All kinds of [`JoinKind`]; the mark is never null.
    pub kind: JoinKind,
    /// Most significant first.
    pub keys: Vec<MergeKey>,
    /// A further condition on a pair, as in a hash join.
    pub filter: Option<Expr>,
    /// The output columns, as in a hash join.
    pub output: Vec<usize>,
    /// The output columns.
    pub schema: Schema,
}

/// A pair of columns of the same type that both inputs are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergeKey {
    /// The left side's column.
    pub probe: usize,
    /// The right side's column.
    pub build: usize,
    /// Whether null equals null; otherwise null matches nothing.
    pub nulls_equal: bool,
    /// Largest first.
    pub descending: bool,
    /// Nulls before all values.
    pub nulls_first: bool,
}

impl MergeKey {
    /// How `column`, of either side, is sorted.
    pub fn sort_key(&self, column: usize) -> SortKey {
        SortKey { column, descending: self.descending, nulls_first: self.nulls_first }
    }
}

impl fmt::Display for MergeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = if self.nulls_equal { "is not distinct from" } else { "=" };
        let direction = if self.descending { " desc" } else { "" };
        let nulls = if self.nulls_first { " nulls first" } else { "" };
        write!(f, "#{} {operator} build #{}{direction}{nulls}", self.probe, self.build)
    }
}
