//! Checks that a scalar subquery returns at most one row.

use crate::{PlanNode, PlanNodeId};
use std::sync::Arc;
use volley_expression::SourceSpan;

/// Passes the only row; a row of nulls when there is none; an error when there are more.
#[derive(Clone, Debug)]
pub struct EnforceSingleRowNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// The position of the subquery in the text.
    pub place: SourceSpan,
}
