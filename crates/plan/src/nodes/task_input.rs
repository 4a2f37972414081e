//! Rows from outside of the task.

use crate::PlanNodeId;
use volley_types::Schema;

/// Returns rows that are pushed into the running task: those of another task, or of a host.
#[derive(Clone, Debug)]
pub struct TaskInputNode {
    /// Identity within the plan; the caller that pushes rows names the input by it.
    pub node_id: PlanNodeId,
    /// The output columns.
    pub schema: Schema,
}
