//! Upper and lower case, by code point: characters whose other case has several stay.

use crate::documentation::doc;
use volley_function::{
    BindScalar, Registry,
    simple::{StringWriter, Varchar, ascii_text_unary, preserving_ascii, text_unary},
};

/// Registers `upper`, `lower` and `initcap`.
pub(super) fn register(registry: &mut Registry) {
    let upper = doc(
        "upper(varchar) -> varchar",
        "The text in upper case.",
        "string",
        &[("upper('größe')", "GRÖẞE")],
    );
    let lower = doc(
        "lower(varchar) -> varchar",
        "The text in lower case.",
        "string",
        &[("lower('ÄB')", "äb")],
    );
    for name in ["upper", "ucase"] {
        registry.add_scalar(name, upper.clone(), upper_function());
    }
    for name in ["lower", "lcase"] {
        registry.add_scalar(name, lower.clone(), lower_function());
    }
    let initcap = doc(
        "initcap(varchar) -> varchar",
        "The text with the first letter of each word in upper case and the others in lower case.",
        "string",
        &[("initcap('hello wORLD')", "Hello World")],
    );
    registry.add_scalar("initcap", initcap, text_unary::<Varchar, Varchar, _>(write_initcap));
}

fn upper_function() -> BindScalar {
    preserving_ascii(ascii_text_unary::<Varchar, Varchar, _>(
        |text, out| text.chars().for_each(|it| out.push(upper_of(it))),
        |text, out| out.push_mapped(text.as_bytes(), |it| it.to_ascii_uppercase()),
    ))
}

fn lower_function() -> BindScalar {
    preserving_ascii(ascii_text_unary::<Varchar, Varchar, _>(
        |text, out| text.chars().for_each(|it| out.push(lower_of(it))),
        |text, out| out.push_mapped(text.as_bytes(), |it| it.to_ascii_lowercase()),
    ))
}

fn write_initcap(text: &str, out: &mut StringWriter) {
    let mut in_word = false;
    for character in text.chars() {
        out.push(if in_word { lower_of(character) } else { upper_of(character) });
        in_word = character.is_alphanumeric();
    }
}

/// The upper case, if it is one character; that of ß is ẞ, as in DuckDB.
fn upper_of(character: char) -> char {
    if character == 'ß' {
        return 'ẞ';
    }
    single(character.to_uppercase()).unwrap_or(character)
}

/// The lower case; of several characters the first.
pub(crate) fn lower_of(character: char) -> char {
    character.to_lowercase().next().unwrap_or(character)
}

fn single(mut characters: impl Iterator<Item = char>) -> Option<char> {
    let first = characters.next();
    first.filter(|_| characters.next().is_none())
}
