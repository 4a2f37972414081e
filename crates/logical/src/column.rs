//! Columns by identity.

use std::{cell::Cell, fmt};
use volley_types::Type;

/// The identity of a column within a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnId(pub u32);

/// An output column of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its identity.
    pub id: ColumnId,
    /// Its name, for results, DESCRIBE and EXPLAIN; names may repeat.
    pub name: String,
    /// Its type.
    pub data_type: Type,
}

/// Which call of a volatile function in the text an expression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Occurrence(u32);

/// Hands out column identities of one statement: the binder starts, the optimizer goes on.
#[derive(Debug, Default)]
pub struct ColumnIds(Cell<u32>);

impl ColumnIds {
    /// Starts at zero.
    pub fn new() -> ColumnIds {
        ColumnIds::default()
    }

    /// An identity that was not handed out before.
    pub fn next(&self) -> ColumnId {
        let id = self.0.get();
        self.0.set(id + 1);
        ColumnId(id)
    }

    /// An occurrence that was not handed out before.
    pub fn occurrence(&self) -> Occurrence {
        Occurrence(self.next().0)
    }

    /// A new column.
    pub fn column(&self, name: impl Into<String>, data_type: Type) -> Column {
        Column { id: self.next(), name: name.into(), data_type }
    }
}

impl fmt::Display for ColumnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}
