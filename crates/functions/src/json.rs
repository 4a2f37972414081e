//! What JSON values hold: functions behind the operators `->` and `->>`, and what values are.
//!
//! ```text
//! text ── document ──> nodes in the order of the text ── path ──> the node that it leads to
//!                                                      └─ text ──> its text
//! ```
//!
//! Nothing here recurses, so that nesting is not limited.

mod document;
mod path;
mod text;
mod make;
mod inspect;
mod combine;
mod wildcard;
mod rows;
mod read;
mod transform;

pub use document::{Document, Kind, Node};
pub(crate) use make::{CoreJson, name, to_json};
pub use make::{JsonText, json_texts};
pub use read::{JsonReader, JsonRules, read_json, twice_error};
pub use text::write_string;
pub(crate) use transform::cast_json;

use crate::{constant_cache::ConstantCache, documentation::doc};
use path::Path;
use text::{PRETTY_BYTES_MAX, push_value, write_pretty};
use volley_error::{Error, Result};
use volley_function::{
    BindScalar, FunctionDoc, Registry, ScalarTraits,
    simple::{
        BigInt, Boolean, Pattern, Physical, SqlType, StringWriter, Varchar, bind, map_text, map2,
        scalar, vectorized,
    },
};
use volley_types::{Type, custom::Json};

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    register_extract(registry);
    register_texts(registry);
    make::register(registry);
    inspect::register(registry);
    combine::register(registry);
    wildcard::register(registry);
    rows::register(registry);
    transform::register(registry);
    registry.simple(
        "json_valid",
        json_doc(
            "json_valid(text) -> boolean",
            "Whether a text is one JSON value.",
            &[("json_valid('[1, {\"a\": null}]')", "true"), ("json_valid('[1,')", "false")],
        ),
        |text: &str| Document::parse(text).is_some(),
    );
    registry.simple(
        "json_array_length",
        json_doc(
            "json_array_length(json) -> bigint",
            "The number of elements of an array; 0 if it is not an array.",
            &[("json_array_length('[1, 2, 3]')", "3"), ("json_array_length('{}')", "0")],
        ),
        |text: &str| -> Result<i64, Error> {
            let document = parse(text)?;
            Ok(document.elements(document.root()).count() as i64)
        },
    );
    let type_doc = json_doc(
        "json_type(json) -> varchar",
        "What a value is: OBJECT, ARRAY, VARCHAR, BIGINT or UBIGINT, DOUBLE, BOOLEAN or NULL.",
        &[("json_type('[1, 2]')", "ARRAY"), ("json_type('1.5')", "DOUBLE")],
    );
    registry.simple(
        "json_type",
        type_doc,
        scalar(|text: &str, out: &mut StringWriter| {
            let document = parse(text)?;
            out.push_str(kind_name(&document, document.root()));
            Ok::<(), Error>(())
        }),
    );
}

/// `json` and `json_pretty`.
fn register_texts(registry: &mut Registry) {
    let json = json_doc(
        "json(text) -> json",
        "The JSON value of a text, without white space.",
        &[("json(' { \"a\" : [1,  2] } ')", "{\"a\":[1,2]}")],
    );
    let compact = scalar(|text: &str, out: &mut StringWriter| {
        let document = parse(text)?;
        push_value(&document, document.root(), out);
        Ok::<(), Error>(())
    });
    registry.simple("json", json, compact.returning(|_| Some(Json::data_type())));
    let lines = json_doc(
        "json_pretty(json) -> varchar",
        "The value with each element and member on a line of its own, indented by four spaces.",
        &[("replace(json_pretty('[1, {}]'), chr(10), '|')", "[|    1,|    {}|]")],
    );
    registry.simple(
        "json_pretty",
        lines,
        scalar(|text: &str, out: &mut StringWriter| {
            let document = parse(text)?;
            write_pretty(&document, document.root(), out).ok_or_else(|| {
                let most = PRETTY_BYTES_MAX >> 20;
                Error::invalid_value(format!("indented JSON of more than {most} MiB"))
            })
        }),
    );
}

/// `json_extract` and `json_extract_string`, by path and by index.
fn register_extract(registry: &mut Registry) {
    let extract = json_doc(
        "json_extract(json, path) -> json",
        "The value that a path leads to, null where there is none; also written `json -> path`. The \
         path is a member's name, the index of an array's element (from 0, or from -1 backwards \
         from its end), `$.name[index]` or `/name/index`.",
        &[
            ("json_extract('{\"a\": [1, {\"b\": \"x\"}]}', '$.a[1].b')", "\"x\""),
            ("json_extract('{\"a\": [1, 2]}', 'a')", "[1,2]"),
            ("json_extract('[3, 5]', -1)", "5"),
        ],
    );
    let string = json_doc(
        "json_extract_string(json, path) -> varchar",
        "As json_extract, but gives a string without quotes and escapes, and null for null; also \
         written `json ->> path`.",
        &[("json_extract_string('{\"a\": [1, {\"b\": \"x\"}]}', '$.a[1].b')", "x")],
    );
    let write_json: Write = |document, at, out| {
        push_value(document, at, out);
        Some(())
    };
    let names: [(&str, FunctionDoc, Type, Write); 4] = [
        ("json_extract", extract.clone(), Json::data_type(), write_json),
        ("json_extract_path", extract, Json::data_type(), write_json),
        ("json_extract_string", string.clone(), Type::Varchar, write_text),
        ("json_extract_path_text", string, Type::Varchar, write_text),
    ];
    for (name, doc, result, write) in names {
        registry.add_scalar(name, doc.clone(), by_path(result.clone(), write));
        registry.add_scalar(name, doc, by_index(result, write));
    }
    let exists = json_doc(
        "json_exists(json, path) -> boolean",
        "Whether a path leads to a value; see json_extract.",
        &[("json_exists('{\"a\": null}', 'a')", "true")],
    );
    let function = vectorized(|rows, args, to, ctx| {
        let paths = ConstantCache::default();
        let exists = |text: &str, path: &str| -> Result<bool, Error> {
            let path = paths.get(path, Path::parse)?;
            Ok(path.find(&parse(text)?).is_some())
        };
        map2::<Varchar, Varchar, Boolean, _>(rows, args, to, ctx, exists)
    });
    let texts = vec![Pattern::Exact(Type::Varchar); 2];
    let result = Pattern::Exact(Type::Boolean);
    registry.add_scalar(
        "json_exists",
        exists,
        bind(texts, result, ScalarTraits::DEFAULT, function),
    );
}

/// Writes a value of a document; `None` for null.
type Write = fn(&Document<'_>, usize, &mut StringWriter) -> Option<()>;

fn by_path(result: Type, write: Write) -> BindScalar {
    let function = vectorized(move |rows, args, to, ctx| {
        let paths = ConstantCache::default();
        let row = |(text, path): (&str, &str), out: &mut StringWriter| -> Result<Option<()>> {
            let path = paths.get(path, Path::parse)?;
            let document = parse(text)?;
            Ok(path.find(&document).and_then(|at| write(&document, at, out)))
        };
        map_text::<(Varchar, Varchar), Result<Option<()>>>(rows, args, to, ctx, row)
    });
    let texts = vec![Pattern::Exact(Type::Varchar); 2];
    bind(texts, Pattern::Exact(result), ScalarTraits::DEFAULT, function)
}

fn by_index(result: Type, write: Write) -> BindScalar {
    let function = vectorized(move |rows, args, to, ctx| {
        let row = |(text, index): (&str, i64), out: &mut StringWriter| -> Result<Option<()>> {
            let document = parse(text)?;
            let found = Path::of_element(index).find(&document);
            Ok(found.and_then(|at| write(&document, at, out)))
        };
        map_text::<(Varchar, Physical<i64>), Result<Option<()>>>(rows, args, to, ctx, row)
    });
    let args = vec![Pattern::Exact(Type::Varchar), Pattern::Exact(BigInt::data_type())];
    bind(args, Pattern::Exact(result), ScalarTraits::DEFAULT, function)
}

fn write_text(document: &Document<'_>, at: usize, out: &mut StringWriter) -> Option<()> {
    match document.kind(at) {
        Kind::Null => return None,
        Kind::Text => {
            let mut text = String::new();
            document.push_text(at, &mut text);
            out.push_str(&text);
        }
        _ => push_value(document, at, out),
    }
    Some(())
}

fn kind_name(document: &Document<'_>, at: usize) -> &'static str {
    match document.kind(at) {
        Kind::Null => "NULL",
        Kind::True | Kind::False => "BOOLEAN",
        Kind::Integer => integer_name(document.source(at)),
        Kind::Number => "DOUBLE",
        Kind::Text => "VARCHAR",
        Kind::Array => "ARRAY",
        Kind::Object => "OBJECT",
    }
}

/// Integers beyond 64 bits are no integers.
fn integer_name(source: &str) -> &'static str {
    match source.starts_with('-') {
        true if source.parse::<i64>().is_ok() => "BIGINT",
        false if source.parse::<u64>().is_ok() => "UBIGINT",
        _ => "DOUBLE",
    }
}

fn parse(text: &str) -> Result<Document<'_>> {
    Document::parse(text).ok_or_else(|| Error::invalid_value(format!("not JSON: '{text}'")))
}

fn json_doc(signature: &str, description: &str, examples: &[(&str, &str)]) -> FunctionDoc {
    doc(signature, description, "json", examples)
}
