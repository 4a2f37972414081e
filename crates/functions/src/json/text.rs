//! JSON values as text: without white space, in the order in which they were written.

use super::document::{Document, Kind, escaped};
use std::fmt::Write;
use volley_types::{Type, Value};

/// Appends the value at a position of a document: members as they arrive, numbers that are no
/// integers as DOUBLE.
pub(super) fn push_value(document: &Document<'_>, at: usize, out: &mut impl Write) {
    // Writing to memory does not fail.
    let _ = write_value(document, at, out, Layout::Compact);
}

/// Writes the value at a position of a document with each element and member on a line of its own;
/// `None` when that is too long.
pub(super) fn write_pretty(document: &Document<'_>, at: usize, out: &mut impl Write) -> Option<()> {
    write_value(document, at, &mut Bounded { out, bytes: 0 }, Layout::Lines).ok()
}

/// The maximum number of bytes of an indented value: deep ones are much longer than they were.
pub(super) const PRETTY_BYTES_MAX: usize = 256 << 20;

/// A text that gets no longer than that.
struct Bounded<'a, W> {
    out: &'a mut W,
    bytes: usize,
}

impl<W: Write> Write for Bounded<'_, W> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.bytes += text.len();
        if self.bytes > PRETTY_BYTES_MAX { Err(std::fmt::Error) } else { self.out.write_str(text) }
    }
}

/// What is between the parts of a value.
#[derive(Clone, Copy, PartialEq)]
enum Layout {
    /// Nothing.
    Compact,
    /// Line ends, and four spaces per array or object around the part.
    Lines,
}

impl Layout {
    /// Moves to the start of the next part at this nesting depth of arrays and objects.
    fn write_break(self, depth: usize, out: &mut impl Write) -> std::fmt::Result {
        match self {
            Layout::Compact => Ok(()),
            Layout::Lines => write!(out, "\n{:1$}", "", depth * 4),
        }
    }
}

fn write_value(
    document: &Document<'_>,
    at: usize,
    out: &mut impl Write,
    layout: Layout,
) -> std::fmt::Result {
    // Where the arrays and objects around a node end, and what ends them.
    let mut open: Vec<(usize, char)> = Vec::new();
    let end = document.next(at);
    let mut is_first = true;
    let mut is_name = false;
    for node in at..end {
        while let Some((_, close)) = open.pop_if(|it| it.0 <= node) {
            write_end(close, is_first, open.len(), out, layout)?;
            is_first = false;
        }
        let in_object = open.last().is_some_and(|it| it.1 == '}');
        let is_value_of_member = in_object && is_name;
        if is_value_of_member {
            out.write_str(if layout == Layout::Lines { ": " } else { ":" })?;
        } else {
            out.write_str(if is_first { "" } else { "," })?;
            if !open.is_empty() {
                layout.write_break(open.len(), out)?;
            }
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
    while let Some((_, close)) = open.pop() {
        write_end(close, is_first, open.len(), out, layout)?;
        is_first = false;
    }
    Ok(())
}

/// Writes the end of an array or object, which is within `depth` others.
fn write_end(
    close: char,
    is_empty: bool,
    depth: usize,
    out: &mut impl Write,
    layout: Layout,
) -> std::fmt::Result {
    if !is_empty {
        layout.write_break(depth, out)?;
    }
    out.write_char(close)
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
pub(super) fn push_quoted(text: &str, out: &mut impl Write) {
    // Writing to memory does not fail.
    let _ = write_quoted(text, out);
}

fn write_quoted(text: &str, out: &mut impl Write) -> std::fmt::Result {
    out.write_char('"')?;
    text.chars().try_for_each(|it| write_character(it, out))?;
    out.write_char('"')
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indented_values_get_no_longer_than_the_limit() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        let length = |text: &str| {
            let document = Document::parse(text).unwrap();
            let mut out = String::new();
            write_pretty(&document, document.root(), &mut out).map(|()| out.len())
        };
        assert_eq!(length(&nested(2)), Some("[\n    []\n]".len()));
        assert!(length(&nested(5_000)).is_some());
        assert_eq!(length(&nested(20_000)), None);
    }
}
