//! Appends distinct integers.

use crate::{PlanNode, PlanNodeId};
use std::sync::Arc;
use volley_types::Schema;

/// Appends a BIGINT column whose values are distinct within the query.
#[derive(Clone, Debug)]
pub struct UniqueIdNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// The input's columns and the new one.
    pub schema: Schema,
}
