//! Joins each row with the nearest one.

use crate::{JoinKind, PlanNode, PlanNodeId, RangeCondition};
use std::sync::Arc;
use volley_types::Schema;

/// Joins each probe row with the nearest of the build rows with equal keys that satisfy a
/// comparison: for `>` and `>=` the one with the greatest value, for `<` and `<=` the one with the
/// least. Of several such rows, any one.
#[derive(Clone, Debug)]
pub struct AsofJoinNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Streams.
    pub probe: Arc<PlanNode>,
    /// Is held in memory, sorted; where it does not fit, both sides are sorted on disk.
    pub build: Arc<PlanNode>,
    /// Which rows are returned. All kinds of [`JoinKind`].
    pub kind: JoinKind,
    /// Columns of the probe side.
    pub probe_keys: Vec<usize>,
    /// Columns of the build side, of the same types.
    pub build_keys: Vec<usize>,
    /// Per key: whether nulls equal each other.
    pub nulls_equal: Vec<bool>,
    /// What is compared.
    pub range: RangeCondition,
    /// The output columns, as in a hash join.
    pub output: Vec<usize>,
    /// The output columns.
    pub schema: Schema,
}
