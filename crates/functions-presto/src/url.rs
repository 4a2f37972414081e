//! URLs: their parts, and text as a part of one.
//!
//! The syntax is that of RFC 3986, and characters beyond ASCII stand for themselves where others
//! may stand. What is no URL has no parts: its parts are null. Parts that a URL does not have are
//! empty, or null for the port.

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
