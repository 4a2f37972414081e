//! Literal rows.

use crate::PlanNodeId;
use volley_types::{Schema, Value};

/// Literal rows.
#[derive(Clone, Debug)]
pub struct ValuesNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// The rows; each has one value per column.
    pub rows: Vec<Vec<Value>>,
    /// The columns.
    pub schema: Schema,
}
