//! What is known of a table's contents.

use volley_types::Value;

/// What is known of a table. Missing numbers are unknown, not zero.
#[derive(Clone, Debug, Default)]
pub struct TableStatistics {
    /// The number of rows.
    pub rows: Option<u64>,
    /// One per column of the table; may be empty.
    pub columns: Vec<ColumnStatistics>,
    /// Whether these are no estimates: `rows` and all `nulls` are exact, and of integers, decimals,
    /// dates and times `min` and `max`, where they are known, are values that are there.
    pub is_exact: bool,
}

/// What is known of a column.
#[derive(Clone, Debug, Default)]
pub struct ColumnStatistics {
    /// A lower bound of all values that are not null.
    pub min: Option<Value>,
    /// An upper bound of all values that are not null.
    pub max: Option<Value>,
    /// How many values are null.
    pub nulls: Option<u64>,
    /// About how many distinct values there are.
    pub distinct: Option<u64>,
}
