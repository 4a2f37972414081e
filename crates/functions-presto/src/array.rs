//! Array functions, with lambdas and without.
//!
//! Elements are equal as values of their type are: NaN equals NaN, custom types by their keys. As
//! elements of a set, nulls are equal, too.

mod access;
mod search;
mod set;
mod extreme;
mod number;
mod sort;
mod part;
mod chunk;
mod concat;
mod join;
mod sequence;
mod transpose;
mod zip;
mod find;

pub(crate) use sort::{ComparisonSort, take_from_end};

use volley_function::{FunctionDoc, Package, Registry};

/// Functions that mean the same as others, and what those are called.
const SHARED: [(&str, &str); 12] = [
    ("array_constructor", "list_value"),
    ("array_dupes", "presto.array_duplicates"),
    ("array_has_dupes", "presto.array_has_duplicates"),
    ("cardinality", "cardinality"),
    ("all_match", "all_match"),
    ("any_match", "any_match"),
    ("none_match", "none_match"),
    ("filter", "filter"),
    ("transform", "transform"),
    ("transform_with_index", "transform"),
    ("reduce", "reduce"),
    ("zip_with", "zip_with"),
];

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    for (name, target) in SHARED {
        registry.share(Package::Presto, name, target);
    }
    access::register(registry);
    search::register(registry);
    set::register(registry);
    extreme::register(registry);
    number::register(registry);
    sort::register(registry);
    part::register(registry);
    chunk::register(registry);
    concat::register(registry);
    join::register(registry);
    sequence::register(registry);
    transpose::register(registry);
    zip::register(registry);
    find::register(registry);
}

/// What people read about a function of this chapter.
fn doc(signature: &str, description: &str, examples: &[(&str, &str)]) -> FunctionDoc {
    FunctionDoc::new(signature, description, "array", examples)
}
