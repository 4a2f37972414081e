//! Rows as a value, and back.

use super::{collection_schema, collection_type, field, only};
use volley_error::Result;
use volley_types::{Field, Schema};

/// Collects all rows: returns one row with the collection, also without any input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Materialize;

/// Returns the rows of the collections in a column, one after the other. A null is a collection
/// without rows; a null in it is a row of nulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowScan {
    /// The column of collections.
    pub column: usize,
}

impl Materialize {
    pub(super) fn schema(self, inputs: &[&Schema]) -> Result<Schema> {
        Ok([Field::new("rows", collection_type(only(inputs)?))].into_iter().collect())
    }
}

impl RowScan {
    pub(super) fn schema(self, inputs: &[&Schema]) -> Result<Schema> {
        collection_schema(&field(only(inputs)?, self.column)?.data_type)
    }
}
