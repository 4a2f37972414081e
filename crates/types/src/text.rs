//! Values as text, and text as values.
//!
//! `push_…` functions append to a string and allocate nothing per value; `parse_…` functions accept
//! blanks around the text and return `None` for invalid text. The forms are DuckDB's: `1.0`,
//! `1e+20`, `0044-03-15 (BC)`, `2020-01-31 12:00:00.5`, `1 year 3 days 04:05:06`, `\xAA`,
//! `[1, NULL]`, `{'a': 1}`, `{k=v}`.

mod binary;
mod interval;
mod nested;
mod number;
mod number_parse;
mod temporal;
mod temporal_parse;
mod type_name;

pub use binary::{parse_binary, push_binary};
pub use interval::{interval_unit, parse_interval, push_interval};
pub use nested::{Unnested, push_quoted_where_needed, unnest};
pub use number::{
    push_boolean, push_decimal, push_f32, push_f64, push_i64, push_i128, push_type_name, push_u128,
};
pub use number_parse::{
    parse_boolean, parse_decimal, parse_f32, parse_f64, parse_integer, parse_unsigned,
};
pub use temporal::{
    push_date, push_date_signed, push_offset, push_time, push_time_millis, push_timestamp,
    push_timestamp_millis, push_timestamp_nanos,
};
pub use temporal_parse::{
    WrittenZone, parse_date, parse_time, parse_timestamp, parse_timestamp_nanos, parse_zoned,
    parse_zoned_time,
};
pub use type_name::TypeNames;

use crate::{Field, Type, Value, custom::Json};
use std::fmt;

/// Prints a value of a type.
pub(crate) struct ValueText<'a> {
    pub(crate) value: &'a Value,
    pub(crate) data_type: &'a Type,
}

impl fmt::Display for ValueText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        push_value(&mut text, self.value, self.data_type);
        f.pad(&text)
    }
}

/// Appends a value as CAST to VARCHAR writes it; NULL as `NULL`.
pub fn push_value(out: &mut String, value: &Value, data_type: &Type) {
    if let (Type::Custom(custom), false) = (data_type, value.is_null()) {
        return custom.push(out, value);
    }
    match value {
        Value::Null => out.push_str("NULL"),
        Value::Boolean(value) => push_boolean(out, *value),
        Value::TinyInt(value) => push_i64(out, (*value).into()),
        Value::SmallInt(value) => push_i64(out, (*value).into()),
        Value::Integer(value) => push_i64(out, (*value).into()),
        Value::BigInt(value) => push_i64(out, *value),
        Value::HugeInt(value) => push_i128(out, *value),
        Value::Real(value) => push_f32(out, *value),
        Value::Double(value) => push_f64(out, *value),
        Value::Decimal(value) => {
            let (precision, scale) = data_type.decimal_shape().unwrap_or((38, 0));
            push_decimal(out, *value, precision, scale);
        }
        Value::Varchar(text) => out.push_str(text),
        Value::Varbinary(bytes) => push_binary(out, bytes),
        Value::Date(days) => push_date(out, *days),
        Value::Time(micros) => push_time(out, *micros),
        Value::Timestamp(micros) => push_timestamp(out, *micros),
        Value::Interval(interval) => push_interval(out, *interval),
        Value::Array(elements) => push_array(out, elements, data_type),
        Value::Map(entries) => push_map(out, entries, data_type),
        Value::Row(fields) => push_row(out, fields, data_type),
        Value::Object(object) => object.push(out),
    }
}

fn push_array(out: &mut String, elements: &[Value], data_type: &Type) {
    let element_type = match data_type {
        Type::Array(element) => element,
        Type::FixedArray(array) => &array.0,
        _ => &Type::Unknown,
    };
    out.push('[');
    for (index, element) in elements.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { ", " });
        if has_own_quotes(element_type) {
            push_value(out, element, element_type);
        } else {
            push_inner(out, element, element_type);
        }
    }
    out.push(']');
}

fn push_map(out: &mut String, entries: &[(Value, Value)], data_type: &Type) {
    let (key_type, value_type) = match data_type {
        Type::Map(entry) => (&entry.0, &entry.1),
        _ => (&Type::Unknown, &Type::Unknown),
    };
    out.push('{');
    for (index, (key, value)) in entries.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { ", " });
        push_inner(out, key, key_type);
        out.push('=');
        push_inner(out, value, value_type);
    }
    out.push('}');
}

fn push_row(out: &mut String, values: &[Value], data_type: &Type) {
    let fields: &[Field] = match data_type {
        Type::Row(fields) => fields,
        _ => &[],
    };
    let named = fields.iter().any(|it| !it.name.is_empty());
    out.push(if named { '{' } else { '(' });
    for (index, value) in values.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { ", " });
        let field = fields.get(index);
        if let Some(field) = field.filter(|_| named) {
            push_field_name(out, &field.name);
        }
        push_inner(out, value, field.map_or(&Type::Unknown, |it| &it.data_type));
    }
    out.push(if named { '}' } else { ')' });
}

/// Appends `'name': `.
pub fn push_field_name(out: &mut String, name: &str) {
    out.push('\'');
    nested::push_escaped(out, name);
    out.push_str("': ");
}

/// Whether values of this type have quotes of their own, so that elements of arrays get no others.
pub fn has_own_quotes(data_type: &Type) -> bool {
    *data_type == Json::data_type()
}

/// Appends a value within an array, map or row: text is quoted where it would be misread.
fn push_inner(out: &mut String, value: &Value, data_type: &Type) {
    let start = out.len();
    push_value(out, value, data_type);
    if !value.is_null() && !data_type.is_nested() && !data_type.is_number() {
        push_quoted_where_needed(out, start);
    }
}

#[cfg(test)]
mod tests;
