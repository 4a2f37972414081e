//! Functions of HyperLogLog, T-digest, quantile digest and KLL sketches.

mod hyper_log_log;
mod t_digest;
mod quantile_digest;
mod set_digest;
mod kll_bytes;
mod types;
mod aggregate;
mod winsorized;
mod scalar;
mod set;
mod approx_set;
mod key_hyper_log_log;
#[cfg(test)]
mod tests;

pub(crate) use approx_set::bind_bytes;
pub(crate) use scalar::bound as bind_values;

use set_digest::SetDigest;
use t_digest::TDigest;

use volley_function::Registry;
use volley_functions::kll::Kll;

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    types::register(registry);
    aggregate::register(registry);
    winsorized::register(registry);
    scalar::register(registry);
    set::register(registry);
    approx_set::register(registry);
    key_hyper_log_log::register(registry);
}
