//! Repeats rows.

use crate::{PlanNode, PlanNodeId};
use std::sync::Arc;
use volley_types::Schema;

/// Repeats each row. The last column is the number of times, a BIGINT that is not null; zero or
/// less drops the row. That column is not returned. (INTERSECT ALL and EXCEPT ALL.)
#[derive(Clone, Debug)]
pub struct RepeatNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// The input's columns but the last.
    pub schema: Schema,
}
