//! Map functions, with lambdas and without.
//!
//! Keys are equal as values of their type are: NaN equals NaN, custom types by their keys. Keys are
//! unique and not null; entries keep their order.

mod construct;
mod subset;
mod combine;
mod top;
mod trim;

use volley_function::{FunctionDoc, Package, Registry};

/// Functions that mean the same in the core, and what they are called there.
const SHARED: [(&str, &str); 15] = [
    ("map", "map"),
    ("map_keys", "map_keys"),
    ("map_values", "map_values"),
    ("map_filter", "map_filter"),
    ("map_zip_with", "map_zip_with"),
    ("transform_keys", "transform_keys"),
    ("transform_values", "transform_values"),
    ("all_keys_match", "all_keys_match"),
    ("any_keys_match", "any_keys_match"),
    ("no_keys_match", "no_keys_match"),
    ("any_values_match", "any_values_match"),
    ("no_values_match", "no_values_match"),
    ("map_values_all_match", "all_values_match"),
    ("map_values_any_match", "any_values_match"),
    ("map_values_none_match", "no_values_match"),
];

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    for (name, target) in SHARED {
        registry.share(Package::Presto, name, target);
    }
    construct::register(registry);
    subset::register(registry);
    combine::register(registry);
    top::register(registry);
    trim::register(registry);
}

/// What people read about a function of this chapter.
fn doc(signature: &str, description: &str, examples: &[(&str, &str)]) -> FunctionDoc {
    FunctionDoc::new(signature, description, "map", examples)
}
