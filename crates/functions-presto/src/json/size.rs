//! What JSON values are and hold: `is_json_scalar`, `json_array_length`, `json_array_contains`.

use super::{Document, Kind, doc, not_json};
use volley_error::Error;
use volley_function::Registry;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    registry.simple(
        "presto.is_json_scalar",
        doc(
            "is_json_scalar(json) -> boolean",
            "Whether a JSON value is a number, a string, true, false or null.",
            &[("is_json_scalar('[1, 2, 3]')", "false")],
        ),
        |text: &str| -> Result<bool, Error> {
            let document = Document::parse(text).ok_or_else(|| not_json(text))?;
            Ok(!matches!(document.kind(document.root()), Kind::Array | Kind::Object))
        },
    );
    registry.simple(
        "presto.json_array_length",
        doc(
            "json_array_length(json) -> bigint",
            "The number of elements of an array; null if it is not an array.",
            &[("json_array_length('[1, 2, 3]')", "3")],
        ),
        |text: &str| -> Option<i64> {
            let document = Document::parse(text)?;
            let is_array = document.kind(document.root()) == Kind::Array;
            is_array.then(|| document.elements(document.root()).count() as i64)
        },
    );
    let contains = doc(
        "json_array_contains(json, value) -> boolean",
        "Whether an array has an element that is a boolean, number or string; null if it is not \
         an array. A DOUBLE is not compared with numbers that are written without a fraction or \
         exponent, nor a BIGINT with those that have one.",
        &[("json_array_contains('[1, 2, 3]', 2)", "true")],
    );
    let name = "presto.json_array_contains";
    registry.simple(name, contains, |text: &str, value: i64| {
        has_element(text, |document, at| {
            document.kind(at) == Kind::Integer && document.source(at).parse() == Ok(value)
        })
    });
    let same = volley_function::FunctionDoc::default;
    registry.simple(name, same(), |text: &str, value: bool| {
        let kind = if value { Kind::True } else { Kind::False };
        has_element(text, |document, at| document.kind(at) == kind)
    });
    registry.simple(name, same(), |text: &str, value: f64| {
        // JSON has no such number, whatever the text is.
        if !value.is_finite() {
            return Some(false);
        }
        has_element(text, |document, at| {
            document.kind(at) == Kind::Number && document.source(at).parse() == Ok(value)
        })
    });
    registry.simple(name, same(), |text: &str, value: &str| {
        has_element(text, |document, at| {
            document.kind(at) == Kind::Text && document.is_text(at, value)
        })
    });
}

/// Whether an element of an array is the one; `None` when the text is no array.
fn has_element(text: &str, is_it: impl Fn(&Document<'_>, usize) -> bool) -> Option<bool> {
    let document = Document::parse(text)?;
    if document.kind(document.root()) != Kind::Array {
        return None;
    }
    Some(document.elements(document.root()).any(|it| is_it(&document, it)))
}
