//! Trimming at one or both ends. Without a set of characters only the space is trimmed.

use crate::documentation::doc;
use volley_function::{
    Registry,
    simple::{Varchar, slice_binary, slice_unary},
};

/// Registers `trim`, `ltrim` and `rtrim`.
pub(super) fn register(registry: &mut Registry) {
    let trim = doc(
        "trim(varchar[, characters]) -> varchar",
        "The text without spaces, or the given characters, at both ends.",
        "string",
        &[("trim('  a ')", "a"), ("trim('xyaxy', 'xy')", "a")],
    );
    let ltrim = doc(
        "ltrim(varchar[, characters]) -> varchar",
        "The text without spaces, or the given characters, at its start.",
        "string",
        &[("ltrim('xxa', 'x')", "a")],
    );
    let rtrim = doc(
        "rtrim(varchar[, characters]) -> varchar",
        "The text without spaces, or the given characters, at its end.",
        "string",
        &[("rtrim('axx', 'x')", "a")],
    );
    registry.add_scalar("trim", trim.clone(), slice_unary(|text| text.trim_matches(' ')));
    registry.add_scalar("ltrim", ltrim.clone(), slice_unary(|text| text.trim_start_matches(' ')));
    registry.add_scalar("rtrim", rtrim.clone(), slice_unary(|text| text.trim_end_matches(' ')));
    let both = slice_binary::<Varchar>(|text, set| text.trim_matches(|it| set.contains(it)));
    registry.add_scalar("trim", trim, both);
    let start = slice_binary::<Varchar>(|text, set| text.trim_start_matches(|it| set.contains(it)));
    registry.add_scalar("ltrim", ltrim, start);
    let end = slice_binary::<Varchar>(|text, set| text.trim_end_matches(|it| set.contains(it)));
    registry.add_scalar("rtrim", rtrim, end);
}
