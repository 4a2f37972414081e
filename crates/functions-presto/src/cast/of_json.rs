//! JSON as values of other types.
//!
//! JSON's null is null. Numbers, booleans and texts convert to each other as in SQL; arrays become
//! arrays, and rows by position; objects become maps, and rows by name, where a name that is
//! missing is null and others are left out.

use super::{
    of_float::whole_of,
    of_text::{boolean, date, double, integer, real},
    settled,
    to_json::is_name,
};
use crate::json::{Document, Kind, push_canonical};
use std::borrow::Cow;
use volley_error::{Error, Result};
use volley_function::{BoundScalar, ScalarTraits, simple::vectorized};
use volley_types::{
    Field, Type, Value,
    custom::Json,
    text::{parse_decimal, parse_timestamp},
};
use volley_vector::{Decoded, Vector};

/// Characters of a JSON text that errors show.
const SHOWN: usize = 60;

/// The conversion; `None` for types that have none.
pub(super) fn bind(from: &Type, to: &Type) -> Option<BoundScalar> {
    if !takes_json(to) {
        return None;
    }
    let of_type = to.clone();
    let function = vectorized(move |rows, args, to, ctx| {
        let decoded = Decoded::new(&args[0])?;
        let mut values = vec![Value::Null; rows.len()];
        rows.for_each(|row| {
            if decoded.is_null(row) {
                return;
            }
            let text = decoded.text(row);
            let document = Document::parse(text).ok_or_else(|| crate::json::not_json(text));
            match document.and_then(|it| value_of(&it, it.root(), &of_type)) {
                Ok(value) => values[row] = value,
                Err(error) => ctx.fail(row, || error),
            }
        });
        Ok(Vector::from_values(to.clone(), &values))
    });
    Some(settled(from, to, ScalarTraits::DEFAULT, function))
}

fn takes_json(data_type: &Type) -> bool {
    match data_type {
        Type::Array(element) => takes_json(element),
        Type::Map(entry) => is_name(&entry.0) && takes_json(&entry.1),
        Type::Row(fields) => fields.iter().all(|it| takes_json(&it.data_type)),
        Type::Date | Type::Timestamp => true,
        other => is_name(other) || *other == Json::data_type(),
    }
}

fn value_of(document: &Document<'_>, at: usize, to: &Type) -> Result<Value> {
    if *to == Json::data_type() {
        let mut text = String::new();
        push_canonical(document, at, &mut text);
        return Ok(Value::text(text));
    }
    match (document.kind(at), to) {
        (Kind::Null, _) => Ok(Value::Null),
        (Kind::Array, Type::Array(element)) => {
            let elements = document.elements(at).map(|it| value_of(document, it, element));
            Ok(Value::Array(elements.collect::<Result<_>>()?))
        }
        (Kind::Object, Type::Map(types)) => map_of(document, at, &types.0, &types.1),
        (Kind::Array, Type::Row(fields)) => {
            let elements: Vec<usize> = document.elements(at).collect();
            if elements.len() != fields.len() {
                return Err(misfit(document, at, to));
            }
            let values = elements.into_iter().zip(fields.iter());
            let values = values.map(|(it, field)| value_of(document, it, &field.data_type));
            Ok(Value::Row(values.collect::<Result<_>>()?))
        }
        (Kind::Object, Type::Row(fields)) => {
            let values = fields.iter().map(|field| field_of(document, at, field));
            Ok(Value::Row(values.collect::<Result<_>>()?))
        }
        (Kind::Array | Kind::Object, _) => Err(misfit(document, at, to)),
        (kind, _) => {
            let mut text = Cow::Borrowed(document.source(at));
            if kind == Kind::Text {
                text = Cow::Owned(String::new());
                document.push_text(at, text.to_mut());
            }
            plain_value(kind, &text, to).ok_or_else(|| misfit(document, at, to))
        }
    }
}

fn map_of(document: &Document<'_>, at: usize, key_type: &Type, value: &Type) -> Result<Value> {
    let mut entries = Vec::new();
    for (name, member) in document.members(at) {
        let mut text = String::new();
        document.push_text(name, &mut text);
        let key = plain_value(Kind::Text, &text, key_type);
        let key = key.ok_or_else(|| misfit(document, name, key_type))?;
        entries.push((key, value_of(document, member, value)?));
    }
    let names = entries.iter().map(|it: &(Value, Value)| it.0.display(key_type).to_string());
    let mut names: Vec<String> = names.collect();
    names.sort();
    if names.windows(2).any(|pair| pair.first() == pair.last()) {
        return Err(Error::invalid_value("a map has a key twice"));
    }
    Ok(Value::Map(entries.into()))
}

/// The member that a field is, ignoring case; null when there is none.
fn field_of(document: &Document<'_>, at: usize, field: &Field) -> Result<Value> {
    let mut found = None;
    for (name, member) in document.members(at) {
        let mut text = String::new();
        document.push_text(name, &mut text);
        if !text.eq_ignore_ascii_case(&field.name) {
            continue;
        }
        if found.replace(member).is_some() {
            return Err(Error::invalid_value(format!("an object has a name twice: {text}")));
        }
    }
    found.map_or(Ok(Value::Null), |it| value_of(document, it, &field.data_type))
}

/// A number, boolean or text as a value of a type without parts.
fn plain_value(kind: Kind, text: &str, to: &Type) -> Option<Value> {
    let whole = || -> Option<i128> {
        match kind {
            Kind::True => Some(1),
            Kind::False => Some(0),
            Kind::Number => whole_of(text.parse().ok()?, to),
            _ => integer(text),
        }
    };
    let is_true = (kind == Kind::True).then_some("1");
    let number = is_true.or((kind == Kind::False).then_some("0")).unwrap_or(text);
    Some(match to {
        Type::Boolean => Value::Boolean(match kind {
            Kind::Integer | Kind::Number => text.parse::<f64>().ok()? != 0.0,
            _ => boolean(text)?,
        }),
        Type::TinyInt => Value::TinyInt(whole()?.try_into().ok()?),
        Type::SmallInt => Value::SmallInt(whole()?.try_into().ok()?),
        Type::Integer => Value::Integer(whole()?.try_into().ok()?),
        Type::BigInt => Value::BigInt(whole()?.try_into().ok()?),
        Type::HugeInt => Value::HugeInt(whole()?),
        Type::Real => Value::Real(real(number)?),
        Type::Double => Value::Double(double(number)?),
        Type::Decimal { precision, scale } => {
            let limit = 10u128.checked_pow((*precision).into())?;
            let unscaled = parse_decimal(number, *scale)?;
            Value::Decimal(Some(unscaled).filter(|it| it.unsigned_abs() < limit)?)
        }
        Type::Varchar => Value::text(text),
        Type::Date if kind == Kind::Text => Value::Date(date(text)?),
        Type::Timestamp if kind == Kind::Text => Value::Timestamp(parse_timestamp(text)?),
        _ => return None,
    })
}

fn misfit(document: &Document<'_>, at: usize, to: &Type) -> Error {
    let source = document.source(at);
    let shown: String = source.chars().take(SHOWN).collect();
    let dots = if shown.len() < source.len() { "..." } else { "" };
    Error::invalid_value(format!("cannot cast JSON to {to}: {shown}{dots}"))
        .hint("TRY_CAST gives NULL instead of an error")
}
