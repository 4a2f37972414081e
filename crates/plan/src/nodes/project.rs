//! Computes columns.

use crate::{PlanNode, PlanNodeId};
use std::sync::Arc;
use volley_expression::Expr;
use volley_types::Schema;

/// Computes one column per expression.
#[derive(Clone, Debug)]
pub struct ProjectNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// One per output column.
    pub exprs: Vec<Expr>,
    /// Names and types of the output columns.
    pub schema: Schema,
}
