//! Keeps rows that satisfy a predicate.

use crate::{PlanNode, PlanNodeId};
use std::sync::Arc;
use volley_expression::Expr;

/// Keeps the rows for which a predicate is true.
#[derive(Clone, Debug)]
pub struct FilterNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// BOOLEAN.
    pub predicate: Expr,
}
