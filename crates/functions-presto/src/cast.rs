//! Casts whose rules differ from the core's.

use volley_function::Registry;

/// Registers the chapter.
pub(crate) fn register(_registry: &mut Registry) {}
