//! Distributions of counts.

use super::{
    check, check_probability, check_shape, doc,
    inverse::least_integer,
    special::{beta_lower, gamma_upper},
};
use volley_error::Result;
use volley_function::Registry;

/// Registers the binomial and the Poisson distribution and their inverses.
pub(super) fn register(registry: &mut Registry) {
    let binomial_doc = doc(
        "binomial_cdf(trials, probability, value) -> double",
        "The probability of at most `value` successes in `trials` trials with the given \
         probability of success.",
        &[("round(binomial_cdf(20, 0.5, 10), 6)", "0.588099")],
    );
    registry.simple(
        "presto.binomial_cdf",
        binomial_doc,
        |trials: i64, success: f64, value: i64| {
            check_binomial(trials, success)?;
            Ok::<f64, volley_error::Error>(binomial(trials as f64, success, value as f64))
        },
    );
    let inverse_binomial_doc = doc(
        "inverse_binomial_cdf(trials, probability, p) -> integer",
        "The least number of successes for which `binomial_cdf` is at least p.",
        &[("inverse_binomial_cdf(20, 0.5, 0.5)", "10")],
    );
    registry.simple("presto.inverse_binomial_cdf", inverse_binomial_doc, inverse_binomial);
    let poisson_doc = doc(
        "poisson_cdf(lambda, value) -> double",
        "The probability of at most `value` in the Poisson distribution of mean lambda.",
        &[("round(poisson_cdf(3, 2), 6)", "0.42319")],
    );
    registry.simple("presto.poisson_cdf", poisson_doc, |lambda: f64, value: i64| -> Result<f64> {
        check(value >= 0, "value must not be negative")?;
        check_shape(lambda, "lambda")?;
        Ok(gamma_upper(value as f64 + 1.0, lambda))
    });
    let inverse_poisson_doc = doc(
        "inverse_poisson_cdf(lambda, p) -> integer",
        "The least value for which `poisson_cdf` is at least p.",
        &[("inverse_poisson_cdf(3, 0.5)", "3")],
    );
    registry.simple("presto.inverse_poisson_cdf", inverse_poisson_doc, |lambda: f64, p: f64| {
        check((0.0..1.0).contains(&p), "p must be in the interval [0, 1)")?;
        check_shape(lambda, "lambda")?;
        let reached = |value: i32| gamma_upper(f64::from(value) + 1.0, lambda) >= p;
        Ok::<i32, volley_error::Error>(least_integer(i32::MAX, reached))
    });
}

fn check_binomial(trials: i64, success: f64) -> Result<()> {
    check((0.0..=1.0).contains(&success), "the probability must be in the interval [0, 1]")?;
    check_shape(trials as f64, "the number of trials")
}

fn binomial(trials: f64, success: f64, value: f64) -> f64 {
    if value < 0.0 {
        0.0
    } else if value >= trials {
        1.0
    } else {
        beta_lower(trials - value, value + 1.0, 1.0 - success)
    }
}

fn inverse_binomial(trials: i32, success: f64, p: f64) -> Result<i32> {
    check_probability(p)?;
    check_binomial(trials.into(), success)?;
    // The distribution function reaches 1 before the last number by rounding.
    if success == 1.0 || (p == 1.0 && success > 0.0) {
        return Ok(trials);
    }
    let reached = |value: i32| binomial(trials.into(), success, value.into()) >= p;
    Ok(if success == 0.0 { 0 } else { least_integer(trials, reached) })
}
