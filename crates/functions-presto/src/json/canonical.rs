//! JSON values as text: without white space, members sorted by name, numbers as they were written.

use std::fmt::Write;
use volley_functions::json::{Document, Kind, write_string};

/// An array or object that is being written.
struct Open {
    /// Of a member, the position of its name; and that of the value. The next one is last.
    rest: Vec<(Option<usize>, usize)>,
    end: char,
    is_first: bool,
}

/// Appends the value at a position of a document.
pub(crate) fn push_canonical(document: &Document<'_>, at: usize, out: &mut impl Write) {
    // Writing to memory does not fail.
    let _ = write_value(document, at, out);
}

fn write_value(document: &Document<'_>, at: usize, out: &mut impl Write) -> std::fmt::Result {
    let mut open: Vec<Open> = Vec::new();
    begin(document, at, &mut open, out)?;
    while let Some(innermost) = open.last_mut() {
        let Some((name, value)) = innermost.rest.pop() else {
            out.write_char(innermost.end)?;
            open.pop();
            continue;
        };
        if !std::mem::take(&mut innermost.is_first) {
            out.write_char(',')?;
        }
        if let Some(name) = name {
            write_string(document.source(name), out)?;
            out.write_char(':')?;
        }
        begin(document, value, &mut open, out)?;
    }
    Ok(())
}

/// Writes a value without parts, or begins one with parts.
fn begin(
    document: &Document<'_>,
    at: usize,
    open: &mut Vec<Open>,
    out: &mut impl Write,
) -> std::fmt::Result {
    match document.kind(at) {
        Kind::Array => {
            let mut rest: Vec<_> = document.elements(at).map(|it| (None, it)).collect();
            rest.reverse();
            open.push(Open { rest, end: ']', is_first: true });
            out.write_char('[')
        }
        Kind::Object => {
            open.push(Open { rest: sorted_members(document, at), end: '}', is_first: true });
            out.write_char('{')
        }
        Kind::Text => write_string(document.source(at), out),
        _ => out.write_str(document.source(at)),
    }
}

/// The members in descending order of names; of those with one name the last alone.
fn sorted_members(document: &Document<'_>, at: usize) -> Vec<(Option<usize>, usize)> {
    let named = |(name, value)| {
        let mut text = String::new();
        document.push_text(name, &mut text);
        (text, (Some(name), value))
    };
    let mut members: Vec<_> = document.members(at).map(named).collect();
    members.reverse();
    members.sort_by(|left, right| right.0.cmp(&left.0));
    members.dedup_by(|later, kept| later.0 == kept.0);
    members.into_iter().map(|it| it.1).collect()
}
