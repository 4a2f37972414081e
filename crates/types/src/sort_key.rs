//! Orders of rows.

use std::fmt;

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

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.descending { " desc" } else { "" };
        let nulls = if self.nulls_first { " nulls first" } else { "" };
        write!(f, "#{}{direction}{nulls}", self.column)
    }
}
