//! One scalar: a literal, a setting, a statistic, a cell of a result.

use crate::{Interval, Object, Type};
use std::{fmt, sync::Arc};

/// A scalar. It does not include the logical type (`Timestamp` and `BigInt` are different variants,
/// but DECIMAL's precision and scale are not stored).
///
/// `PartialEq` is structural: NaN differs from itself and `-0.0` equals `0.0`, as in Rust; see also
/// [`Value::is_identical`].
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL of any type.
    Null,
    /// BOOLEAN.
    Boolean(bool),
    /// TINYINT.
    TinyInt(i8),
    /// SMALLINT.
    SmallInt(i16),
    /// INTEGER.
    Integer(i32),
    /// BIGINT.
    BigInt(i64),
    /// HUGEINT.
    HugeInt(i128),
    /// REAL.
    Real(f32),
    /// DOUBLE.
    Double(f64),
    /// DECIMAL: the unscaled integer; the type holds the scale.
    Decimal(i128),
    /// VARCHAR.
    Varchar(Arc<str>),
    /// VARBINARY.
    Varbinary(Arc<[u8]>),
    /// DATE: days since 1970-01-01.
    Date(i32),
    /// TIME: microseconds since midnight.
    Time(i64),
    /// TIMESTAMP: microseconds since 1970-01-01.
    Timestamp(i64),
    /// INTERVAL.
    Interval(Interval),
    /// ARRAY, also of a fixed size: the elements.
    Array(Arc<[Value]>),
    /// MAP: the entries.
    Map(Arc<[(Value, Value)]>),
    /// ROW: the fields.
    Row(Arc<[Value]>),
    /// A value of an opaque type.
    Object(Object),
}

impl Value {
    /// Whether this is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Whether one may replace the other: they are equal, and their floats bit for bit.
    pub fn is_identical(&self, other: &Value) -> bool {
        let all = |left: &[Value], right: &[Value]| {
            left.len() == right.len() && left.iter().zip(right).all(|(a, b)| a.is_identical(b))
        };
        match (self, other) {
            (Value::Real(left), Value::Real(right)) => left.to_bits() == right.to_bits(),
            (Value::Double(left), Value::Double(right)) => left.to_bits() == right.to_bits(),
            (Value::Array(left), Value::Array(right)) => all(left, right),
            (Value::Row(left), Value::Row(right)) => all(left, right),
            (Value::Map(left), Value::Map(right)) => {
                let entries = || left.iter().zip(right.iter());
                left.len() == right.len()
                    && entries().all(|(a, b)| a.0.is_identical(&b.0) && a.1.is_identical(&b.1))
            }
            _ => self == other,
        }
    }

    /// VARCHAR from text.
    pub fn text(text: impl AsRef<str>) -> Value {
        Value::Varchar(Arc::from(text.as_ref()))
    }

    /// The integer of an integer, decimal (unscaled), date, time or timestamp value.
    pub fn as_i128(&self) -> Option<i128> {
        match *self {
            Value::TinyInt(value) => Some(value.into()),
            Value::SmallInt(value) => Some(value.into()),
            Value::Integer(value) | Value::Date(value) => Some(value.into()),
            Value::BigInt(value) | Value::Time(value) | Value::Timestamp(value) => {
                Some(value.into())
            }
            Value::HugeInt(value) | Value::Decimal(value) => Some(value),
            _ => None,
        }
    }

    /// The text of a VARCHAR value.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Varchar(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a BOOLEAN.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    /// The object of a value of an opaque type.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Approximate bytes of memory that the value keeps alive; shared memory counts for each value.
    pub fn retained_bytes(&self) -> usize {
        /// The counts before what an `Arc` holds.
        const SHARED_BYTES: usize = 2 * size_of::<usize>();
        let all = |values: &[Value]| values.iter().map(Value::retained_bytes).sum::<usize>();
        let shared = match self {
            Value::Varchar(text) => text.len(),
            Value::Varbinary(bytes) => bytes.len(),
            Value::Array(values) | Value::Row(values) => all(values),
            Value::Map(entries) => entries
                .iter()
                .map(|(key, value)| key.retained_bytes() + value.retained_bytes())
                .sum(),
            Value::Object(object) => object.bytes(),
            _ => return size_of::<Value>(),
        };
        size_of::<Value>() + SHARED_BYTES + shared
    }

    /// The value as people read it; `data_type` gives a decimal its scale.
    pub fn display<'a>(&'a self, data_type: &'a Type) -> impl fmt::Display + 'a {
        crate::text::ValueText { value: self, data_type }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_count_with_all_that_they_hold() {
        let small = size_of::<Value>();
        assert_eq!(Value::BigInt(1).retained_bytes(), small);
        let text = Value::text("x".repeat(1000));
        let bytes = text.retained_bytes();
        assert!((1000 + small..1100 + small).contains(&bytes));
        let array = Value::Array(vec![text.clone(), text.clone(), Value::Null].into());
        let of_array = array.retained_bytes();
        assert!((2 * bytes + 2 * small..2 * bytes + 2 * small + 100).contains(&of_array));
        let map = Value::Map(vec![(Value::Null, array.clone()), (text, Value::Null)].into());
        assert!(map.retained_bytes() > of_array + bytes);
        assert!(Value::Row(vec![map, array].into()).retained_bytes() > 2 * of_array + bytes);
    }
}
