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

/// What the rows are that a statement writes to a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// Rows to add: the columns of the table.
    Insert {
        /// The keys of the table, by position, for which rows that are there already are left out.
        skipping_keys: Vec<usize>,
    },
    /// The ids of rows to remove; the same may come several times.
    Delete,
    /// The ids of rows to change, then the new values of these columns. When an id comes several
    /// times, any of its rows holds.
    Update {
        /// By position in the table.
        columns: Vec<usize>,
    },
    /// An id, an action ([`MergeAction`] as INTEGER), then all columns of the table. An id that
    /// comes several times is an error.
    Merge {
        /// What the statement is, for that error.
        statement: &'static str,
    },
}

/// What to do with a row of MERGE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeAction {
    /// Add it; it has no id.
    Insert,
    /// Change the one with the id.
    Update,
    /// Remove the one with the id.
    Delete,
}

impl WriteKind {
    /// Rows to add, all of them.
    pub fn insert() -> WriteKind {
        WriteKind::Insert { skipping_keys: Vec::new() }
    }
}

impl MergeAction {
    /// The number that represents it.
    pub fn code(self) -> i32 {
        match self {
            MergeAction::Insert => 0,
            MergeAction::Update => 1,
            MergeAction::Delete => 2,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            MergeAction::Insert => "INSERT",
            MergeAction::Update => "UPDATE",
            MergeAction::Delete => "DELETE",
        }
    }

    /// The meaning of the number.
    pub fn of_code(code: i32) -> Option<MergeAction> {
        [MergeAction::Insert, MergeAction::Update, MergeAction::Delete]
            .into_iter()
            .find(|it| it.code() == code)
    }
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
