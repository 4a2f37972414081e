//! Functions on numbers.
//!
//! Floats follow IEEE 754: outside of a function's domain the result is NaN, not an error. Integers
//! and decimals are exact, and leaving the type is an error.

mod sign;
mod round;
mod elementary;
mod integer;
mod bits;
mod choice;
mod random;
mod special;

use std::sync::Arc;
use volley_function::{
    Registry, ScalarFunction, block_unary,
    simple::{Double, function1, with_block},
};

/// Registers the functions on numbers, except for the operators.
pub(crate) fn register(registry: &mut Registry) {
    sign::register(registry);
    round::register(registry);
    elementary::register(registry);
    integer::register(registry);
    bits::register(registry);
    choice::register(registry);
    random::register(registry);
    special::register(registry);
}

/// A function of one DOUBLE that the compiler makes a vector loop of.
fn of_double(f: impl Fn(f64) -> f64 + Copy + Send + Sync + 'static) -> Arc<dyn ScalarFunction> {
    with_block(function1::<Double, Double, _>(f), block_unary(move |it: f64| (f(it), false)))
}
