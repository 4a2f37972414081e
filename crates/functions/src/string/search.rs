//! Whether and where a text occurs in another.

use super::{
    code_points,
    occurrence::{Part, of_texts, searching},
};
use crate::documentation::doc;
use memchr::memmem;
use std::sync::Arc;
use volley_function::{
    Registry, ScalarFunction,
    simple::{BigInt, Boolean, Varchar, binary, function1},
};
use volley_vector::Vector;

/// Registers `position`, `contains`, `starts_with`, `ends_with` and their aliases.
pub(super) fn register(registry: &mut Registry) {
    let position_doc = doc(
        "position(text, part) -> bigint",
        "Where `part` first occurs in `text`, in code points from 1; 0 when it does not.",
        "string",
        &[("position('hello', 'l')", "3"), ("position('hello', 'x')", "0")],
    );
    let by_row =
        |text: &str, part: &str| position(text, memmem::find(text.as_bytes(), part.as_bytes()));
    let positions = searching(binary::<Varchar, Varchar, BigInt, _>(by_row), positions_of);
    for name in ["position", "strpos", "instr"] {
        registry.add_scalar(name, position_doc.clone(), Arc::clone(&positions));
    }
    let predicate = |signature: &str, description: &str, example: (&str, &str)| {
        doc(signature, description, "string", &[example])
    };
    let contains_doc = predicate(
        "contains(text, part) -> boolean",
        "Whether `part` occurs in `text`.",
        ("contains('hello', 'ell')", "true"),
    );
    let contains = searching(
        binary::<Varchar, Varchar, Boolean, _>(|text: &str, part: &str| {
            memmem::find(text.as_bytes(), part.as_bytes()).is_some()
        }),
        texts_with,
    );
    registry.add_scalar("contains", contains_doc, contains);
    let starts = predicate(
        "starts_with(text, start) -> boolean",
        "Whether `text` begins with `start`.",
        ("starts_with('hello', 'he')", "true"),
    );
    for name in ["starts_with", "prefix"] {
        let bind =
            binary::<Varchar, Varchar, Boolean, _>(|text: &str, start| text.starts_with(start));
        registry.add_scalar(name, starts.clone(), bind);
    }
    let ends = predicate(
        "ends_with(text, end) -> boolean",
        "Whether `text` ends with `end`.",
        ("ends_with('hello', 'lo')", "true"),
    );
    for name in ["ends_with", "suffix"] {
        let bind = binary::<Varchar, Varchar, Boolean, _>(|text: &str, end| text.ends_with(end));
        registry.add_scalar(name, ends.clone(), bind);
    }
}

/// The code point of a match at byte `at`, from 1; 0 when there is none.
fn position(text: &str, at: Option<usize>) -> i64 {
    // Matches of valid text begin at a code point.
    at.map_or(0, |at| code_points(&text[..at]) as i64 + 1)
}

/// Where a constant first occurs in a text.
fn positions_of(part: Part) -> Arc<dyn ScalarFunction> {
    let part = Arc::new(part);
    let each = Arc::clone(&part);
    let by_row = move |text: &str| position(text, each.find(text.as_bytes()));
    of_texts(function1::<Varchar, BigInt, _>(by_row), move |texts, to, ctx| {
        // To find out would take longer than to count the code points before matches.
        let is_ascii = !ctx.general_text && texts.knows_ascii() == Some(true);
        let mut positions = vec![0i64; texts.len()];
        part.find_each(texts, |row, at| {
            positions[row] =
                if is_ascii { at as i64 + 1 } else { position(texts.text(row), Some(at)) };
        });
        Some(Vector::native::<i64>(to.clone(), positions, None))
    })
}

/// Whether a constant occurs in a text.
fn texts_with(part: Part) -> Arc<dyn ScalarFunction> {
    let part = Arc::new(part);
    let each = Arc::clone(&part);
    let by_row = move |text: &str| each.find(text.as_bytes()).is_some();
    of_texts(function1::<Varchar, Boolean, _>(by_row), move |texts, _, _| {
        Some(part.select(texts, |_, _| true))
    })
}
