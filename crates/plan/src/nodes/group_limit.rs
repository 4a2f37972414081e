//! Keeps a range of rows of each group.

use crate::{PlanNode, PlanNodeId};
use std::sync::Arc;

/// Of each run of adjacent rows with equal keys, skips `offset` rows, then passes `limit`.
///
/// A `limit` of `None` passes all. Null equals null. The input is sorted by the keys first, then by
/// what orders the rows within a group; it is one stream.
#[derive(Clone, Debug)]
pub struct GroupLimitNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// The columns that rows of one group agree in.
    pub keys: Vec<usize>,
    /// Rows skipped, per group.
    pub offset: u64,
    /// Rows kept after those skipped, per group.
    pub limit: Option<u64>,
}
