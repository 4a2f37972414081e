//! A subplan that runs once.

use crate::{PlanNode, PlanNodeId};
use std::sync::Arc;

/// Reads a subplan's result that other nodes read, too. Nodes with the same `id` have the same
/// input, which runs once.
#[derive(Clone, Debug)]
pub struct SpoolNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Identity within the plan.
    pub id: u32,
    /// What runs once.
    pub input: Arc<PlanNode>,
}
