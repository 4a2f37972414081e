//! Sorts.

use crate::{PlanNode, PlanNodeId};
use std::sync::Arc;
use volley_types::SortKey;

/// Sorts all rows. NaN is the greatest value; -0.0 equals 0.0; text compares by bytes.
#[derive(Clone, Debug)]
pub struct OrderByNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// Most significant first.
    pub keys: Vec<SortKey>,
}
