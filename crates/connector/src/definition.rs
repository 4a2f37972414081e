//! What a table that can be changed promises of its rows.

use crate::{Table, TableId};
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
    /// Columns that tell rows apart, those of unique indexes among them.
    pub keys: Vec<KeyDefinition>,
    /// FOREIGN KEY constraints: columns whose values are keys of another table.
    pub foreign_keys: Vec<ForeignKeyDefinition>,
    /// What CREATE INDEX defined.
    pub indexes: Vec<IndexDefinition>,
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
    /// The name of the unique index that demands it; `None` for a constraint.
    pub index: Option<String>,
}

/// FOREIGN KEY with NO ACTION: each row without a null in `columns` has the values of a key of a
/// row of the referenced table, at the end of every statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKeyDefinition {
    /// The name of the constraint, if it has one.
    pub name: Option<String>,
    /// Positions in the table.
    pub columns: Vec<usize>,
    /// The referenced table; `None`: the table itself.
    pub table: Option<TableId>,
    /// Positions in the referenced table, one per column: those of a PRIMARY KEY or UNIQUE
    /// constraint.
    pub referenced: Vec<usize>,
}

impl ForeignKeyDefinition {
    /// The referenced table; `own` is the table that has the constraint.
    pub fn target(&self, own: TableId) -> TableId {
        self.table.unwrap_or(own)
    }
}

/// What CREATE INDEX defined. A unique index is also one of [`TableDefinition::keys`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDefinition {
    /// Its name, which no other index of the schema has.
    pub name: String,
    /// Whether no two rows agree in all columns, unless one is null.
    pub is_unique: bool,
    /// What it is made of.
    pub parts: Vec<IndexPart>,
}

/// What one part of an index is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexPart {
    /// The column at this position.
    Column(usize),
    /// The value of an expression, as SQL text.
    Expression(String),
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

    /// Removes column `index`, which no key, foreign key or index has: later columns move up.
    pub fn drop_column(&mut self, index: usize) {
        if index < self.columns.len() {
            self.columns.remove(index);
        }
        let moved = |column: &mut usize| *column -= usize::from(*column > index);
        self.keys.iter_mut().flat_map(|it| &mut it.columns).for_each(moved);
        for key in &mut self.foreign_keys {
            key.columns.iter_mut().for_each(moved);
            if key.table.is_none() {
                key.referenced.iter_mut().for_each(moved);
            }
        }
        for part in self.indexes.iter_mut().flat_map(|it| &mut it.parts) {
            if let IndexPart::Column(column) = part {
                moved(column);
            }
        }
    }

    /// Whether column `index` is one of an index.
    pub fn is_indexed(&self, index: usize) -> bool {
        let mut parts = self.indexes.iter().flat_map(|it| &it.parts);
        parts.any(|it| *it == IndexPart::Column(index))
    }

    /// Whether column `index` holds no null.
    pub fn is_not_null(&self, index: usize) -> bool {
        self.columns.get(index).is_some_and(|it| it.is_not_null)
    }
}
