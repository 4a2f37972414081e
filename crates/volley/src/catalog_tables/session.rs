//! Rows that describe types, functions, settings and variables.

use super::{
    functions,
    objects::schemas_of,
    rows::{Kind, no_tags, object_id, optional, place, texts},
};
use crate::catalog::SessionHost;
use volley_catalog::{MAIN, MEMORY, SchemaPlace, StatementCatalog};
use volley_connector::MacroEntry;
use volley_error::Result;
use volley_function::{FunctionDoc, FunctionKind};
use volley_types::{Type, Value};

type Rows = Result<Vec<Vec<Value>>>;

/// A type that every session knows: its name, that of its type in results, bytes, category.
const TYPES: [(&str, &str, Option<i64>, &str); 17] = [
    ("boolean", "BOOLEAN", Some(1), "BOOLEAN"),
    ("tinyint", "TINYINT", Some(1), "NUMERIC"),
    ("smallint", "SMALLINT", Some(2), "NUMERIC"),
    ("integer", "INTEGER", Some(4), "NUMERIC"),
    ("bigint", "BIGINT", Some(8), "NUMERIC"),
    ("hugeint", "HUGEINT", Some(16), "NUMERIC"),
    ("real", "REAL", Some(4), "NUMERIC"),
    ("double", "DOUBLE", Some(8), "NUMERIC"),
    ("decimal", "DECIMAL", None, "NUMERIC"),
    ("varchar", "VARCHAR", None, "STRING"),
    ("varbinary", "VARBINARY", None, "STRING"),
    ("date", "DATE", Some(4), "DATETIME"),
    ("time", "TIME", Some(8), "DATETIME"),
    ("timestamp", "TIMESTAMP", Some(8), "DATETIME"),
    ("interval", "INTERVAL", Some(16), "DATETIME"),
    ("array", "ARRAY", None, "COMPOSITE"),
    ("map", "MAP", None, "COMPOSITE"),
];

pub(super) fn types(host: &SessionHost, catalog: &StatementCatalog) -> Rows {
    let main = SchemaPlace::new(MEMORY, MAIN);
    let mut rows = Vec::new();
    let mut add = |at: &SchemaPlace, name: &str, logical: &str, size, category, labels| {
        let mut row = place(at);
        row.extend([
            object_id(Kind::Type, &[logical]),
            Value::text(name),
            size,
            Value::text(logical),
            category,
            Value::Null,
            no_tags(),
        ]);
        row.extend([Value::Boolean(Value::is_null(&labels)), Value::Null, labels]);
        rows.push(row);
    };
    for (name, logical, bytes, category) in TYPES {
        let size = bytes.map_or(Value::Null, Value::BigInt);
        add(&main, name, logical, size, Value::text(category), Value::Null);
    }
    for name in host.registry.types().names().filter(|it| !is_known(it)) {
        add(&main, name, &name.to_uppercase(), Value::Null, Value::Null, Value::Null);
    }
    for (at, entry) in catalog.types()? {
        let logical = entry.data_type.to_string();
        let labels = entry.data_type.labels().unwrap_or_default();
        let category = match entry.data_type {
            Type::Row(_) | Type::Array(_) | Type::Map(_) => Value::text("COMPOSITE"),
            _ => Value::Null,
        };
        let labels = texts(labels.iter().map(String::as_str));
        add(&at, &entry.name, &logical, Value::Null, category, labels);
    }
    Ok(rows)
}

pub(super) fn functions(host: &SessionHost, catalog: &StatementCatalog) -> Rows {
    let docs = host.registry.docs();
    let mut rows: Vec<Vec<Value>> = docs.iter().map(|it| function(it.0, it.1, it.2)).collect();
    let nothing = FunctionDoc::default();
    let table = |name: &str| described(Described { name, kind: "table", doc: &nothing });
    rows.extend(host.by_name.keys().map(|it| table(it)));
    rows.extend(functions::names().map(table));
    for (at, schema) in schemas_of(catalog)? {
        rows.extend(schema.macros.values().map(|it| macro_row(&at, it)));
    }
    Ok(rows)
}

fn function(name: &str, kind: FunctionKind, doc: &FunctionDoc) -> Vec<Value> {
    let kind = match kind {
        FunctionKind::Scalar => "scalar",
        FunctionKind::Aggregate => "aggregate",
        FunctionKind::Window => "window",
    };
    described(Described { name, kind, doc })
}

/// Whether a type is one of [`TYPES`].
fn is_known(name: &str) -> bool {
    TYPES.iter().any(|it| it.1 == name)
}

/// A function of the session.
struct Described<'a> {
    name: &'a str,
    kind: &'static str,
    doc: &'a FunctionDoc,
}

fn described(it: Described<'_>) -> Vec<Value> {
    let Described { name, kind, doc } = it;
    let (parameters, result) = parts_of(&doc.signature);
    let written = !doc.signature.is_empty();
    let unknown = parameters.iter().map(|_| Value::Null);
    let categories = (!doc.category.is_empty()).then_some(doc.category.as_str());
    vec![
        Value::text(MEMORY),
        object_id(Kind::Database, &[MEMORY]),
        Value::text(MAIN),
        Value::text(name),
        Value::Null,
        Value::text(kind),
        optional(written.then_some(doc.description.as_str())),
        Value::Null,
        no_tags(),
        optional(result),
        texts(parameters.iter().copied()),
        Value::Array(unknown.collect()),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Boolean(true),
        object_id(Kind::Function, &[kind, name]),
        texts(doc.examples.iter().map(|it| it.0.as_str())),
        Value::Null,
        texts(categories),
    ]
}

/// The names of the parameters and the type of the result of
/// `substring(string, start[, length]) -> varchar`.
fn parts_of(signature: &str) -> (Vec<&str>, Option<&str>) {
    let (call, result) = match signature.rsplit_once("->") {
        Some((call, result)) => (call, Some(result.trim())),
        None => (signature, None),
    };
    let inner = call.split_once('(').and_then(|it| it.1.rsplit_once(')')).map_or("", |it| it.0);
    let names = inner.split([',', '[', ']']).map(str::trim).filter(|it| !it.is_empty());
    (names.collect(), result)
}

fn macro_row(at: &SchemaPlace, it: &MacroEntry) -> Vec<Value> {
    let kind = if it.is_table { "table_macro" } else { "macro" };
    let types = it.parameters.iter().map(|it| optional(it.data_type.as_deref()));
    vec![
        Value::text(&at.database),
        object_id(Kind::Database, &[&at.database]),
        Value::text(&at.schema),
        Value::text(&it.name),
        Value::Null,
        Value::text(kind),
        Value::Null,
        Value::Null,
        no_tags(),
        Value::Null,
        texts(it.parameters.iter().map(|it| it.name.as_str())),
        Value::Array(types.collect()),
        Value::Null,
        Value::text(&it.body),
        Value::Null,
        Value::Boolean(false),
        object_id(Kind::Function, &[&at.database, &at.schema, &it.name]),
        texts([]),
        Value::Null,
        texts([]),
    ]
}

pub(super) fn settings(host: &SessionHost, _catalog: &StatementCatalog) -> Rows {
    let row = |(name, value, description): (&str, String, &str)| {
        vec![
            Value::text(name),
            Value::text(value),
            Value::text(description),
            Value::text("VARCHAR"),
            Value::text("LOCAL"),
            texts([]),
        ]
    };
    Ok(host.session.settings().list().into_iter().map(row).collect())
}

pub(super) fn variables(host: &SessionHost, _catalog: &StatementCatalog) -> Rows {
    let row = |(name, (value, data_type)): (String, (Value, Type))| {
        let shown = match value {
            Value::Null => Value::Null,
            value => Value::text(value.display(&data_type).to_string()),
        };
        vec![Value::text(name), shown, Value::text(data_type.to_string())]
    };
    Ok(host.session.variables().into_iter().map(row).collect())
}
