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
use volley_error::Result;
use volley_function::{BadParts, BoundScalar, ScalarTraits, simple::vectorized};
use volley_functions::json::{JsonReader, JsonRules, read_json, twice_error};
use volley_types::{
    Field, Type, Value,
    custom::Json,
    text::{parse_decimal, parse_timestamp},
};

/// The conversion; `None` for types that have none.
pub(super) fn bind(from: &Type, to: &Type) -> Option<BoundScalar> {
    if !takes_json(to) {
        return None;
    }
    let function = vectorized(|rows, args, to, ctx| {
        read_json(&PrestoRules, BadParts::Fail, rows, &args[0], to, ctx)
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

/// How Presto reads JSON.
struct PrestoRules;

impl JsonRules for PrestoRules {
    fn parse<'a>(&self, text: &'a str) -> Result<Document<'a>> {
        Document::parse(text).ok_or_else(|| crate::json::not_json(text))
    }

    fn json(&self, document: &Document<'_>, at: usize) -> Value {
        let mut text = String::new();
        push_canonical(document, at, &mut text);
        Value::text(text)
    }

    fn plain(&self, document: &Document<'_>, at: usize, to: &Type) -> Option<Value> {
        match document.kind(at) {
            Kind::Array | Kind::Object => None,
            Kind::Text => {
                let mut text = String::new();
                document.push_text(at, &mut text);
                plain_value(Kind::Text, &text, to)
            }
            kind => plain_value(kind, document.source(at), to),
        }
    }

    fn row(&self, reader: &JsonReader<'_, Self>, at: usize, fields: &[Field]) -> Result<Value> {
        let elements: Vec<usize> = reader.document.elements(at).collect();
        let values = match reader.document.kind(at) {
            Kind::Array if elements.len() == fields.len() => {
                let values = elements.into_iter().zip(fields);
                values.map(|(it, field)| reader.part(it, &field.data_type)).collect::<Result<_>>()
            }
            Kind::Object => fields.iter().map(|it| field_of(reader, at, it)).collect(),
            _ => Err(reader.misfit(at, &Type::row(fields.to_vec()))),
        };
        Ok(Value::Row(values?))
    }
}

/// The member that a field is, ignoring case; null when there is none.
fn field_of(reader: &JsonReader<'_, PrestoRules>, at: usize, field: &Field) -> Result<Value> {
    let document = &reader.document;
    let mut found = None;
    for (name, member) in document.members(at) {
        let mut text = String::new();
        document.push_text(name, &mut text);
        if !text.eq_ignore_ascii_case(&field.name) {
            continue;
        }
        if found.replace(member).is_some() {
            return Err(twice_error("an object has a name twice", &text));
        }
    }
    found.map_or(Ok(Value::Null), |it| reader.part(it, &field.data_type))
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
