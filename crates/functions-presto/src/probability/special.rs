//! The incomplete gamma and beta functions, regularized.
//!
//! ```text
//! P(a, x)    = power series for x < a + 1, else 1 - Q
//! Q(a, x)    = continued fraction (Lentz) for x >= a + 1, else 1 - P
//! I_x(a, b)  = continued fraction for x < (a + 1) / (a + b + 2), else 1 - I_{1-x}(b, a)
//! ```
//!
//! All have a factor such as x^a e^-x / gamma(a + 1), whose parts are huge where it is not. It is
//! computed by C. Loader's saddle point expansion ("Fast and accurate computation of binomial
//! probabilities", 2000), which keeps its digits for large parameters.

use std::f64::consts::PI;

/// Terms of a series or fraction: a few times the square root of the greatest parameter, 1e8.
const TERMS_MAX: usize = 100_000;
/// Where a change no longer counts.
const EPSILON: f64 = f64::EPSILON / 4.0;
/// In place of a zero in Lentz's algorithm.
const TINY: f64 = 1e-300;

/// P(a, x): the integral of t^(a-1) e^-t from 0 to x, over gamma(a).
pub(super) fn gamma_lower(a: f64, x: f64) -> f64 {
    match edge_of_gamma(x) {
        Some(edge) => edge,
        None if x < a + 1.0 => gamma_series(a, x),
        None => 1.0 - gamma_fraction(a, x),
    }
}

/// Q(a, x) = 1 - P(a, x).
pub(super) fn gamma_upper(a: f64, x: f64) -> f64 {
    match edge_of_gamma(x) {
        Some(edge) => 1.0 - edge,
        None if x < a + 1.0 => 1.0 - gamma_series(a, x),
        None => gamma_fraction(a, x),
    }
}

/// P where it needs no computation, or has no limit.
fn edge_of_gamma(x: f64) -> Option<f64> {
    if x <= 0.0 {
        Some(0.0)
    } else if x.is_infinite() {
        Some(1.0)
    } else {
        x.is_nan().then_some(x)
    }
}

fn gamma_series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for step in 1..TERMS_MAX {
        term *= x / (a + step as f64);
        sum += term;
        if term < sum * EPSILON {
            break;
        }
    }
    poisson(a, x) * sum
}

fn gamma_fraction(a: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / TINY;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for step in 1..TERMS_MAX {
        let step = step as f64;
        let numerator = -step * (step - a);
        b += 2.0;
        d = 1.0 / not_zero(numerator * d + b);
        c = not_zero(b + numerator / c);
        fraction *= c * d;
        if (c * d - 1.0).abs() < EPSILON {
            break;
        }
    }
    // x^a e^-x / gamma(a) = a * x^a e^-x / gamma(a + 1)
    (poisson(a, x) * a * fraction).min(1.0)
}

fn not_zero(value: f64) -> f64 {
    if value.abs() < TINY { TINY } else { value }
}

/// I_x(a, b): the integral of t^(a-1) (1-t)^(b-1) from 0 to x, over that to 1.
pub(super) fn beta_lower(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x.is_nan() {
        return x;
    }
    if x < (a + 1.0) / (a + b + 2.0) {
        beta_fraction(a, b, x, 1.0 - x)
    } else {
        1.0 - beta_fraction(b, a, 1.0 - x, x)
    }
}

/// By the continued fraction of DLMF 8.17.22; y = 1 - x.
fn beta_fraction(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let mut c = 1.0;
    let mut d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for step in 1..TERMS_MAX {
        let m = step as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / not_zero(1.0 + even * d);
        c = not_zero(1.0 + even / c);
        fraction *= c * d;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / not_zero(1.0 + odd * d);
        c = not_zero(1.0 + odd / c);
        fraction *= c * d;
        if (c * d - 1.0).abs() < EPSILON {
            break;
        }
    }
    // x^a y^b / (a * beta(a, b))
    (binomial(a, b, x, y) * b / (a + b) * fraction).min(1.0)
}

/// x^a e^-x / gamma(a + 1).
fn poisson(a: f64, x: f64) -> f64 {
    (-stirling_error(a) - deviance(a, x)).exp() / (2.0 * PI * a).sqrt()
}

/// gamma(a + b + 1) / (gamma(a + 1) gamma(b + 1)) x^a y^b.
fn binomial(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let n = a + b;
    let errors = stirling_error(n) - stirling_error(a) - stirling_error(b);
    let deviances = deviance(a, n * x) + deviance(b, n * y);
    // a * b / n without an overflow.
    (errors - deviances).exp() / (2.0 * PI * a * (b / n)).sqrt()
}

/// How far Stirling's formula is from the logarithm of gamma(n + 1).
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        let stirling = (n + 0.5) * n.ln() - n + 0.5 * (2.0 * PI).ln();
        return libm::lgamma(n + 1.0) - stirling;
    }
    const TERMS: [f64; 6] =
        [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0];
    let square = n * n;
    TERMS.iter().rev().fold(0.0, |sum, term| sum / square + term) / n
}

/// n ln(n / mean) + mean - n, without the loss of digits where both are near each other.
fn deviance(n: f64, mean: f64) -> f64 {
    let difference = n - mean;
    if difference.abs() < 0.1 * (n + mean) {
        let v = difference / (n + mean);
        let mut sum = difference * v;
        let mut power = 2.0 * n * v;
        for step in 1..1000 {
            power *= v * v;
            let next = sum + power / f64::from(2 * step + 1);
            if next == sum {
                break;
            }
            sum = next;
        }
        return sum;
    }
    n * (n / mean).ln() + mean - n
}
