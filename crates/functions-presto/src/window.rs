//! Window functions: the core's, which follow the same standard.

use volley_function::{Package, Registry};

/// What Presto's window functions are called, here and in the core.
const NAMES: [&str; 11] = [
    "cume_dist",
    "dense_rank",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "nth_value",
    "ntile",
    "percent_rank",
    "rank",
    "row_number",
];

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    NAMES.into_iter().for_each(|name| registry.share(Package::Presto, name, name));
}
