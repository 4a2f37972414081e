//! Whether and where a text occurs in another.

use super::code_points;
use crate::documentation::doc;
use memchr::memmem;
use volley_function::{
    Registry,
    simple::{BigInt, Boolean, Varchar, ascii_binary, binary},
};

/// Registers `position`, `contains`, `starts_with`, `ends_with` and their aliases.
pub(super) fn register(registry: &mut Registry) {
    let position_doc = doc(
        "position(text, part) -> bigint",
        "Where `part` first occurs in `text`, in code points from 1; 0 when it does not.",
        "string",
        &[("position('hello', 'l')", "3"), ("position('hello', 'x')", "0")],
    );
    for name in ["position", "strpos", "instr"] {
        registry.add_scalar(
            name,
            position_doc.clone(),
            ascii_binary::<Varchar, Varchar, BigInt, _>(position, ascii_position),
        );
    }
    let predicate = |signature: &str, description: &str, example: (&str, &str)| {
        doc(signature, description, "string", &[example])
    };
    let contains_doc = predicate(
        "contains(text, part) -> boolean",
        "Whether `part` occurs in `text`.",
        ("contains('hello', 'ell')", "true"),
    );
    registry.add_scalar("contains", contains_doc, binary::<Varchar, Varchar, Boolean, _>(contains));
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

fn position(text: &str, part: &str) -> i64 {
    match memmem::find(text.as_bytes(), part.as_bytes()) {
        // Matches of valid text begin at a code point.
        Some(at) => code_points(&text[..at]) as i64 + 1,
        None => 0,
    }
}

/// [`position`] where bytes are code points.
fn ascii_position(text: &str, part: &str) -> i64 {
    memmem::find(text.as_bytes(), part.as_bytes()).map_or(0, |at| at as i64 + 1)
}

fn contains(text: &str, part: &str) -> bool {
    memmem::find(text.as_bytes(), part.as_bytes()).is_some()
}
