//! Parts of texts by extended grapheme clusters (UAX #29), the characters that users see.

use super::cut::range;
use crate::documentation::doc;
use unicode_segmentation::UnicodeSegmentation;
use volley_function::{
    Registry,
    simple::{BigInt, slice_binary, slice_ternary},
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let length = doc(
        "length_grapheme(varchar) -> bigint",
        "The number of user-visible characters: grapheme clusters.",
        "string",
        &[("length_grapheme('e\u{301}a')", "2")],
    );
    registry.simple("length_grapheme", length, |text: &str| text.graphemes(true).count() as i64);
    let left = doc(
        "left_grapheme(varchar, count) -> varchar",
        "The first `count` grapheme clusters; all but the last `-count` when negative.",
        "string",
        &[("left_grapheme('abc', 2)", "ab")],
    );
    let of_left = slice_binary::<BigInt>(|text, count| {
        let len = text.graphemes(true).count() as i64;
        let end = if count < 0 { len.saturating_add(count) } else { count };
        part(text, 0, end)
    });
    registry.add_scalar("left_grapheme", left, of_left);
    let right = doc(
        "right_grapheme(varchar, count) -> varchar",
        "The last `count` grapheme clusters; all but the first `-count` when negative.",
        "string",
        &[("right_grapheme('abc', 2)", "bc")],
    );
    let of_right = slice_binary::<BigInt>(|text, count| {
        let len = text.graphemes(true).count() as i64;
        let start = if count < 0 { count.saturating_neg() } else { len.saturating_sub(count) };
        part(text, start, len)
    });
    registry.add_scalar("right_grapheme", right, of_right);
    let substring = doc(
        "substring_grapheme(varchar, start[, length]) -> varchar",
        "As substring, but counts grapheme clusters.",
        "string",
        &[("substring_grapheme('hello', 2, 3)", "ell")],
    );
    let between = |text: &str, start: i64, length: Option<i64>| {
        let len = text.graphemes(true).count() as i64;
        range(len, start, length)
    };
    let two = slice_binary::<BigInt>(move |text, start| {
        let (from, to) = between(text, start, None);
        part(text, from, to)
    });
    let three = slice_ternary::<BigInt, BigInt>(move |text, start, length| {
        let (from, to) = between(text, start, Some(length));
        part(text, from, to)
    });
    registry.add_scalar("substring_grapheme", substring.clone(), two);
    registry.add_scalar("substring_grapheme", substring, three);
}

/// The clusters from number `from`, from 0, up to `to`.
fn part(text: &str, from: i64, to: i64) -> &str {
    let at = |count: i64| {
        let count = usize::try_from(count).unwrap_or(0);
        text.grapheme_indices(true).nth(count).map_or(text.len(), |it| it.0)
    };
    text.get(at(from)..at(to)).unwrap_or_default()
}
