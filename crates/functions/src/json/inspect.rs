//! What JSON values consist of, by path: `json_keys`, `json_type`, `json_array_length`; several
//! paths at once; `json_structure`.

use super::{
    document::{Document, Kind},
    json_doc, kind_name, parse,
    path::Path,
    text::{push_quoted, push_value},
};
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{ArrayView, ArrayWriter, CancelCheck, StringWriter, Varchar, scalar},
};
use volley_types::{Type, custom::Json};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    register_keys(registry);
    register_by_path(registry);
    register_lists(registry);
    let structure = json_doc(
        "json_structure(json) -> json",
        "The types of the parts of a value, in its form: those of an array's elements, or of a \
         member in several objects of an array, as one type that fits all.",
        &[(
            "json_structure('{\"a\": [1, 2.5], \"b\": \"x\"}')",
            "{\"a\":[\"DOUBLE\"],\"b\":\"VARCHAR\"}",
        )],
    );
    let function = scalar(|text: &str, out: &mut StringWriter| -> Result<()> {
        let document = parse(text)?;
        let cancel = &mut CancelCheck::default();
        Structure::of(&document, document.root(), DEPTH_MAX, cancel)?.push(out);
        Ok(())
    });
    registry.simple("json_structure", structure, function.returning(|_| Some(Json::data_type())));
}

/// How deep values may be nested that are compared or merged part by part.
pub(super) const DEPTH_MAX: usize = 500;

/// The error of values that are nested deeper.
pub(super) fn too_deep() -> Error {
    Error::invalid_value(format!("JSON nested deeper than {DEPTH_MAX}"))
}

fn register_keys(registry: &mut Registry) {
    let keys = json_doc(
        "json_keys(json[, path]) -> array",
        "The names of an object's members; none of other values, null where there is none.",
        &[("json_keys('{\"a\": 1, \"b\": {}}')", "[a, b]")],
    );
    registry.simple(
        "json_keys",
        keys,
        |text: &str, out: &mut ArrayWriter<Varchar>| -> Result<()> {
            let document = parse(text)?;
            push_keys(&document, document.root(), out);
            Ok(())
        },
    );
    registry.simple(
        "json_keys",
        FunctionDoc::default(),
        |text: &str, path: &str, out: &mut ArrayWriter<Varchar>| -> Result<Option<()>> {
            let document = parse(text)?;
            let found = Path::parse(path)?.find(&document);
            Ok(found.map(|at| push_keys(&document, at, out)))
        },
    );
}

fn push_keys(document: &Document<'_>, at: usize, out: &mut ArrayWriter<Varchar>) {
    for (name, _) in document.members(at) {
        let mut text = String::new();
        document.push_text(name, &mut text);
        out.push(text.as_str());
    }
}

fn register_by_path(registry: &mut Registry) {
    let kind = json_doc(
        "json_type(json, path) -> varchar",
        "What the value is that the path leads to; null where it leads nowhere.",
        &[("json_type('{\"a\": [1]}', '$.a')", "ARRAY")],
    );
    registry.simple("json_type", kind, |text: &str, path: &str| -> Result<Option<&'static str>> {
        let document = parse(text)?;
        Ok(Path::parse(path)?.find(&document).map(|at| kind_name(&document, at)))
    });
    let length = json_doc(
        "json_array_length(json, path) -> bigint",
        "How many elements the array has that the path leads to; null where it leads nowhere.",
        &[("json_array_length('{\"a\": [1, 2]}', '$.a')", "2")],
    );
    registry.simple("json_array_length", length, |text: &str, path: &str| -> Result<Option<i64>> {
        let document = parse(text)?;
        let found = Path::parse(path)?.find(&document);
        Ok(found.map(|at| document.elements(at).count() as i64))
    });
}

/// `json_extract` and `json_extract_string` with several paths.
fn register_lists(registry: &mut Registry) {
    let extract = json_doc(
        "json_extract(json, array of paths) -> array",
        "The values that the paths lead to, null where there is none.",
        &[("json_extract('{\"a\": 1, \"b\": [2]}', ['a', 'b', 'c'])", "[1, [2], NULL]")],
    );
    for name in ["json_extract", "json_extract_path"] {
        let function =
            scalar(|text: &str, paths: ArrayView<Varchar>, out: &mut ArrayWriter<Varchar>| {
                extract_all(text, paths, out, |document, at| {
                    let mut text = String::new();
                    push_value(document, at, &mut text);
                    Some(text)
                })
            });
        let function = function.returning(|_| Some(Type::array(Json::data_type())));
        registry.simple(name, extract.clone(), function);
    }
    let string = json_doc(
        "json_extract_string(json, array of paths) -> array",
        "As json_extract, but with texts without quotes and escapes, and null for null.",
        &[("json_extract_string('{\"a\": \"x\"}', ['a', 'b'])", "[x, NULL]")],
    );
    for name in ["json_extract_string", "json_extract_path_text"] {
        registry.simple(
            name,
            string.clone(),
            |text: &str, paths: ArrayView<Varchar>, out: &mut ArrayWriter<Varchar>| {
                extract_all(text, paths, out, |document, at| {
                    let mut text = String::new();
                    match document.kind(at) {
                        Kind::Null => return None,
                        Kind::Text => document.push_text(at, &mut text),
                        _ => push_value(document, at, &mut text),
                    }
                    Some(text)
                })
            },
        );
    }
}

pub(super) fn extract_all(
    text: &str,
    paths: ArrayView<'_, Varchar>,
    out: &mut ArrayWriter<Varchar>,
    part: impl Fn(&Document<'_>, usize) -> Option<String>,
) -> Result<()> {
    let document = parse(text)?;
    for path in paths.iter() {
        let found = match path {
            Some(path) => Path::parse(path)?.find(&document),
            None => None,
        };
        match found.and_then(|at| part(&document, at)) {
            Some(text) => out.push(text.as_str()),
            None => out.push_null(),
        }
    }
    Ok(())
}

/// The type of a value, or one that fits several values.
enum Structure {
    Plain(&'static str),
    Array(Box<Structure>),
    Object(Vec<(String, Structure)>),
}

impl Structure {
    const ANY: Structure = Structure::Plain("JSON");

    /// That of a value; any where the call fails.
    fn of(
        document: &Document<'_>,
        at: usize,
        depth: usize,
        cancel: &mut CancelCheck,
    ) -> Result<Structure> {
        let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
        match document.kind(at) {
            Kind::Array => {
                let mut element = Structure::Plain("NULL");
                for at in document.elements(at) {
                    let next = Structure::of(document, at, depth, cancel)?;
                    element = element.merged(next, cancel);
                }
                Ok(Structure::Array(Box::new(element)))
            }
            Kind::Object => {
                let mut members = Vec::new();
                for (name, value) in document.members(at) {
                    let mut text = String::new();
                    document.push_text(name, &mut text);
                    members.push((text, Structure::of(document, value, depth, cancel)?));
                }
                Ok(if members.is_empty() { Structure::ANY } else { Structure::Object(members) })
            }
            _ => Ok(Structure::Plain(kind_name(document, at))),
        }
    }

    fn merged(self, other: Structure, cancel: &mut CancelCheck) -> Structure {
        use Structure::{Array, Object, Plain};
        let is_integer = |it: &str| matches!(it, "UBIGINT" | "BIGINT" | "HUGEINT");
        match (self, other) {
            (Plain("NULL"), other) | (other, Plain("NULL")) => other,
            (Plain(a), Plain(b)) if a == b => Plain(a),
            (Plain(a), Plain(b)) if is_integer(a) && is_integer(b) => Plain("HUGEINT"),
            (Plain(a), Plain("DOUBLE")) if is_integer(a) => Plain("DOUBLE"),
            (Plain("DOUBLE"), Plain(b)) if is_integer(b) => Plain("DOUBLE"),
            (Array(a), Array(b)) => Array(Box::new(a.merged(*b, cancel))),
            (Object(mut members), Object(others)) => {
                for (name, other) in others {
                    if !cancel.go_on(members.len()) {
                        break;
                    }
                    match members.iter_mut().find(|it| it.0 == name) {
                        Some((_, known)) => {
                            let before = std::mem::replace(known, Structure::ANY);
                            *known = before.merged(other, cancel);
                        }
                        None => members.push((name, other)),
                    }
                }
                Object(members)
            }
            _ => Structure::ANY,
        }
    }

    fn push(&self, out: &mut StringWriter) {
        match self {
            Structure::Plain(name) => push_quoted(name, out),
            Structure::Array(element) => {
                out.push('[');
                element.push(out);
                out.push(']');
            }
            Structure::Object(members) => {
                out.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    push_quoted(name, out);
                    out.push(':');
                    value.push(out);
                }
                out.push('}');
            }
        }
    }
}
