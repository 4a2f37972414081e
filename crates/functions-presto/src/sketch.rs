//! Functions of HyperLogLog, T-digest, quantile digest, KLL, SFM and theta sketches.

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
mod sfm;
mod noisy_set;
mod theta;
mod theta_set;
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
    noisy_set::register(registry);
    theta_set::register(registry);
}
