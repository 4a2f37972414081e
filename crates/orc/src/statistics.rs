//! What a writer noted of the values of a column, in a file, a stripe or a row group.

use crate::{
    proto::{Field, Message, zigzag},
    schema::{Node, NodeKind},
};
use volley_connector::{Bounds, compare_values};
use volley_error::Result;
use volley_types::{Type, Value};

const MICROS_PER_MILLI: i64 = 1000;

/// Statistics as they are stored.
#[derive(Default)]
struct Stored<'a> {
    /// How many values are not null.
    values: Option<u64>,
    has_null: Option<bool>,
    least: Option<Field<'a>>,
    greatest: Option<Field<'a>>,
    sum: Option<Field<'a>>,
    /// How many booleans are true.
    trues: Option<u64>,
}

/// The bounds of the values of `node` among `rows` rows of the file, from a message with
/// statistics. What is damaged or not understood is unknown.
pub(crate) fn read_bounds(bytes: &[u8], node: &Node, rows: u64) -> Bounds {
    let Ok(stored) = Stored::read(bytes, node.kind) else { return Bounds::default() };
    let nulls = match (stored.values, stored.has_null) {
        // Only of columns that are not within lists is the number of their rows known.
        (_, Some(false)) => Some(0),
        (Some(values), _) => rows.checked_sub(values),
        _ => None,
    };
    let mut bounds = Bounds { nulls, ..Bounds::default() };
    bounds.min = stored.least.and_then(|it| bound_value(it, node, Side::Least));
    bounds.max = stored.greatest.and_then(|it| bound_value(it, node, Side::Greatest));
    if let Some((least, greatest)) = stored.boolean_bounds(node.kind) {
        bounds.min = Some(Value::Boolean(least));
        bounds.max = Some(Value::Boolean(greatest));
    }
    if matches!(node.kind, NodeKind::Float | NodeKind::Double) {
        stored.keep_float_bounds(&mut bounds);
    }
    if let (Some(min), Some(max)) = (&bounds.min, &bounds.max)
        && compare_values(min, max).is_none_or(std::cmp::Ordering::is_gt)
    {
        (bounds.min, bounds.max) = (None, None);
    }
    bounds
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Least,
    Greatest,
}

impl<'a> Stored<'a> {
    fn read(bytes: &'a [u8], kind: NodeKind) -> Result<Stored<'a>> {
        let mut stored = Stored::default();
        let mut message = Message::new(bytes);
        while let Some((number, field)) = message.next()? {
            match (number, kind) {
                (1, _) => stored.values = Some(field.integer()?),
                (10, _) => stored.has_null = Some(field.integer()? != 0),
                (2, NodeKind::Byte | NodeKind::Integer)
                | (3, NodeKind::Float | NodeKind::Double)
                | (6, NodeKind::Decimal)
                | (7, NodeKind::Integer) => stored.read_range(field.message()?, [1, 2])?,
                (4, NodeKind::Text) => stored.read_texts(field.message()?)?,
                (5, NodeKind::Boolean) => stored.read_buckets(field.message()?)?,
                (9, NodeKind::Timestamp | NodeKind::Instant) => {
                    // Fields 1 and 2 are in an unknown time zone (ORC-135).
                    stored.read_range(field.message()?, [3, 4])?;
                }
                _ => {}
            }
        }
        Ok(stored)
    }

    /// Reads the fields with these numbers as the least and the greatest value.
    fn read_range(&mut self, mut message: Message<'a>, numbers: [u64; 2]) -> Result<()> {
        let [least, greatest] = numbers;
        while let Some((number, field)) = message.next()? {
            if number == least {
                self.least = Some(field);
            } else if number == greatest {
                self.greatest = Some(field);
            } else if number == 3 {
                self.sum = Some(field);
            }
        }
        Ok(())
    }

    /// Texts longer than 1024 bytes are cut, and have fields of their own.
    fn read_texts(&mut self, mut message: Message<'a>) -> Result<()> {
        while let Some((number, field)) = message.next()? {
            match number {
                1 | 4 => self.least = Some(field),
                2 | 5 => self.greatest = Some(field),
                _ => {}
            }
        }
        Ok(())
    }

    fn read_buckets(&mut self, mut message: Message) -> Result<()> {
        let mut counts = Vec::new();
        while let Some((number, field)) = message.next()? {
            if number == 1 {
                field.integers(&mut counts)?;
            }
        }
        self.trues = counts.first().copied();
        Ok(())
    }

    fn boolean_bounds(&self, kind: NodeKind) -> Option<(bool, bool)> {
        let (trues, values) = self.trues.zip(self.values)?;
        (kind == NodeKind::Boolean && values > 0 && trues <= values)
            .then_some((trues == values, trues > 0))
    }

    /// NaN is the greatest value for us and in no bounds; a sum that is a number says that there
    /// is none.
    fn keep_float_bounds(&self, bounds: &mut Bounds) {
        let is_nan = |it: &Option<Value>| match it {
            Some(Value::Real(value)) => value.is_nan(),
            Some(Value::Double(value)) => value.is_nan(),
            _ => false,
        };
        if is_nan(&bounds.min) || is_nan(&bounds.max) {
            (bounds.min, bounds.max) = (None, None);
        }
        let sum = self.sum.and_then(|it| it.double().ok());
        if sum.is_none_or(f64::is_nan) {
            bounds.max = None;
        }
    }
}

/// A bound as a value of the node's type.
fn bound_value(field: Field, node: &Node, side: Side) -> Option<Value> {
    match node.kind {
        NodeKind::Byte | NodeKind::Integer => integer_value(field.signed().ok()?, &node.data_type),
        NodeKind::Float => {
            let value = field.double().ok()?;
            // Another value than one of the column would be rounded into it.
            let narrow = value as f32;
            (f64::from(narrow) == value).then_some(Value::Real(narrow))
        }
        NodeKind::Double => field.double().ok().map(Value::Double),
        NodeKind::Text => field.text().ok().map(Value::text),
        NodeKind::Decimal => decimal_value(field.text().ok()?, &node.data_type),
        NodeKind::Timestamp => {
            timestamp_bound(zigzag(field.integer().ok()?), side).map(Value::Timestamp)
        }
        NodeKind::Instant => {
            timestamp_bound(zigzag(field.integer().ok()?), side).map(Value::Timestamp)
        }
        _ => None,
    }
}

fn integer_value(value: i64, data_type: &Type) -> Option<Value> {
    Some(match data_type {
        Type::TinyInt => Value::TinyInt(value.try_into().ok()?),
        Type::SmallInt => Value::SmallInt(value.try_into().ok()?),
        Type::Integer => Value::Integer(value.try_into().ok()?),
        Type::BigInt => Value::BigInt(value),
        Type::Date => Value::Date(value.try_into().ok()?),
        _ => return None,
    })
}

/// Bounds of timestamps are in milliseconds, rounded in either direction.
fn timestamp_bound(millis: i64, side: Side) -> Option<i64> {
    let wider = match side {
        Side::Least => millis.checked_sub(1)?,
        Side::Greatest => millis.checked_add(1)?,
    };
    wider.checked_mul(MICROS_PER_MILLI)
}

/// A decimal from its text, if it is one of the type.
fn decimal_value(text: &str, data_type: &Type) -> Option<Value> {
    let (_, scale) = data_type.decimal_shape()?;
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let zeros = usize::from(scale).checked_sub(fraction.len())?;
    let mut value: i128 = 0;
    let all = whole.bytes().chain(fraction.bytes()).chain(std::iter::repeat_n(b'0', zeros));
    for digit in all {
        let digit = digit.checked_sub(b'0').filter(|it| *it < 10)?;
        value = value.checked_mul(10)?.checked_add(digit.into())?;
    }
    Some(Value::Decimal(if is_negative { -value } else { value }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_from_their_text() {
        let data_type = Type::decimal(10, 2);
        let read = |text| decimal_value(text, &data_type);
        assert_eq!(read("12.3"), Some(Value::Decimal(1230)));
        assert_eq!(read("-0.05"), Some(Value::Decimal(-5)));
        assert_eq!(read("7"), Some(Value::Decimal(700)));
        assert_eq!([read("1.234"), read("1e5"), read("x")], [None, None, None]);
    }

    #[test]
    fn bounds_of_timestamps_hold_what_rounding_dropped() {
        assert_eq!(timestamp_bound(-1, Side::Least), Some(-2000));
        assert_eq!(timestamp_bound(5, Side::Greatest), Some(6000));
        assert_eq!(timestamp_bound(i64::MAX, Side::Greatest), None);
    }
}
