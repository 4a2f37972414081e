//! Keeps a range of rows.

use crate::PlanNode;
use std::sync::Arc;

/// Skips `offset` rows, then passes `limit` rows (all, when `None`).
#[derive(Clone, Debug)]
pub struct LimitNode {
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// Rows skipped.
    pub offset: u64,
    /// Rows kept after those skipped.
    pub limit: Option<u64>,
}
