//! Values of rows that describe objects.

use std::sync::Arc;
use twox_hash::XxHash64;
use volley_catalog::{INFORMATION_SCHEMA, SchemaPlace, TEMPORARY};
use volley_types::{Type, Value};

/// What an object is; two of different kinds may have the same name.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Database,
    Schema,
    Relation,
    Sequence,
    Type,
    Index,
    Function,
}

/// The number of an object, the same in all tables: a hash of its place that programs can keep in
/// a double.
pub(super) fn object_id(kind: Kind, names: &[&str]) -> Value {
    let hash = XxHash64::oneshot(kind as u64, names.join("\0").to_lowercase().as_bytes());
    Value::BigInt((hash >> 11) as i64)
}

/// The number of a type: that of all types of its name, but for an ENUM.
pub(super) fn type_id(data_type: &Type) -> Value {
    let text = data_type.to_string();
    let name = match data_type.labels() {
        Some(_) => text.as_str(),
        None => text.split('(').next().unwrap_or_default(),
    };
    object_id(Kind::Type, &[name])
}

/// Database and schema with their numbers: the first columns of most tables.
pub(super) fn place(at: &SchemaPlace) -> Vec<Value> {
    let SchemaPlace { database, schema } = at;
    vec![
        Value::text(database),
        object_id(Kind::Database, &[database]),
        Value::text(schema),
        object_id(Kind::Schema, &[database, schema]),
    ]
}

/// Database, schema and name with their numbers.
pub(super) fn object(kind: Kind, at: &SchemaPlace, name: &str) -> Vec<Value> {
    let mut row = place(at);
    row.push(Value::text(name));
    row.push(object_id(kind, &[&at.database, &at.schema, name]));
    row
}

/// Whether objects at a place are temporary.
pub(super) fn is_temporary(at: &SchemaPlace) -> bool {
    at.database == TEMPORARY
}

/// Whether a schema is part of the system.
pub(super) fn is_internal(at: &SchemaPlace) -> bool {
    is_temporary(at) || at.schema == INFORMATION_SCHEMA
}

pub(super) fn optional(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::text)
}

pub(super) fn number(number: Option<i32>) -> Value {
    number.map_or(Value::Null, Value::Integer)
}

pub(super) fn count(count: usize) -> Value {
    Value::BigInt(i64::try_from(count).unwrap_or(i64::MAX))
}

pub(super) fn texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Value {
    Value::Array(texts.into_iter().map(Value::text).collect())
}

/// A map without entries.
pub(super) fn no_tags() -> Value {
    Value::Map(Arc::new([]))
}

/// Precision (in bits for what is not decimal), its base, and scale of numbers.
pub(super) fn numeric(data_type: &Type) -> (Option<i32>, Option<i32>, Option<i32>) {
    let bits = |it: i32| (Some(it), Some(2), Some(0));
    match data_type {
        Type::TinyInt => bits(8),
        Type::SmallInt => bits(16),
        Type::Integer => bits(32),
        Type::BigInt => bits(64),
        Type::HugeInt => bits(128),
        Type::Real => (Some(24), Some(2), None),
        Type::Double => (Some(53), Some(2), None),
        Type::Decimal { precision, scale } => {
            (Some((*precision).into()), Some(10), Some((*scale).into()))
        }
        other => match other.unsigned() {
            Some(unsigned) => bits(unsigned.bits() as i32),
            None => (None, None, None),
        },
    }
}
