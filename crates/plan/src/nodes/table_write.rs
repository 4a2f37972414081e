//! Writes rows to a table or file.

use crate::{PlanNode, PlanNodeId};
use std::sync::Arc;
use volley_types::Schema;

/// Where rows are written: data for the sinks that a session knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteTarget {
    /// The name that the sink is registered under, such as `csv` or `table`.
    pub sink: String,
    /// A path, or how a table is called. A file appears whole or not at all.
    pub location: String,
    /// Names in lower case, and values. The sink reads them.
    pub options: Vec<(String, String)>,
}

/// Writes all rows to a target; returns a BIGINT from each driver that writes: the number of its
/// rows.
#[derive(Clone, Debug)]
pub struct TableWriteNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// Where they are written.
    pub target: WriteTarget,
    /// Names of the input's columns there.
    pub column_names: Vec<String>,
    /// Errors of constraints. For each one the input has a BOOLEAN column behind those that are
    /// written: true for a row that violates the constraint.
    pub checks: Vec<String>,
    /// The one column `rows`.
    pub schema: Schema,
}
