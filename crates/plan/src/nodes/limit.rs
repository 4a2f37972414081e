//! Keeps a range of rows.

use crate::{PlanNode, PlanNodeId};
use std::sync::Arc;

/// Skips `offset` rows, then passes `limit` rows (all, when `None`).
#[derive(Clone, Debug)]
pub struct LimitNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// Rows skipped.
    pub offset: u64,
    /// Rows kept after those skipped.
    pub limit: Option<u64>,
}
