//! Parts of a text: `substring`, `left`, `right`, `split_part`.

use super::{byte_of, code_points};
use crate::documentation::doc;
use std::ops::Range;
use volley_function::{
    Registry,
    simple::{BigInt, Varchar, ascii_slice_binary, ascii_slice_ternary, slice_ternary},
};

/// Registers the functions that cut.
pub(super) fn register(registry: &mut Registry) {
    let substring_doc = doc(
        "substring(varchar, start[, length]) -> varchar",
        "The part from code point `start` on (from the end when negative), `length` of them; a \
         negative length goes backward.",
        "string",
        &[("substring('hello', 2, 3)", "ell"), ("substring('hello', -3)", "llo")],
    );
    for name in ["substring", "substr"] {
        let two = ascii_slice_binary::<BigInt>(
            |text, start| substring(text, start, None),
            |len, start| ascii_substring(len, start, None),
        );
        let three = ascii_slice_ternary::<BigInt, BigInt>(
            |text, start, length| substring(text, start, Some(length)),
            |len, start, length| ascii_substring(len, start, Some(length)),
        );
        registry.add_scalar(name, substring_doc.clone(), two);
        registry.add_scalar(name, substring_doc.clone(), three);
    }
    let left_doc = doc(
        "left(varchar, count) -> varchar",
        "The first `count` code points; all but the last `-count` when negative.",
        "string",
        &[("left('hello', 2)", "he"), ("left('hello', -2)", "hel")],
    );
    registry.add_scalar("left", left_doc, ascii_slice_binary::<BigInt>(left, ascii_left));
    let right_doc = doc(
        "right(varchar, count) -> varchar",
        "The last `count` code points; all but the first `-count` when negative.",
        "string",
        &[("right('hello', 2)", "lo"), ("right('hello', -2)", "llo")],
    );
    registry.add_scalar("right", right_doc, ascii_slice_binary::<BigInt>(right, ascii_right));
    let split_doc = doc(
        "split_part(varchar, separator, index) -> varchar",
        "The part at `index` between separators, from 1; from the end when negative; empty when \
         there is none.",
        "string",
        &[("split_part('a,b,c', ',', 2)", "b"), ("split_part('a,b,c', ',', -1)", "c")],
    );
    let split = slice_ternary::<Varchar, BigInt>(|text, separator, index| {
        split_part(text, separator, index)
    });
    registry.add_scalar("split_part", split_doc, split);
}

/// The code points of the half-open range that the arguments mean, cut to the text.
fn substring(text: &str, start: i64, length: Option<i64>) -> &str {
    if start >= 1 && length.is_none_or(|it| it >= 0) {
        return forward(text, start as u64 - 1, length.map(|it| it as u64));
    }
    let (from, to) = range(code_points(text) as i64, start, length);
    forward(text, from as u64, Some((to - from).max(0) as u64))
}

/// [`substring`] of `len` bytes that are code points.
fn ascii_substring(len: usize, start: i64, length: Option<i64>) -> Range<usize> {
    let (from, to) = range(len as i64, start, length);
    from as usize..to.max(from) as usize
}

/// The first code point and that after the last one, of `count`.
pub(super) fn range(count: i64, start: i64, length: Option<i64>) -> (i64, i64) {
    // Position 0 is the place before the first code point.
    let first = if start < 0 { start.saturating_add(count) } else { start - 1 };
    let (from, to) = match length {
        None => (first, count),
        Some(length) if length < 0 => (first.saturating_add(length), first),
        Some(length) => (first, first.saturating_add(length)),
    };
    (from.clamp(0, count), to.clamp(0, count))
}

/// `length` code points after the first `skip`.
fn forward(text: &str, skip: u64, length: Option<u64>) -> &str {
    let rest = &text[byte_of(text, usize::try_from(skip).unwrap_or(usize::MAX))..];
    match length {
        None => rest,
        Some(length) => &rest[..byte_of(rest, usize::try_from(length).unwrap_or(usize::MAX))],
    }
}

fn left(text: &str, count: i64) -> &str {
    if count >= 0 {
        return forward(text, 0, Some(count as u64));
    }
    let keep = (code_points(text) as i64).saturating_add(count).max(0);
    forward(text, 0, Some(keep as u64))
}

/// [`left`] of `len` bytes that are code points.
fn ascii_left(len: usize, count: i64) -> Range<usize> {
    0..kept(len, count)
}

/// [`right`] of `len` bytes that are code points.
fn ascii_right(len: usize, count: i64) -> Range<usize> {
    len - kept(len, count)..len
}

/// How many of `len` code points `count` of them are, or all but `-count`.
fn kept(len: usize, count: i64) -> usize {
    let len = len as i64;
    let kept = if count >= 0 { count.min(len) } else { len.saturating_add(count).max(0) };
    kept as usize
}

fn right(text: &str, count: i64) -> &str {
    if count < 0 {
        return forward(text, count.unsigned_abs(), None);
    }
    let skip = (code_points(text) as i64).saturating_sub(count).max(0);
    forward(text, skip as u64, None)
}

fn split_part<'a>(text: &'a str, separator: &str, index: i64) -> &'a str {
    let at = match usize::try_from(index.unsigned_abs()) {
        Ok(0) | Err(_) => return "",
        Ok(at) => at - 1,
    };
    let part = match (separator.is_empty(), index > 0) {
        (true, true) => text.char_indices().nth(at).map(|(start, it)| (start, it.len_utf8())),
        (true, false) => text.char_indices().nth_back(at).map(|(start, it)| (start, it.len_utf8())),
        (false, true) => return text.split(separator).nth(at).unwrap_or(""),
        (false, false) => return text.rsplit(separator).nth(at).unwrap_or(""),
    };
    part.map_or("", |(start, len)| &text[start..start + len])
}
