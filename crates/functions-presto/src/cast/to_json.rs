//! Values as JSON.
//!
//! Numbers, booleans and texts are what they are in JSON; dates and timestamps are texts; maps are
//! objects with their keys as names, in order; rows are arrays. A null stays null, and within
//! another value it is JSON's.

use super::{
    settled,
    to_text::{push_double, push_exact, push_real},
};
use std::ops::Range;
use volley_error::{Error, Result};
use volley_function::{
    BoundScalar, ScalarTraits,
    simple::{Scratch, vectorized},
    sort_by,
};
use volley_functions::json::json_texts;
use volley_types::{
    Field, Type, Value,
    custom::Json,
    text::{push_date_signed, push_timestamp_millis, push_value},
};
use volley_vector::{Cells, JsonStyle, PushKey};

/// The conversion; `None` for types that have none.
pub(super) fn bind(from: &Type, to: &Type) -> Option<BoundScalar> {
    if !has_json(from) {
        return None;
    }
    let of_type = from.clone();
    let function = vectorized(move |rows, args, to, ctx| {
        let cells = Cells::new(&args[0], &of_type)?;
        json_texts(rows, to, ctx, |row, out| out.push(&cells, row, &PrestoJson))
    });
    Some(settled(from, to, ScalarTraits::INFALLIBLE, function))
}

/// Whether values of a type are JSON.
fn has_json(data_type: &Type) -> bool {
    match data_type {
        Type::Array(element) => has_json(element),
        Type::FixedArray(array) => has_json(&array.0),
        Type::Map(entry) => is_name(&entry.0) && has_json(&entry.1),
        Type::Row(fields) => fields.iter().all(|it| has_json(&it.data_type)),
        Type::Unknown | Type::Date | Type::Timestamp => true,
        other => is_name(other) || *other == Json::data_type(),
    }
}

/// Whether values of a type can be names of members.
pub(super) fn is_name(data_type: &Type) -> bool {
    data_type.is_numeric() || matches!(data_type, Type::Boolean | Type::Varchar)
}

struct PrestoJson;

impl JsonStyle for PrestoJson {
    fn is_array(&self, _: &[Field]) -> bool {
        true
    }

    /// By their names.
    fn order(&self, entries: Range<usize>, push_key: PushKey<'_>) -> Result<Option<Vec<usize>>> {
        let (mut scratch, mut names) = (Scratch::default(), Vec::new());
        let mut bytes = entries.len() * size_of::<(String, usize)>();
        for entry in entries {
            let mut name = String::new();
            push_key(entry, &mut name)?;
            bytes += name.len();
            if !scratch.raise(bytes.next_power_of_two()) {
                return Err(Error::cancelled());
            }
            names.push((name, entry));
        }
        sort_by(&mut names, |left, right| left.0.cmp(&right.0))?;
        Ok(Some(names.into_iter().map(|it| it.1).collect()))
    }

    fn push_key(&self, text: &mut String, keys: &Cells, row: usize) -> Result<()> {
        match keys.text(row) {
            Some(name) => text.push_str(name),
            None => push_plain(text, &keys.plain(row)?, keys.data_type()),
        }
        Ok(())
    }

    fn is_bare(&self, value: &Value, data_type: &Type) -> bool {
        match value {
            Value::Real(value) => value.is_finite(),
            Value::Double(value) => value.is_finite(),
            _ => data_type.is_numeric() || *data_type == Type::Boolean,
        }
    }

    fn push_plain(&self, text: &mut String, value: &Value, data_type: &Type) {
        push_plain(text, value, data_type);
    }
}

/// The text of a value without parts.
fn push_plain(text: &mut String, value: &Value, data_type: &Type) {
    match value {
        Value::Real(value) => push_real(text, *value),
        Value::Double(value) => push_double(text, *value),
        Value::Date(days) => push_date_signed(text, *days),
        Value::Timestamp(micros) => push_timestamp_millis(text, *micros),
        Value::Decimal(unscaled) => {
            push_exact(text, *unscaled, data_type.decimal_shape().map_or(0, |it| it.1));
        }
        other => push_value(text, other, data_type),
    }
}
