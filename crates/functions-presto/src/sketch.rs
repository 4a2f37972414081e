//! Functions of HyperLogLog, T-digest, quantile digest and KLL sketches.

mod t_digest;
mod set_digest;
mod types;
mod aggregate;
mod winsorized;
mod scalar;
mod set;
#[cfg(test)]
mod tests;

use set_digest::SetDigest;
use t_digest::TDigest;

use volley_function::{Package, Registry};
use volley_functions::kll::Kll;

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    registry.share(Package::Presto, "empty_approx_set", "empty_approx_set");
    types::register(registry);
    aggregate::register(registry);
    winsorized::register(registry);
    scalar::register(registry);
    set::register(registry);
}
