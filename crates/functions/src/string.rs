//! Functions on text.
//!
//! Positions and lengths count Unicode code points, from 1. ASCII text takes fast paths. Functions
//! that return a part of their argument copy nothing.

mod measure;
mod case;
mod cut;
mod grapheme;
mod trim;
mod pad;
mod occurrence;
mod search;
mod edit;
mod join;
mod encode;
mod distance;
mod similarity;
mod path;
mod digest;
mod escape;
mod digits;

pub(crate) use case::lower_of;
pub use digits::push_digits;
pub use distance::levenshtein;
pub use escape::push_percent;
pub(crate) use occurrence::{Part, of_texts};
pub use similarity::{Transpositions, jaro_winkler};

use crate::documentation::doc;
use volley_function::{FunctionDoc, Registry};

/// Registers the functions on text, except for patterns.
pub(crate) fn register(registry: &mut Registry) {
    measure::register(registry);
    case::register(registry);
    cut::register(registry);
    grapheme::register(registry);
    trim::register(registry);
    pad::register(registry);
    search::register(registry);
    edit::register(registry);
    join::register(registry);
    encode::register(registry);
    distance::register(registry);
    similarity::register(registry);
    path::register(registry);
    digest::register(registry);
    escape::register(registry);
    digits::register(registry);
}

fn string_doc(signature: &str, description: &str, examples: &[(&str, &str)]) -> FunctionDoc {
    doc(signature, description, "string", examples)
}

/// The byte position of code point `count`, or the end of the text.
pub(crate) fn byte_of(text: &str, count: usize) -> usize {
    if count >= text.len() {
        return text.len();
    }
    if text.is_ascii() {
        return count;
    }
    text.char_indices().nth(count).map_or(text.len(), |(at, _)| at)
}

/// The number of code points.
pub(crate) fn code_points(text: &str) -> usize {
    // Each code point has one byte that does not continue another.
    text.bytes().filter(|byte| !matches!(byte, 0x80..=0xBF)).count()
}
