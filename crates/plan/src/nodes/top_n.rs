//! Sorts and keeps the first rows.

use crate::{PlanNode, SortKey};
use std::sync::Arc;

/// The rows from `offset` on, `limit` of them, of the sorted input.
#[derive(Clone, Debug)]
pub struct TopNNode {
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// Most significant first.
    pub keys: Vec<SortKey>,
    /// Rows skipped.
    pub offset: u64,
    /// Rows kept after those skipped.
    pub limit: u64,
}
