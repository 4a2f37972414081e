//! Functions of HyperLogLog, T-digest, quantile digest and KLL sketches.

use volley_function::Registry;

/// Registers the chapter.
pub(crate) fn register(_registry: &mut Registry) {}
