//! Functions of JSON values and several paths, or one with wildcards: a list of what they give for
//! each value that these lead to. And `json_value`.

use super::{
    by_index, by_path,
    document::{Document, Kind},
    inspect::extract_all,
    json_doc, kind_name, parse,
    path::Path,
    text::push_value,
};
use crate::constant_cache::ConstantCache;
use std::sync::Arc;
use volley_error::Result;
use volley_function::{
    BoundScalar, EvalContext, Registry, ScalarTraits,
    simple::{ArrayView, ArrayWriter, Varchar, scalar, take_memory, vectorized, with_memory},
};
use volley_types::{Type, Value, custom::Json};
use volley_vector::{Decoded, Vector};

/// What a function gives for a value of a document.
type Of = fn(&Document<'_>, usize) -> Value;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let functions: [(&str, Type, Of); 9] = [
        ("json_extract", Json::data_type(), json_of),
        ("json_extract_path", Json::data_type(), json_of),
        ("json_extract_string", Type::Varchar, string_of),
        ("json_extract_path_text", Type::Varchar, string_of),
        ("json_value", Json::data_type(), plain_of),
        ("json_type", Type::Varchar, type_of),
        ("json_array_length", Type::BigInt, length_of),
        ("json_keys", Type::array(Type::Varchar), keys_of),
        ("json_exists", Type::Boolean, exists),
    ];
    for (name, element, of) in functions {
        let all = format!("{name}_all");
        let signature = format!("{all}(json, path) -> array");
        let description = format!(
            "What {name} gives for each value that a path leads to; {name} of a constant path with \
             wildcards is the same."
        );
        let call = format!("cardinality({all}('{{\"a\": [1, 2]}}', '$.a[*]'))");
        let doc = json_doc(&signature, &description, &[(call.as_str(), "2")]);
        let bind = move |args: &[Type]| bind(args, &element, of);
        registry.add_scalar(&all, doc, Arc::new(bind));
    }
    register_lists(registry);
    register_value(registry);
}

/// Functions with several paths; `json_extract` and `json_extract_string` have loops of their own.
fn register_lists(registry: &mut Registry) {
    let functions: [(&str, Type, Of, Value, &str); 4] = [
        ("json_type", Type::Varchar, type_of, Value::Null, "[UBIGINT, NULL]"),
        ("json_array_length", Type::BigInt, length_of, Value::Null, "[0, NULL]"),
        ("json_keys", Type::array(Type::Varchar), keys_of, Value::Null, "[[], NULL]"),
        ("json_exists", Type::Boolean, exists, Value::Boolean(false), "[true, false]"),
    ];
    for (name, element, of, missing, result) in functions {
        let call = format!("{name}('{{\"a\": 1}}', ['a', 'b'])");
        let doc = json_doc(
            &format!("{name}(json, array of paths) -> array"),
            &format!("What {name} gives for each path."),
            &[(call.as_str(), result)],
        );
        let bind = move |args: &[Type]| bind_list(args, &element, of, &missing);
        registry.add_scalar(name, doc, Arc::new(bind));
    }
}

fn bind_list(args: &[Type], element: &Type, of: Of, missing: &Value) -> Option<BoundScalar> {
    let [json, paths] = args else { return None };
    let has_paths = matches!(paths, Type::Array(path) if is_text(path));
    if !(is_text(json) || *json == Json::data_type()) || !has_paths {
        return None;
    }
    let missing = missing.clone();
    let function = vectorized(move |rows, args, to, ctx| {
        let json = Decoded::new(&args[0])?;
        let lists = args[1].to_values()?;
        let known = ConstantCache::default();
        let mut values = vec![Value::Null; rows.len()];
        let mut find = |row: usize, ctx: &mut EvalContext| {
            let Value::Array(paths) = &lists[row] else { return };
            let found = || -> Result<Value> {
                let document = parse(json.text(row))?;
                let each = paths.iter().map(|path| {
                    let Some(path) = path.as_str() else { return Ok(Value::Null) };
                    let at = known.get(path, Path::parse)?.find(&document);
                    Ok(at.map_or_else(|| missing.clone(), |at| of(&document, at)))
                });
                Ok(Value::Array(each.collect::<Result<_>>()?))
            };
            match found() {
                Ok(value) => values[row] = value,
                Err(error) => ctx.fail(row, || error),
            }
        };
        with_memory(ctx, |ctx| {
            rows.for_each(|row| find(row, ctx));
            Ok(())
        })?;
        Ok(Vector::from_values(to.clone(), &values))
    });
    let args = vec![Type::Varchar, Type::array(Type::Varchar)];
    let result = Type::array(element.clone());
    Some(BoundScalar::new(args, result, ScalarTraits::DEFAULT, function))
}

fn is_text(data_type: &Type) -> bool {
    matches!(data_type, Type::Varchar | Type::Unknown)
}

fn bind(args: &[Type], element: &Type, of: Of) -> Option<BoundScalar> {
    let [json, path] = args else { return None };
    if !(is_text(json) || *json == Json::data_type()) || !is_text(path) {
        return None;
    }
    let function = vectorized(move |rows, args, to, ctx| {
        let (json, path) = (Decoded::new(&args[0])?, Decoded::new(&args[1])?);
        let paths = ConstantCache::default();
        let mut values = vec![Value::Null; rows.len()];
        let mut find = |row: usize, ctx: &mut EvalContext| {
            if json.is_null(row) || path.is_null(row) {
                return;
            }
            let found = || -> Result<Value> {
                let path = paths.get(path.text(row), Path::parse_any)?;
                let document = parse(json.text(row))?;
                let found = path.find_all(&document)?;
                // A value and its text, kept until all rows are done.
                let of = |at: usize| {
                    let bytes = 2 * (size_of::<Value>() + document.source(at).len());
                    if take_memory(bytes) { of(&document, at) } else { Value::Null }
                };
                Ok(Value::Array(found.into_iter().map(of).collect()))
            };
            match found() {
                Ok(value) => values[row] = value,
                Err(error) => ctx.fail(row, || error),
            }
        };
        with_memory(ctx, |ctx| {
            rows.for_each(|row| find(row, ctx));
            Ok(())
        })?;
        Ok(Vector::from_values(to.clone(), &values))
    });
    let args = vec![Type::Varchar; 2];
    let result = Type::array(element.clone());
    Some(BoundScalar::new(args, result, ScalarTraits::DEFAULT, function))
}

fn register_value(registry: &mut Registry) {
    let doc = json_doc(
        "json_value(json, path) -> json",
        "As json_extract, but null for arrays, objects and null.",
        &[("json_value('{\"a\": 1, \"b\": [2]}', '$.a')", "1"), ("json_value('[[1]]', 0)", "NULL")],
    );
    let write: super::Write = |document, at, out| {
        let is_plain = !matches!(document.kind(at), Kind::Null | Kind::Array | Kind::Object);
        is_plain.then(|| push_value(document, at, out))
    };
    registry.add_scalar("json_value", doc.clone(), by_path(Json::data_type(), write));
    registry.add_scalar("json_value", doc, by_index(Json::data_type(), write));
    let list = json_doc(
        "json_value(json, array of paths) -> array",
        "The values that the paths lead to, null where there is none without parts.",
        &[("json_value('{\"a\": 1, \"b\": [2]}', ['a', 'b'])", "[1, NULL]")],
    );
    let several =
        scalar(|text: &str, paths: ArrayView<Varchar>, out: &mut ArrayWriter<Varchar>| {
            extract_all(text, paths, out, |document, at| {
                plain_of(document, at).as_str().map(str::to_owned)
            })
        });
    let several = several.returning(|_| Some(Type::array(Json::data_type())));
    registry.simple("json_value", list, several);
}

fn type_of(document: &Document<'_>, at: usize) -> Value {
    Value::text(kind_name(document, at))
}

fn length_of(document: &Document<'_>, at: usize) -> Value {
    Value::BigInt(document.elements(at).count() as i64)
}

fn keys_of(document: &Document<'_>, at: usize) -> Value {
    Value::Array(document.members(at).map(|it| text_of(document, it.0)).collect())
}

fn exists(_: &Document<'_>, _: usize) -> Value {
    Value::Boolean(true)
}

fn json_of(document: &Document<'_>, at: usize) -> Value {
    let mut text = String::new();
    push_value(document, at, &mut text);
    Value::text(text)
}

fn string_of(document: &Document<'_>, at: usize) -> Value {
    match document.kind(at) {
        Kind::Null => Value::Null,
        Kind::Text => text_of(document, at),
        _ => json_of(document, at),
    }
}

fn plain_of(document: &Document<'_>, at: usize) -> Value {
    match document.kind(at) {
        Kind::Null | Kind::Array | Kind::Object => Value::Null,
        _ => json_of(document, at),
    }
}

fn text_of(document: &Document<'_>, at: usize) -> Value {
    let mut text = String::new();
    document.push_text(at, &mut text);
    Value::text(text)
}
