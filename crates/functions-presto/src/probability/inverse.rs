//! Inverses of monotonic functions, by bisection.
//!
//! Non-negative floats are ordered as their bits are, so that 63 steps find the very float at which
//! a function reaches a value, whatever its magnitude.

/// The least float from 0 to infinity for which `reached` holds; it holds from there on. Infinity
/// when it holds nowhere.
pub(super) fn from_zero(reached: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0u64, f64::INFINITY.to_bits());
    while low < high {
        let middle = low + (high - low) / 2;
        if reached(f64::from_bits(middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    f64::from_bits(low)
}

/// Where a distribution of the numbers from 0 to `last` reaches p; `lower` is the distribution
/// function, `upper` what is missing to 1, which is the more exact one for great p.
pub(super) fn both_ways(
    p: f64,
    last: f64,
    lower: impl Fn(f64) -> f64,
    upper: impl Fn(f64) -> f64,
) -> f64 {
    match p {
        0.0 => 0.0,
        1.0 => last,
        p if p <= 0.5 => from_zero(|x| lower(x) >= p),
        p => from_zero(|x| upper(x) <= 1.0 - p),
    }
}

/// The least integer from 0 to `last` for which `reached` holds, or `last`.
pub(super) fn least_integer(last: i32, reached: impl Fn(i32) -> bool) -> i32 {
    let (mut low, mut high) = (0, last);
    while low < high {
        let middle = low + (high - low) / 2;
        if reached(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
