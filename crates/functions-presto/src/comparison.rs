//! Comparison functions and operators, conditions, and what a value is.

use volley_function::Registry;

/// Registers the chapter.
pub(crate) fn register(_registry: &mut Registry) {}
