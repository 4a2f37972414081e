//! Literal rows.

use volley_types::{Schema, Value};

/// Literal rows.
#[derive(Clone, Debug)]
pub struct ValuesNode {
    /// The rows; each has one value per column.
    pub rows: Vec<Vec<Value>>,
    /// The columns.
    pub schema: Schema,
}
