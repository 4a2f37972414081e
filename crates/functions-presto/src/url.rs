//! URLs: their parts, and text as a part of one.
//!
//! The syntax is that of RFC 3986; characters beyond ASCII are allowed where other characters are.
//! The parts of an invalid URL are null. Missing parts of a URL are empty, or null for the port.

mod parse;
mod escape;
mod extract;

use volley_function::{FunctionDoc, Registry};

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    extract::register(registry);
    escape::register(registry);
}

/// What people read about a function of this chapter.
fn doc(signature: &str, description: &str, examples: &[(&str, &str)]) -> FunctionDoc {
    FunctionDoc::new(signature, description, "url", examples)
}
