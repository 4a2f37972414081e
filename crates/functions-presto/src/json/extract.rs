//! What paths lead to, and elements of arrays.

use super::{
    Document, Kind, doc,
    path::{Path, element},
    push_canonical,
};
use crate::constant_cache::ConstantCache;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BindScalar, FunctionDoc, Registry, ScalarFunction, ScalarTraits,
    simple::{
        BigInt, Pattern, Physical, SqlType, StringWriter, Varchar, bind, map_text, map2, scalar,
        vectorized,
    },
};
use volley_types::{Type, custom::Json};

/// Registers `json_extract`, `json_extract_scalar`, `json_size` and `json_array_get`.
pub(super) fn register(registry: &mut Registry) {
    let extract = doc(
        "json_extract(json, path) -> json",
        "The value that a path leads to, null where there is none; an array of all values for a \
         path with [*] or `..`.",
        &[("json_extract('{\"a\": [1, {\"b\": \"x\"}]}', '$.a[1].b')", "\"x\"")],
    );
    add_text(registry, "presto.json_extract", extract, Json::data_type(), write_extract);
    let scalar_doc = doc(
        "json_extract_scalar(json, path) -> varchar",
        "As json_extract, but gives a string, number or boolean as text, and null for all else.",
        &[("json_extract_scalar('{\"a\": [1, {\"b\": \"x\"}]}', '$.a[1].b')", "x")],
    );
    add_text(registry, "presto.json_extract_scalar", scalar_doc, Type::Varchar, write_scalar);
    let size = doc(
        "json_size(json, path) -> bigint",
        "How many elements or members the value has that a path leads to; 0 for a value without \
         parts, null where there is none.",
        &[("json_size('{\"x\": {\"a\": 1, \"b\": 2}}', '$.x')", "2")],
    );
    registry.add_scalar("presto.json_size", size, bind_size());
    let get = doc(
        "json_array_get(json, index) -> json",
        "The element of an array at an index from 0, or from -1 backwards from its end. As in \
         Presto, an element that is a string is returned without quotes, and is therefore not \
         JSON; json_extract returns JSON.",
        &[("json_array_get('[\"a\", [3, 9], \"c\"]', 1)", "[3,9]")],
    );
    let element = scalar(|text: &str, index: i64, out: &mut StringWriter| -> Option<()> {
        let document = Document::parse(text)?;
        let found = element(&document, document.root(), index)?;
        push_unquoted(&document, found, out)
    });
    registry.simple("presto.json_array_get", get, element.returning(|_| Some(Json::data_type())));
}

/// A function of a document and a path that writes a text.
fn add_text(
    registry: &mut Registry,
    name: &str,
    doc: FunctionDoc,
    result: Type,
    write: fn(&Document<'_>, &Path, &mut StringWriter) -> Result<Option<()>>,
) {
    let function = vectorized(move |rows, args, to, ctx| {
        let paths = ConstantCache::default();
        let row = |(text, path): (&str, &str), out: &mut StringWriter| {
            let path = paths.get(path, Path::parse)?;
            match Document::parse(text) {
                Some(document) => write(&document, &path, out),
                None => Ok(None),
            }
        };
        map_text::<(Varchar, Varchar), Result<Option<()>>>(rows, args, to, ctx, row)
    });
    registry.add_scalar(name, doc, of_texts(result, function));
}

fn bind_size() -> BindScalar {
    let function = vectorized(|rows, args, to, ctx| {
        let paths = ConstantCache::default();
        let size = |text: &str, path: &str| -> Result<Option<i64>, Error> {
            let path = paths.get(path, Path::parse)?;
            let Some(document) = Document::parse(text) else { return Ok(None) };
            let size = |at: usize| match document.kind(at) {
                Kind::Object => document.members(at).count(),
                _ => document.elements(at).count(),
            };
            Ok(match (path.find(&document)?.as_slice(), path.is_definite()) {
                ([], true) => None,
                ([at], true) => Some(size(*at) as i64),
                (all, _) => Some(all.len() as i64),
            })
        };
        map2::<Varchar, Varchar, Physical<i64>, _>(rows, args, to, ctx, size)
    });
    of_texts(BigInt::data_type(), function)
}

/// The binding of a function of two texts.
fn of_texts(result: Type, function: Arc<dyn ScalarFunction>) -> BindScalar {
    let text = Pattern::Exact(Type::Varchar);
    let result = Pattern::Exact(result);
    bind(vec![text.clone(), text], result, ScalarTraits::DEFAULT, function)
}

fn write_extract(
    document: &Document<'_>,
    path: &Path,
    out: &mut StringWriter,
) -> Result<Option<()>> {
    let found = path.find(document)?;
    if path.is_definite() {
        return Ok(found.first().map(|at| push_canonical(document, *at, out)));
    }
    out.push('[');
    for (index, at) in found.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_canonical(document, at, out);
    }
    out.push(']');
    Ok(Some(()))
}

fn write_scalar(
    document: &Document<'_>,
    path: &Path,
    out: &mut StringWriter,
) -> Result<Option<()>> {
    let found = path.find(document)?;
    let [at] = found.as_slice() else { return Ok(None) };
    Ok(match document.kind(*at) {
        Kind::Array | Kind::Object => None,
        _ => push_unquoted(document, *at, out),
    })
}

/// A value, texts without their quotes; nothing for null.
fn push_unquoted(document: &Document<'_>, at: usize, out: &mut StringWriter) -> Option<()> {
    match document.kind(at) {
        Kind::Null => return None,
        Kind::Text => {
            let mut text = String::new();
            document.push_text(at, &mut text);
            out.push_str(&text);
        }
        _ => push_canonical(document, at, out),
    }
    Some(())
}
