//! `json_each` and `json_tree`: the parts of a JSON value as rows.
//!
//! The functions give lists of rows; in FROM, the rows are those of a table.

use super::{
    document::{Document, Kind},
    inspect::{DEPTH_MAX, too_deep},
    json_doc, kind_name, parse,
    path::{Path, push_member},
    text::push_value,
};
use std::sync::Arc;
use volley_error::Result;
use volley_function::{
    BoundScalar, EvalContext, Registry, ScalarTraits,
    simple::{take_memory, vectorized, with_memory},
};
use volley_types::{Field, Type, Value, custom::Json};
use volley_vector::{Decoded, Vector};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let each = json_doc(
        "json_each(json[, path]) -> array(row)",
        "The elements of an array or the members of an object, or the value itself: with `key`, \
         `value`, `type`, `atom` (the value, if it has no parts), `id`, `parent`, `fullkey` and \
         `path`. In FROM, a table of them.",
        &[("list_transform(json_each('{\"a\": 1, \"b\": [2]}'), x -> x.fullkey)", "[$.a, $.b]")],
    );
    let tree = json_doc(
        "json_tree(json[, path]) -> array(row)",
        "As json_each, but the value and all within it.",
        &[(
            "list_transform(json_tree('[5, [6]]'), x -> x.fullkey)",
            "[$, '$[0]', '$[1]', '$[1][0]']",
        )],
    );
    for (name, doc, depth) in [("json_each", each, Depth::Parts), ("json_tree", tree, Depth::All)] {
        registry.add_scalar(name, doc, Arc::new(move |args: &[Type]| bind(args, depth)));
    }
}

/// Which values become rows.
#[derive(Clone, Copy, PartialEq)]
enum Depth {
    /// The parts of the value, or the value if it has none.
    Parts,
    /// The value and all within it.
    All,
}

fn bind(args: &[Type], depth: Depth) -> Option<BoundScalar> {
    let is_text = |it: &Type| matches!(it, Type::Varchar | Type::Unknown);
    let (json, path) = args.split_first()?;
    if !(is_text(json) || *json == Json::data_type()) || path.len() > 1 || !path.iter().all(is_text)
    {
        return None;
    }
    let function = vectorized(move |rows, args, to, ctx| {
        let args = args.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
        let mut values = vec![Value::Null; rows.len()];
        let mut find = |row: usize, ctx: &mut EvalContext| {
            if args.iter().any(|it| it.is_null(row)) {
                return;
            }
            let path = args.get(1).map_or("$", |it| it.text(row));
            match rows_of(args[0].text(row), path, depth) {
                Ok(found) => values[row] = Value::Array(found.into()),
                Err(error) => ctx.fail(row, || error),
            }
        };
        with_memory(ctx, |ctx| {
            rows.for_each(|row| find(row, ctx));
            Ok(())
        })?;
        Ok(Vector::from_values(to.clone(), &values))
    });
    let takes = vec![Type::Varchar; args.len()];
    Some(BoundScalar::new(takes, Type::array(row_type()), ScalarTraits::DEFAULT, function))
}

fn row_type() -> Type {
    let json = Json::data_type;
    Type::row([
        Field::new("key", Type::Varchar),
        Field::new("value", json()),
        Field::new("type", Type::Varchar),
        Field::new("atom", json()),
        Field::new("id", Type::BigInt),
        Field::new("parent", Type::BigInt),
        Field::new("fullkey", Type::Varchar),
        Field::new("path", Type::Varchar),
    ])
}

/// A value that becomes a row.
struct Found {
    at: usize,
    /// How many arrays and objects it is in.
    depth: usize,
    key: Value,
    parent: Option<usize>,
    full_key: String,
    path: Arc<str>,
}

fn rows_of(text: &str, path: &str, depth: Depth) -> Result<Vec<Value>> {
    let document = parse(text)?;
    let path = Path::parse(path)?;
    let Some(root) = path.find(&document) else { return Ok(Vec::new()) };
    let full_key = path.text();
    let path = Arc::from(full_key.as_str());
    let whole = Found { at: root, depth: 0, key: Value::Null, parent: None, full_key, path };
    if depth == Depth::Parts {
        if !matches!(document.kind(root), Kind::Array | Kind::Object) {
            return Ok(vec![row_of(&document, whole)]);
        }
        let parts = parts_of(&document, &whole).into_iter();
        return Ok(parts.map(|it| row_of(&document, Found { parent: None, ..it })).collect());
    }
    let (mut rows, mut rest) = (Vec::new(), vec![whole]);
    while let Some(found) = rest.pop() {
        if found.depth > DEPTH_MAX {
            return Err(too_deep());
        }
        let known = rest.len();
        rest.extend(parts_of(&document, &found));
        rest[known..].reverse();
        rows.push(row_of(&document, found));
    }
    Ok(rows)
}

/// Of a row: two lists of its fields, keys and paths, roughly.
const ROW_BYTES: usize = 512 + 2 * FIELDS * size_of::<Value>();
const FIELDS: usize = 8;

/// Whether there is memory for one more row; else the call fails.
fn has_memory<T>(_: &T) -> bool {
    take_memory(ROW_BYTES)
}

fn parts_of(document: &Document<'_>, whole: &Found) -> Vec<Found> {
    let path: Arc<str> = Arc::from(whole.full_key.as_str());
    let found = |at: usize, key: String, full_key: String| Found {
        at,
        depth: whole.depth + 1,
        key: Value::text(key),
        parent: Some(whole.at),
        full_key,
        path: Arc::clone(&path),
    };
    let elements = document.elements(whole.at).take_while(has_memory).enumerate();
    let elements =
        elements.map(|(index, at)| found(at, index.to_string(), format!("{path}[{index}]")));
    let members = document.members(whole.at).take_while(has_memory).map(|(name, at)| {
        let (mut key, mut full_key) = (String::new(), path.to_string());
        document.push_text(name, &mut key);
        push_member(&key, &mut full_key);
        found(at, key, full_key)
    });
    elements.chain(members).collect()
}

fn row_of(document: &Document<'_>, found: Found) -> Value {
    let mut text = String::new();
    // Written, and then kept.
    if take_memory(2 * document.source(found.at).len()) {
        push_value(document, found.at, &mut text);
    }
    let value = Value::text(text);
    let atom = match document.kind(found.at) {
        Kind::Null | Kind::Array | Kind::Object => Value::Null,
        _ => value.clone(),
    };
    let parent = found.parent.map_or(Value::Null, |it| Value::BigInt(it as i64));
    let fields = [
        found.key,
        value,
        Value::text(kind_name(document, found.at)),
        atom,
        Value::BigInt(found.at as i64),
        parent,
        Value::text(found.full_key),
        Value::text(&*found.path),
    ];
    Value::Row(fields.into_iter().collect())
}
