//! IP addresses and prefixes, and UUIDs.

use volley_function::Registry;

/// Registers the chapter.
pub(crate) fn register(_registry: &mut Registry) {}
