//! Probability functions: cumulative distributions and their inverses, intervals.
//!
//! Parameters outside of a distribution's domain are errors. An inverse finds the value at which
//! the distribution itself reaches the probability (see [`inverse`]), from the end that is nearer,
//! so that it is as exact as the distribution is.

mod continuous;
mod discrete;
mod inverse;
mod special;
mod wilson;

use volley_error::{Error, Result};
use volley_function::{FunctionDoc, Registry};

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    continuous::register(registry);
    discrete::register(registry);
    wilson::register(registry);
}

fn doc(signature: &str, description: &str, examples: &[(&str, &str)]) -> FunctionDoc {
    FunctionDoc::new(signature, description, "probability", examples)
}

/// An error that says what must hold, unless it does.
fn check(holds: bool, what: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::invalid_value(what)) }
}

/// Checks that `value`, called `name`, is greater than 0.
fn check_positive(value: f64, name: &str) -> Result<()> {
    if value > 0.0 {
        return Ok(());
    }
    Err(Error::invalid_value(format!("{name} must be greater than 0, not {value}")))
}

/// Checks a parameter whose square root the time to compute a distribution grows with.
fn check_shape(value: f64, name: &str) -> Result<()> {
    const SHAPE_MAX: f64 = 1e8;
    check_positive(value, name)?;
    if value <= SHAPE_MAX {
        return Ok(());
    }
    Err(Error::invalid_value(format!("{name} must be at most {SHAPE_MAX:e}, not {value}")))
}

fn check_probability(p: f64) -> Result<()> {
    check((0.0..=1.0).contains(&p), "p must be in the interval [0, 1]")
}
