//! Sorts and keeps the first rows.

use crate::{DynamicFilterId, PlanNode, PlanNodeId, SortKey};
use std::sync::Arc;

/// The rows from `offset` on, `limit` of them, of the sorted input.
#[derive(Clone, Debug)]
pub struct TopNNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// Most significant first.
    pub keys: Vec<SortKey>,
    /// Rows skipped.
    pub offset: u64,
    /// Rows kept after those skipped.
    pub limit: u64,
    /// The filter that tells scans which rows come after the last one that counts.
    pub dynamic_filter: Option<DynamicFilterId>,
}

/// Above this many rows a plain sort is better: it does not sort rows again and again.
const HEAP_ROWS_MAX: u64 = 1 << 16;

impl TopNNode {
    /// Whether the first rows alone are held.
    pub fn is_heap(&self) -> bool {
        self.offset.saturating_add(self.limit) <= HEAP_ROWS_MAX
    }
}
