//! Array functions, with lambdas and without.

use volley_function::Registry;

/// Registers the chapter.
pub(crate) fn register(_registry: &mut Registry) {}
