//! The rows of all inputs.

use crate::{PlanNode, PlanNodeId};
use std::sync::Arc;
use volley_types::Schema;

/// The rows of all inputs, in no particular order (UNION ALL).
#[derive(Clone, Debug)]
pub struct UnionNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Inputs with the same column types.
    pub inputs: Vec<Arc<PlanNode>>,
    /// The output columns.
    pub schema: Schema,
}
