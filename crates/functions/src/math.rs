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
#[cfg(test)]
mod tests;

use volley_function::Registry;

/// Registers the functions on numbers, but for the operators.
pub(crate) fn register(registry: &mut Registry) {
    sign::register(registry);
    round::register(registry);
    elementary::register(registry);
    integer::register(registry);
    bits::register(registry);
    choice::register(registry);
    random::register(registry);
}
