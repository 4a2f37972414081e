//! Changes of a table's rows.

use volley_vector::Batch;

/// What happens to the rows of a table. Existing rows are named by the ids of a scan of
/// [`StoredTable::with_row_ids`](crate::StoredTable::with_row_ids), as of the snapshot that is
/// changed. A row that is named several times is changed by the last update, or removed once.
#[derive(Debug, Default)]
pub struct RowChanges {
    /// Rows to add: the table's columns.
    pub inserted: Vec<Batch>,
    /// Rows to change.
    pub updates: Vec<RowUpdates>,
    /// The columns that change, by position.
    pub updated_columns: Vec<usize>,
    /// Rows to remove.
    pub deleted: Vec<i64>,
    /// Keys (by position in the definition): a row to add that has a key of another row is left
    /// out, and no error.
    pub skipping_keys: Vec<usize>,
}

/// New values of some rows.
#[derive(Debug)]
pub struct RowUpdates {
    /// The rows.
    pub ids: Vec<i64>,
    /// The new values: one row per id, one column per column that changes.
    pub values: Batch,
}

/// What a change did.
#[derive(Debug, Default)]
pub struct Changed {
    /// The rows that were changed, with their new values, and those that were added.
    pub written: Vec<Batch>,
    /// How many of these batches were changed, the first ones.
    pub changed_batches: usize,
    /// The rows that were removed.
    pub removed: Vec<Batch>,
}
