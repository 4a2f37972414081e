//! Nested columns as values, without slicing them for every row.

use super::row::read;
use volley_error::Result;
use volley_types::Value;
use volley_vector::{Decoded, Values, Vector};

/// A column and what its nested values are made of, decoded once.
pub(super) struct Reader {
    column: Decoded<'static>,
    /// The elements of arrays and maps, or the fields of rows.
    parts: Vec<Reader>,
}

impl Reader {
    /// A reader of a decoded column.
    ///
    /// # Errors
    ///
    /// What lazy elements or fields report.
    pub(super) fn new(column: &Decoded<'_>) -> Result<Reader> {
        let column = column.clone().into_owned();
        let of = |part: &Vector| Reader::new(&Decoded::new(part)?);
        let parts = match column.values() {
            Values::Array(nested) | Values::Map(nested) => vec![of(&nested.elements)?],
            Values::FixedArray(arrays) => vec![of(&arrays.elements)?],
            Values::Row { children, .. } => children.iter().map(of).collect::<Result<_>>()?,
            _ => Vec::new(),
        };
        Ok(Reader { column, parts })
    }

    /// The value at `index` of the base, which is not null.
    pub(super) fn at(&self, index: usize) -> Value {
        let elements = self.parts.first();
        match (self.column.values(), elements) {
            (Values::Array(nested), Some(elements)) => {
                Value::Array(nested.range(index).map(|it| elements.value(it)).collect())
            }
            (Values::FixedArray(arrays), Some(elements)) => {
                Value::Array(arrays.range(index).map(|it| elements.value(it)).collect())
            }
            (Values::Map(nested), Some(elements)) => {
                Value::Map(nested.range(index).map(|it| elements.entry(it)).collect())
            }
            (Values::Row { .. }, _) => {
                Value::Row(self.parts.iter().map(|it| it.value(index)).collect())
            }
            _ => read(&self.column, index),
        }
    }

    fn value(&self, row: usize) -> Value {
        if self.column.is_null(row) { Value::Null } else { self.at(self.column.index(row)) }
    }

    /// The key and the value of a map's entry.
    fn entry(&self, row: usize) -> (Value, Value) {
        let index = self.column.index(row);
        match self.parts.as_slice() {
            [key, value] => (key.value(index), value.value(index)),
            _ => (Value::Null, Value::Null),
        }
    }
}
