//! Values as JSON.
//!
//! Numbers, booleans and texts are what they are in JSON; dates and timestamps are texts; maps are
//! objects with their keys as names, in order; rows are arrays. A null stays null, and within
//! another value it is JSON's.

use super::{
    settled,
    to_text::{push_double, push_exact, push_real},
};
use crate::json::{self, push_quoted};
use std::{borrow::Cow, fmt::Write};
use volley_function::{BoundScalar, ScalarTraits, simple::vectorized};
use volley_types::{
    Type, Value,
    custom::Json,
    text::{push_date_signed, push_timestamp_millis},
};
use volley_vector::Vector;

/// The conversion; `None` for types that have none.
pub(super) fn bind(from: &Type, to: &Type) -> Option<BoundScalar> {
    if !has_json(from) {
        return None;
    }
    let of_type = from.clone();
    let function = vectorized(move |rows, args, to, _| {
        let values = args[0].to_values()?;
        let mut texts = vec![Value::Null; rows.len()];
        rows.for_each(|row| {
            if let Some(value) = values.get(row).filter(|it| !it.is_null()) {
                let mut text = String::new();
                push(&mut text, value, &of_type);
                texts[row] = Value::text(text);
            }
        });
        Ok(Vector::from_values(to.clone(), &texts))
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

fn push(out: &mut String, value: &Value, data_type: &Type) {
    match (value, data_type) {
        (Value::Array(elements), Type::Array(element)) => {
            push_list(out, elements.iter().map(|it| (it, element.as_ref())));
        }
        (Value::Array(elements), Type::FixedArray(array)) => {
            push_list(out, elements.iter().map(|it| (it, &array.0)));
        }
        (Value::Row(values), Type::Row(fields)) => {
            push_list(out, values.iter().zip(fields.iter().map(|it| &it.data_type)));
        }
        (Value::Map(entries), Type::Map(types)) => push_object(out, entries, &types.0, &types.1),
        (Value::Varchar(text), Type::Custom(_)) => out.push_str(text),
        _ => push_plain(out, value, data_type),
    }
}

fn push_list<'a>(out: &mut String, elements: impl Iterator<Item = (&'a Value, &'a Type)>) {
    json::push_array(out, elements, |out, (element, data_type)| push(out, element, data_type));
}

fn push_object(out: &mut String, entries: &[(Value, Value)], key: &Type, value: &Type) {
    let named = |(name, it)| {
        let mut text = String::new();
        push_text(&mut text, name, key);
        (text, it)
    };
    let mut members: Vec<(String, &Value)> =
        entries.iter().map(|it| named((&it.0, &it.1))).collect();
    members.sort_by(|left, right| left.0.cmp(&right.0));
    json::push_members(out, members.into_iter(), |out, it| push(out, it, value));
}

fn push_plain(out: &mut String, value: &Value, data_type: &Type) {
    let is_finite = match value {
        Value::Real(value) => value.is_finite(),
        Value::Double(value) => value.is_finite(),
        _ => true,
    };
    let is_bare = matches!(value, Value::Null | Value::Boolean(_)) || data_type.is_numeric();
    if is_bare && is_finite {
        return push_text(out, value, data_type);
    }
    let text = match value {
        Value::Varchar(text) => Cow::Borrowed(&**text),
        _ => {
            let mut text = String::new();
            push_text(&mut text, value, data_type);
            Cow::Owned(text)
        }
    };
    push_quoted(&text, out);
}

/// The text of a value without parts.
fn push_text(out: &mut String, value: &Value, data_type: &Type) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Real(value) => push_real(out, *value),
        Value::Double(value) => push_double(out, *value),
        Value::Date(days) => push_date_signed(out, *days),
        Value::Timestamp(micros) => push_timestamp_millis(out, *micros),
        Value::Varchar(text) => out.push_str(text),
        Value::Decimal(unscaled) => {
            push_exact(out, *unscaled, data_type.decimal_shape().map_or(0, |it| it.1));
        }
        // Writing to memory does not fail.
        other => _ = write!(out, "{}", other.display(data_type)),
    }
}
