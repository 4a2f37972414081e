//! Reads a table.

use crate::{AppliedFilter, PlanNodeId};
use volley_expression::Expr;
use volley_types::Schema;

/// Which table, for the connector that knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableHandle {
    /// The connector's name: `hive`, `memory`, ...
    pub connector: String,
    /// What the connector finds the table by: a path, a glob, a name.
    pub table: String,
}

/// Reads columns of a table, filtered.
#[derive(Clone, Debug)]
pub struct TableScanNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// The table.
    pub table: TableHandle,
    /// The table's columns to return, by position in the table.
    pub columns: Vec<usize>,
    /// Conjuncts that rows must satisfy; their columns are positions in the *table*. The source
    /// applies all of them.
    pub filters: Vec<Expr>,
    /// The output columns.
    pub schema: Schema,
    /// Filters that other nodes make while the plan runs. The source may leave out rows that they
    /// rule out.
    pub dynamic_filters: Vec<AppliedFilter>,
}
