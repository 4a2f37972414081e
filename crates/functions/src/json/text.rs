//! JSON values as text: without white space, in the order in which they were written.

use super::document::{Document, Kind, escaped};
use std::fmt::Write;
use volley_types::{Type, Value};

/// Appends the value at a position of a document: members as they come, numbers that are no
/// integers as DOUBLE.
pub(super) fn push_value(document: &Document<'_>, at: usize, out: &mut impl Write) {
    // Writing to memory does not fail.
    let _ = write_value(document, at, out);
}

fn write_value(document: &Document<'_>, at: usize, out: &mut impl Write) -> std::fmt::Result {
    // Where the arrays and objects around a node end, and what ends them.
    let mut open: Vec<(usize, char)> = Vec::new();
    let end = document.next(at);
    let mut is_first = true;
    let mut is_name = false;
    for node in at..end {
        while let Some((_, close)) = open.pop_if(|it| it.0 <= node) {
            out.write_char(close)?;
            is_first = false;
        }
        let in_object = open.last().is_some_and(|it| it.1 == '}');
        let is_value_of_member = in_object && is_name;
        if is_value_of_member {
            out.write_char(':')?;
        } else if !is_first {
            out.write_char(',')?;
        }
        is_name = in_object && !is_value_of_member;
        is_first = false;
        let (begin, close) = match document.kind(node) {
            Kind::Array => ('[', ']'),
            Kind::Object => ('{', '}'),
            Kind::Text => {
                write_string(document.source(node), out)?;
                continue;
            }
            Kind::Number => {
                write_number(document.source(node), out)?;
                continue;
            }
            _ => {
                out.write_str(document.source(node))?;
                continue;
            }
        };
        out.write_char(begin)?;
        open.push((document.next(node), close));
        (is_first, is_name) = (true, false);
    }
    open.iter().rev().try_for_each(|it| out.write_char(it.1))
}

/// Writes a number with a fraction or exponent; one that no DOUBLE holds as it is.
fn write_number(source: &str, out: &mut impl Write) -> std::fmt::Result {
    match source.parse::<f64>() {
        Ok(number) if number.is_finite() => {
            write!(out, "{}", Value::Double(number).display(&Type::Double))
        }
        _ => out.write_str(source),
    }
}

/// Writes a string, given as it is written in a document, with no other escapes than it needs.
///
/// # Errors
///
/// Those of `out`.
pub fn write_string(source: &str, out: &mut impl Write) -> std::fmt::Result {
    if !source.contains('\\') {
        return out.write_str(source);
    }
    out.write_char('"')?;
    let mut rest = source.get(1..source.len().saturating_sub(1)).unwrap_or_default();
    while let Some(escape) = rest.find('\\') {
        out.write_str(&rest[..escape])?;
        let (character, behind) = escaped(&rest[escape + 1..]);
        match character {
            Some(character) => write_character(character, out)?,
            // Half of a surrogate pair is no character: it stays an escape.
            None => out.write_str(&rest[escape..rest.len() - behind.len()])?,
        }
        rest = behind;
    }
    out.write_str(rest)?;
    out.write_char('"')
}

/// Appends a text in quotes, with the escapes that it needs.
pub fn push_quoted(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        // Writing to memory does not fail.
        let _ = write_character(character, out);
    }
    out.push('"');
}

/// Appends an array of what `push` appends for each item.
pub fn push_array<T>(
    out: &mut String,
    items: impl Iterator<Item = T>,
    push: impl Fn(&mut String, T),
) {
    out.push('[');
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(',');
        }
        push(out, item);
    }
    out.push(']');
}

/// Appends an object of names and what `push` appends for each value.
pub fn push_members<T>(
    out: &mut String,
    members: impl Iterator<Item = (String, T)>,
    push: impl Fn(&mut String, T),
) {
    out.push('{');
    for (index, (name, value)) in members.enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_quoted(&name, out);
        out.push(':');
        push(out, value);
    }
    out.push('}');
}

fn write_character(character: char, out: &mut impl Write) -> std::fmt::Result {
    match character {
        '"' => out.write_str("\\\""),
        '\\' => out.write_str("\\\\"),
        '\u{8}' => out.write_str("\\b"),
        '\u{c}' => out.write_str("\\f"),
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        '\0'..'\u{20}' => write!(out, "\\u{:04X}", u32::from(character)),
        other => out.write_char(other),
    }
}
