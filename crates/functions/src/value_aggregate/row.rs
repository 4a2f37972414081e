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

    /// The value of an argument; null if there is no such argument.
    pub fn value(&self, argument: usize) -> Value {
        self.columns.get(argument).map_or(Value::Null, |it| row_value(it, self.row))
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

/// The value of a column's row.
pub fn row_value(column: &Decoded<'_>, row: usize) -> Value {
    if column.is_null(row) { Value::Null } else { read(column, column.index(row)) }
}

/// The value at `index` of the base. The frequent types are read without slicing the column.
pub(super) fn read(column: &Decoded<'_>, index: usize) -> Value {
    // A flat base has nothing to load, so there is nothing to fail.
    let other = || column.base().value(index).unwrap_or(Value::Null);
    let data_type = match column.data_type() {
        Type::Custom(custom) => custom.storage(),
        plain => plain,
    };
    match (column.values(), data_type) {
        (Values::I64(values), Type::BigInt) => Value::BigInt(values[index]),
        (Values::I32(values), Type::Integer) => Value::Integer(values[index]),
        (Values::I16(values), Type::SmallInt) => Value::SmallInt(values[index]),
        (Values::I8(values), Type::TinyInt) => Value::TinyInt(values[index]),
        (Values::F64(values), Type::Double) => Value::Double(values[index]),
        (Values::F32(values), Type::Real) => Value::Real(values[index]),
        (Values::I32(values), Type::Date) => Value::Date(values[index]),
        (Values::I64(values), Type::Timestamp) => Value::Timestamp(values[index]),
        (Values::I64(values), Type::Decimal { .. }) => Value::Decimal(values[index].into()),
        (Values::I128(values), Type::Decimal { .. }) => Value::Decimal(values[index]),
        (Values::Boolean(bits), Type::Boolean) => Value::Boolean(bits.value(index)),
        (Values::View(strings), Type::Varchar) => Value::text(strings.text(index)),
        (Values::View(strings), Type::Varbinary) => Value::Varbinary(strings.bytes(index).into()),
        _ => other(),
    }
}
