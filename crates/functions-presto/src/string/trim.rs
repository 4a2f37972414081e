//! `trim`, `ltrim` and `rtrim`.

use super::doc;
use volley_function::{
    FunctionDoc, Registry,
    simple::{Varchar, slice_binary, slice_unary},
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let trim = doc(
        "trim(varchar[, characters]) -> varchar",
        "The text without whitespace, or the given characters, at both ends.",
        &[("trim('  a ')", "a"), ("trim('.t.e.s.t.', '.t')", "e.s")],
    );
    let ltrim = doc(
        "ltrim(varchar[, characters]) -> varchar",
        "The text without whitespace, or the given characters, at its start.",
        &[("ltrim('tetris', 'te')", "ris")],
    );
    let rtrim = doc(
        "rtrim(varchar[, characters]) -> varchar",
        "The text without whitespace, or the given characters, at its end.",
        &[("rtrim('test...', '.')", "test")],
    );
    let mut add = |name, doc, bind| registry.add_scalar(name, doc, bind);
    add("presto.trim", trim, slice_unary(|text| text.trim_matches(is_space)));
    add("presto.ltrim", ltrim, slice_unary(|text| text.trim_start_matches(is_space)));
    add("presto.rtrim", rtrim, slice_unary(|text| text.trim_end_matches(is_space)));
    let none = FunctionDoc::default;
    let both = slice_binary::<Varchar>(|text, set| text.trim_matches(|it| set.contains(it)));
    add("presto.trim", none(), both);
    let start = slice_binary::<Varchar>(|text, set| text.trim_start_matches(|it| set.contains(it)));
    add("presto.ltrim", none(), start);
    let end = slice_binary::<Varchar>(|text, set| text.trim_end_matches(|it| set.contains(it)));
    add("presto.rtrim", none(), end);
}

/// Java's whitespace: separators that do not forbid a line break, and controls.
fn is_space(character: char) -> bool {
    matches!(character,
        '\t'..='\r' | '\u{1C}'..=' ' | '\u{1680}' | '\u{2000}'..='\u{2006}'
        | '\u{2008}'..='\u{200A}' | '\u{2028}' | '\u{2029}' | '\u{205F}' | '\u{3000}')
}
