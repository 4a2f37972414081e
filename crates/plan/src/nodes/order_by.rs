//! Sorts.

use crate::PlanNode;
use std::sync::Arc;

/// One key of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SortKey {
    /// The column.
    pub column: usize,
    /// Largest first.
    pub descending: bool,
    /// Nulls before all values.
    pub nulls_first: bool,
}

/// Sorts all rows. NaN is the greatest value; -0.0 equals 0.0; text compares by bytes.
#[derive(Clone, Debug)]
pub struct OrderByNode {
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// Most significant first.
    pub keys: Vec<SortKey>,
}
