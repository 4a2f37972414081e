//! VARCHAR to every type.

use super::{fallible, invalid_text, number::Whole, out_of_range};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BadParts, BoundScalar, ScalarFunction,
    simple::{self, CancelCheck, Physical, Varchar},
};
use volley_types::{
    Interval, Type, Value, match_integer,
    text::{self, Unnested, unnest},
};
use volley_vector::{Decoded, Vector};

/// The conversion of text to `to`.
pub(super) fn bind(to: &Type) -> Option<BoundScalar> {
    let function = match to {
        Type::Unknown | Type::Varchar | Type::Custom(_) | Type::Opaque(_) => return None,
        Type::Boolean => parsed::<simple::Boolean, bool>(to, text::parse_boolean),
        Type::Real => parsed::<simple::Real, f32>(to, text::parse_f32),
        Type::Double => parsed::<simple::Double, f64>(to, text::parse_f64),
        Type::Date => parsed::<simple::Date, i32>(to, text::parse_date),
        Type::Time => parsed::<simple::Time, i64>(to, text::parse_time),
        Type::Timestamp => parsed::<simple::Timestamp, i64>(to, text::parse_timestamp),
        Type::Interval => parsed::<simple::Interval, Interval>(to, text::parse_interval),
        Type::Varbinary => parsed::<simple::Varbinary, Vec<u8>>(to, binary_of),
        Type::Array(_) | Type::FixedArray(_) | Type::Map(_) | Type::Row(_) => nested(),
        _ => match_integer!(to.physical(), T => whole::<T>(to), else return None),
    };
    fallible(&Type::Varchar, to, function)
}

fn parsed<R: simple::ResultType, T: simple::Stored<R::Column> + 'static>(
    to: &Type,
    parse: fn(&str) -> Option<T>,
) -> Arc<dyn ScalarFunction> {
    let to = to.clone();
    simple::function1::<Varchar, R, _>(move |text: &str| -> Result<T, Error> {
        parse(text).ok_or_else(|| invalid_text(text, &to))
    })
}

fn binary_of(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    text::parse_binary(text, &mut bytes).map(|()| bytes)
}

/// Integers and decimals.
fn whole<T: Whole>(to: &Type) -> Arc<dyn ScalarFunction> {
    let to = to.clone();
    simple::function1::<Varchar, Physical<T>, _>(move |text: &str| -> Result<T, Error> {
        let value = unscaled(text, &to).ok_or_else(|| invalid_text(text, &to))?;
        let narrow = T::wrap(value);
        if narrow.into() == value && fits(value, &to) {
            return Ok(narrow);
        }
        Err(out_of_range(text.trim_ascii(), &to))
    })
}

fn unscaled(text: &str, to: &Type) -> Option<i128> {
    match to {
        Type::Decimal { scale, .. } => text::parse_decimal(text, *scale),
        _ => text::parse_integer(text),
    }
}

fn fits(unscaled: i128, to: &Type) -> bool {
    match to {
        Type::Decimal { precision, .. } => {
            unscaled.unsigned_abs() < 10u128.pow((*precision).into())
        }
        _ => true,
    }
}

fn nested() -> Arc<dyn ScalarFunction> {
    simple::vectorized(|rows, args, to, ctx| {
        let decoded = Decoded::new(&args[0])?;
        let shown = to.in_zone(&ctx.query.time_zone);
        let mut values = vec![Value::Null; rows.len()];
        let mut cancel = CancelCheck::default();
        rows.try_for_each(|row| {
            if decoded.is_null(row) {
                return Ok(());
            }
            let text = decoded.text(row);
            cancel.check(text.len())?;
            ctx.charge(parts_bytes(text))?;
            match value_of(text, &shown, ctx.bad_parts) {
                Some(value) => values[row] = value,
                None => ctx.fail(row, || invalid_text(text, to)),
            }
            Ok::<_, Error>(())
        })?;
        Ok(Vector::from_values(to.clone(), &values))
    })
}

/// What a text is split into, roughly: for each part its key and its text, strings of their own,
/// and the value.
fn parts_bytes(text: &str) -> usize {
    /// The smallest allocation that an allocator makes.
    const LEAST_BYTES: usize = 16;
    let parts = text.bytes().filter(|it| matches!(it, b',' | b'=' | b':')).count() + 1;
    parts * (size_of::<Unnested>() + 2 * LEAST_BYTES + size_of::<Value>()) + 2 * text.len()
}

/// The value of any type that a text means.
pub(crate) fn value_of(text: &str, to: &Type, bad_parts: BadParts) -> Option<Value> {
    let part = |it: Option<String>, to: &Type| part_of(it, to, bad_parts);
    Some(match to {
        Type::Unknown | Type::Opaque(_) => return None,
        Type::Varchar => Value::text(text),
        Type::Boolean => Value::Boolean(text::parse_boolean(text)?),
        Type::Real => Value::Real(text::parse_f32(text)?),
        Type::Double => Value::Double(text::parse_f64(text)?),
        Type::Date => Value::Date(text::parse_date(text)?),
        Type::Time => Value::Time(text::parse_time(text)?),
        Type::Timestamp => Value::Timestamp(text::parse_timestamp(text)?),
        Type::Interval => Value::Interval(text::parse_interval(text)?),
        Type::Varbinary => Value::Varbinary(binary_of(text)?.into()),
        Type::TinyInt => Value::TinyInt(text::parse_integer(text)?.try_into().ok()?),
        Type::SmallInt => Value::SmallInt(text::parse_integer(text)?.try_into().ok()?),
        Type::Integer => Value::Integer(text::parse_integer(text)?.try_into().ok()?),
        Type::BigInt => Value::BigInt(text::parse_integer(text)?.try_into().ok()?),
        Type::HugeInt => Value::HugeInt(text::parse_integer(text)?),
        Type::Decimal { .. } => Value::Decimal(unscaled(text, to).filter(|it| fits(*it, to))?),
        Type::Custom(custom) => custom.parse(text)?,
        Type::Array(element) => {
            let parts = unnest(text, '[', ']', None)?;
            let values = parts.into_iter().map(|it| part(it.value, element));
            Value::Array(values.collect::<Option<_>>()?)
        }
        Type::FixedArray(array) => {
            let parts = unnest(text, '[', ']', None)?;
            if parts.len() != array.1 as usize {
                return None;
            }
            let values = parts.into_iter().map(|it| part(it.value, &array.0));
            Value::Array(values.collect::<Option<_>>()?)
        }
        Type::Map(entry) => {
            let parts = unnest(text, '{', '}', Some('='))?;
            let entries = parts.into_iter().map(|it| {
                // A key is never null.
                let key = value_of(&it.key?, &entry.0, BadParts::Fail)?;
                Some((key, part(it.value, &entry.1)?))
            });
            Value::Map(entries.collect::<Option<_>>()?)
        }
        Type::Row(fields) => {
            let parts = unnest(text, '{', '}', Some(':'))?;
            let named = |part: &Unnested, name: &str| {
                part.key.as_ref().is_some_and(|it| it.eq_ignore_ascii_case(name))
            };
            let is_known = |part: &Unnested| fields.iter().any(|it| named(part, &it.name));
            if !parts.iter().all(is_known) {
                return None;
            }
            let value = |field: &volley_types::Field| {
                let part = parts.iter().find(|it| named(it, &field.name));
                part_of(part.and_then(|it| it.value.clone()), &field.data_type, bad_parts)
            };
            Value::Row(fields.iter().map(value).collect::<Option<_>>()?)
        }
    })
}

/// A part of a nested text; `None` within is NULL.
fn part_of(text: Option<String>, to: &Type, bad_parts: BadParts) -> Option<Value> {
    let Some(text) = text else { return Some(Value::Null) };
    let value = value_of(&text, to, bad_parts);
    value.or_else(|| (bad_parts == BadParts::Null).then_some(Value::Null))
}
