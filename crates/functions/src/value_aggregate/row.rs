//! Rows of columns as values.

use volley_types::{Type, Value};
use volley_vector::{Decoded, Values};

/// A row of the arguments.
#[derive(Clone, Copy)]
pub struct ValueRow<'a> {
    columns: &'a [&'a Decoded<'a>],
    row: usize,
}

impl<'a> ValueRow<'a> {
    /// A row of the columns.
    pub fn new(columns: &'a [&'a Decoded<'a>], row: usize) -> ValueRow<'a> {
        ValueRow { columns, row }
    }

    /// The value of an argument; null when there is no such argument.
    pub fn value(&self, argument: usize) -> Value {
        match self.columns.get(argument) {
            Some(column) if !column.is_null(self.row) => read(column, column.index(self.row)),
            _ => Value::Null,
        }
    }

    /// The number that an argument of any numeric type but decimals is; `None` when it is null.
    pub fn number(&self, argument: usize) -> Option<f64> {
        match self.value(argument) {
            Value::Double(number) => Some(number),
            Value::Real(number) => Some(number.into()),
            other => other.as_i128().map(|it| it as f64),
        }
    }

    /// The integer that an argument is; `None` when it is null.
    pub fn integer(&self, argument: usize) -> Option<i64> {
        self.value(argument).as_i128().and_then(|it| i64::try_from(it).ok())
    }
}

/// The value at `index` of the base. The frequent types are read without slicing the column.
pub(super) fn read(column: &Decoded<'_>, index: usize) -> Value {
    let values = match (column.values(), column.data_type()) {
        (Values::I64(values), Type::BigInt) => values.get(index).map(|it| Value::BigInt(*it)),
        (Values::I32(values), Type::Integer) => values.get(index).map(|it| Value::Integer(*it)),
        (Values::F64(values), Type::Double) => values.get(index).map(|it| Value::Double(*it)),
        (Values::View(strings), Type::Varchar) => Some(Value::text(strings.text(index))),
        _ => None,
    };
    // A flat base has nothing to load, so there is nothing to fail.
    values.unwrap_or_else(|| column.base().value(index).unwrap_or(Value::Null))
}
