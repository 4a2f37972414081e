//! JSON functions and operators.
//!
//! ```text
//! text ── document ──> nodes in the order of the text ── path ──> the nodes that a path leads to
//!                                                     └─ canonical ──> text
//! ```
//!
//! Values of the type JSON are canonical texts: no white space, members sorted by name, numbers as
//! they were written. Nothing here recurses, so that nesting is not limited.

mod canonical;
mod extract;
mod path;
mod size;

pub(crate) use canonical::push_canonical;
pub(crate) use volley_functions::json::{Document, Kind};

use volley_error::Error;
use volley_function::{
    FunctionDoc, Registry,
    simple::{StringWriter, scalar},
};
use volley_types::custom::Json;

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    let parse = scalar(|text: &str, out: &mut StringWriter| {
        let document = Document::parse(text).ok_or_else(|| not_json(text))?;
        push_canonical(&document, document.root(), out);
        Ok::<(), Error>(())
    });
    let parse = parse.returning(|_| Some(Json::data_type()));
    registry.simple(
        "presto.json_parse",
        doc(
            "json_parse(varchar) -> json",
            "The JSON value that a text is, in canonical form: without white space, members of \
             objects sorted by name. The inverse of json_format.",
            &[("json_parse('{\"b\": [1, 2.50], \"a\": null}')", "{\"a\":null,\"b\":[1,2.50]}")],
        ),
        parse,
    );
    registry.simple(
        "presto.json_format",
        doc(
            "json_format(json) -> varchar",
            "The text of a JSON value. The inverse of json_parse.",
            &[("json_format(json_parse('[1, 2, 3]'))", "[1,2,3]")],
        ),
        scalar(|text: &str, out: &mut volley_function::simple::PartWriter<0>| out.set(text)),
    );
    extract::register(registry);
    size::register(registry);
}

/// The documentation of a function of this chapter.
fn doc(signature: &str, description: &str, examples: &[(&str, &str)]) -> FunctionDoc {
    FunctionDoc::new(signature, description, "json", examples)
}

/// The error of a text that is no JSON.
pub(crate) fn not_json(text: &str) -> Error {
    Error::invalid_value(format!("cannot convert to JSON: '{text}'"))
}
