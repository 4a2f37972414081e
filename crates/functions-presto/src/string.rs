//! String functions. Positions and lengths count code points.

mod bytes;
mod case;
mod cut;
mod edit;
mod join;
mod pad;
mod search;
mod similarity;
mod split;
mod split_map;
mod stem;
mod trim;
mod utf8;

use volley_function::{FunctionDoc, Package, Registry};

/// What means the same in the core: Presto's name, and the core's.
const SHARED: [(&str, &str); 10] = [
    ("bit_length", "bit_length"),
    ("ends_with", "ends_with"),
    ("hamming_distance", "hamming"),
    ("length", "length"),
    ("lower", "lower"),
    ("position", "position"),
    ("reverse", "reverse"),
    ("starts_with", "starts_with"),
    ("strpos", "position"),
    ("to_utf8", "encode"),
];

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    SHARED.into_iter().for_each(|(name, core)| registry.share(Package::Presto, name, core));
    case::register(registry);
    utf8::register(registry);
    join::register(registry);
    trim::register(registry);
    pad::register(registry);
    cut::register(registry);
    bytes::register(registry);
    edit::register(registry);
    search::register(registry);
    split::register(registry);
    split_map::register(registry);
    similarity::register(registry);
    stem::register(registry);
    volley_functions::format::register_java(registry, "presto.format");
}

fn doc(signature: &str, description: &str, examples: &[(&str, &str)]) -> FunctionDoc {
    FunctionDoc::new(signature, description, "string", examples)
}

/// Where the code point number `index` begins, or the end of the text.
fn byte_of(text: &str, index: usize) -> usize {
    nth_byte(text, index).unwrap_or(text.len())
}

/// Where the code point number `index` begins; `None` if the text has fewer.
fn nth_byte(text: &str, index: usize) -> Option<usize> {
    text.char_indices().nth(index).map(|it| it.0)
}

fn code_points(text: &str) -> usize {
    text.chars().count()
}
