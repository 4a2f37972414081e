//! What a table that can be changed promises of its rows.

use crate::Table;
use std::sync::Arc;

/// A table whose rows can be changed.
#[derive(Clone, Debug)]
pub struct StoredTable {
    /// What holds for its rows.
    pub definition: Arc<TableDefinition>,
    /// The same rows with one more column behind the last: a BIGINT that tells rows of this version
    /// of the table apart.
    pub with_row_ids: Arc<dyn Table>,
}

/// What holds for the rows of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableDefinition {
    /// One per column of the table; columns beyond the last promise nothing.
    pub columns: Vec<ColumnDefinition>,
    /// Conditions that are not false for any row.
    pub checks: Vec<CheckDefinition>,
    /// Columns that tell rows apart.
    pub keys: Vec<KeyDefinition>,
    /// What people are told about it.
    pub comment: Option<String>,
    /// What becomes of its rows when a transaction commits.
    pub on_commit: OnCommit,
}

/// What COMMIT does with a temporary table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnCommit {
    /// Nothing.
    #[default]
    PreserveRows,
    /// Deletes its rows.
    DeleteRows,
    /// Drops it.
    Drop,
}

/// What holds for a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnDefinition {
    /// Whether no value is null.
    pub is_not_null: bool,
    /// The SQL text of the value of rows that are added without one; NULL when `None`.
    pub default: Option<String>,
    /// The SQL text that its values are computed by, of columns that are not generated.
    pub generated: Option<String>,
    /// The types made by CREATE TYPE that its type was written with.
    pub named_types: Vec<String>,
    /// What people are told about it.
    pub comment: Option<String>,
}

/// A condition on every row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckDefinition {
    /// The name of the constraint, if it has one.
    pub name: Option<String>,
    /// SQL text.
    pub condition: String,
}

/// PRIMARY KEY or UNIQUE: no two rows agree in all of the columns, unless one is null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyDefinition {
    /// Positions in the table.
    pub columns: Vec<usize>,
    /// Whether it is the PRIMARY KEY; its columns are not null.
    pub is_primary: bool,
}

impl TableDefinition {
    /// Whether the values of column `index` are computed of others.
    pub fn is_generated(&self, index: usize) -> bool {
        self.columns.get(index).is_some_and(|it| it.generated.is_some())
    }

    /// The columns of each key.
    pub fn key_columns(&self) -> impl Iterator<Item = &[usize]> {
        self.keys.iter().map(|it| it.columns.as_slice())
    }

    /// Whether column `index` holds no null.
    pub fn is_not_null(&self, index: usize) -> bool {
        self.columns.get(index).is_some_and(|it| it.is_not_null)
    }
}
