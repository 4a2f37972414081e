//! Functions that prepare features for machine learning, with the names and meaning of
//! TorchArrow's.
//!
//! ```text
//! register(&mut Registry) ─> hash and buckets of values (`value.rs`), logarithms
//!                            (`logarithm.rs`), with loops for constant arguments (`constant.rs`)
//!                            overlaps of ids (`overlap.rs`)
//! ```
//!
//! A null argument, or a null element of an array, makes a null result. Sessions do not have these
//! functions unless they are registered. This crate does not know sessions.

mod constant;
mod value;
mod logarithm;
mod overlap;

use volley_function::{FunctionDoc, Registry};

/// Registers all functions.
pub fn register(registry: &mut Registry) {
    value::register(registry);
    logarithm::register(registry);
    overlap::register(registry);
}

fn doc(signature: &str, description: &str) -> FunctionDoc {
    FunctionDoc::new(signature, description, "preprocessing", &[])
}
