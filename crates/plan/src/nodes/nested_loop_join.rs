//! Joins on any condition.

use crate::{JoinKind, PlanNode};
use std::sync::Arc;
use volley_expression::Expr;
use volley_types::Schema;

/// Joins every pair that satisfies a condition; without one: the cross product.
#[derive(Clone, Debug)]
pub struct NestedLoopJoinNode {
    /// Streams.
    pub probe: Arc<PlanNode>,
    /// Is held in memory.
    pub build: Arc<PlanNode>,
    /// Which rows are put out. All kinds of [`JoinKind`]; LeftMark puts NULL where no pair is true
    /// and some pair is null.
    pub kind: JoinKind,
    /// The condition on a pair; its columns are those of the probe side, then of the build side.
    pub condition: Option<Expr>,
    /// The output columns, as in a hash join.
    pub output: Vec<usize>,
    /// The columns put out.
    pub schema: Schema,
}
