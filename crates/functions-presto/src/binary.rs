//! Binary functions: encodings, checksums, hashes.

mod encode;
mod hash;
mod internal_hash;
mod murmur;
mod number;
mod radix;
mod spooky;

pub(crate) use murmur::{murmur3_x64_128, murmur3_x64_128_seeded};

use volley_function::{FunctionDoc, Registry};

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    encode::register(registry);
    number::register(registry);
    hash::register(registry);
    internal_hash::register(registry);
}

fn doc(signature: &str, description: &str, examples: &[(&str, &str)]) -> FunctionDoc {
    FunctionDoc::new(signature, description, "binary", examples)
}
