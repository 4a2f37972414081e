//! Upper and lower case, by code point: characters whose other case has several stay.

use crate::documentation::doc;
use volley_function::{
    Registry,
    simple::{StringWriter, Varchar, text_unary},
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
        registry.add_scalar(name, upper.clone(), text_unary::<Varchar, Varchar, _>(write_upper));
    }
    for name in ["lower", "lcase"] {
        registry.add_scalar(name, lower.clone(), text_unary::<Varchar, Varchar, _>(write_lower));
    }
    let initcap = doc(
        "initcap(varchar) -> varchar",
        "The text with the first letter of each word in upper case and the others in lower case.",
        "string",
        &[("initcap('hello wORLD')", "Hello World")],
    );
    registry.add_scalar("initcap", initcap, text_unary::<Varchar, Varchar, _>(write_initcap));
}

fn write_upper(text: &str, out: &mut StringWriter) {
    if text.is_ascii() {
        push_mapped(text, out, u8::to_ascii_uppercase);
        return;
    }
    text.chars().for_each(|it| out.push(upper_of(it)));
}

fn write_lower(text: &str, out: &mut StringWriter) {
    if text.is_ascii() {
        push_mapped(text, out, u8::to_ascii_lowercase);
        return;
    }
    text.chars().for_each(|it| out.push(lower_of(it)));
}

/// Appends ASCII bytes mapped to ASCII, in pieces that the compiler makes vector loops of.
fn push_mapped(text: &str, out: &mut StringWriter, map: impl Fn(&u8) -> u8) {
    for chunk in text.as_bytes().chunks(32) {
        let mut mapped = [0; 32];
        mapped.iter_mut().zip(chunk).for_each(|(to, from)| *to = map(from));
        out.push_bytes(&mapped[..chunk.len()]);
    }
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
