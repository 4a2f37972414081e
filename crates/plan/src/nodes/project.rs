//! Computes columns.

use crate::PlanNode;
use std::sync::Arc;
use volley_expression::Expr;
use volley_types::Schema;

/// Computes one column per expression.
#[derive(Clone, Debug)]
pub struct ProjectNode {
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// One per output column.
    pub exprs: Vec<Expr>,
    /// Names and types of the output columns.
    pub schema: Schema,
}
