//! Less frequent functions: the gamma function, neighbors of floats, floored division, binomial
//! coefficients, halves rounded to even.

use crate::documentation::doc;
use std::cmp::Ordering;
use volley_error::{Error, Result};
use volley_function::{FunctionDoc, Registry};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let math = |signature: &str, text: &str, example: (&str, &str)| {
        doc(signature, text, "math", &[example])
    };
    let gamma = math(
        "gamma(double) -> double",
        "The gamma function: of n + 1 the factorial of n.",
        ("gamma(5)", "24.0"),
    );
    registry.simple("gamma", gamma, libm::tgamma);
    let lgamma = math(
        "lgamma(double) -> double",
        "The logarithm of the absolute value of the gamma function.",
        ("lgamma(2)", "0.0"),
    );
    registry.simple("lgamma", lgamma, libm::lgamma);
    let next = math(
        "nextafter(x, y) -> double or real",
        "The number next to x in the direction of y.",
        ("nextafter(1e0, 2e0)", "1.0000000000000002"),
    );
    registry.simple("nextafter", next, libm::nextafter);
    registry.simple("nextafter", FunctionDoc::default(), libm::nextafterf);
    let sign = math(
        "signbit(double) -> boolean",
        "Whether the number has a minus sign, as -0.0 does.",
        ("signbit(-0e0)", "true"),
    );
    registry.simple("signbit", sign, |x: f64| x.is_sign_negative() && !x.is_nan());
    let floored =
        math("fdiv(x, y) -> double", "The quotient, rounded down.", ("fdiv(-7, 2)", "-4.0"));
    registry.simple("fdiv", floored, |x: f64, y: f64| (x / y).floor());
    let remainder = math(
        "fmod(x, y) -> double",
        "What is left of x by fdiv: of the sign of y.",
        ("fmod(-7, 3)", "2.0"),
    );
    registry.simple("fmod", remainder, floored_remainder);
    let binomial = math(
        "binom(n, k) -> hugeint",
        "The number of ways to choose k things of n.",
        ("binom(5, 2)", "10"),
    );
    registry.simple("binom", binomial, binom);
    for name in ["round_even", "roundbankers"] {
        let even = math(
            &format!("{name}(x, digits) -> double"),
            "x rounded to `digits` after the point; halves to the even digit. Integers stay integers.",
            (&format!("{name}(2.5, 0)"), "2.0"),
        );
        registry.simple(name, even, |x: f64, digits: i64| {
            let power = 10f64.powi(digits.clamp(-400, 400) as i32);
            let rounded = match digits {
                0.. => (x * power).round_ties_even() / power,
                _ => (x * power).round_ties_even() * 10f64.powi(digits.clamp(-400, 0).abs() as i32),
            };
            if rounded.is_finite() { rounded } else { x }
        });
        registry.simple(name, FunctionDoc::default(), |x: i64, digits: i64| -> Result<i64> {
            i64::try_from(round_even_integer(x.into(), digits)?).map_err(|_| round_overflow(x))
        });
        registry.simple(name, FunctionDoc::default(), |x: i128, digits: i64| {
            round_even_integer(x, digits)
        });
    }
}

/// The multiple of 10 to the power of `-digits` nearest to `x`; from the middle the even one.
fn round_even_integer(x: i128, digits: i64) -> Result<i128> {
    if digits >= 0 {
        return Ok(x);
    }
    let power = u32::try_from(digits.unsigned_abs()).ok().and_then(|it| 10i128.checked_pow(it));
    // No HUGEINT reaches half of a power beyond its range.
    let Some(power) = power else { return Ok(0) };
    let (quotient, rest) = (x / power, x % power);
    let is_up = match rest.unsigned_abs().cmp(&(power.unsigned_abs() / 2)) {
        Ordering::Less => false,
        Ordering::Equal => quotient % 2 != 0,
        Ordering::Greater => true,
    };
    let rounded = if is_up { quotient + x.signum() } else { quotient };
    rounded.checked_mul(power).ok_or_else(|| round_overflow(x))
}

fn round_overflow(x: impl std::fmt::Display) -> Error {
    Error::invalid_value(format!("rounding of {x} is out of range"))
}

/// The remainder of the sign of `y`, exactly.
fn floored_remainder(x: f64, y: f64) -> f64 {
    let rest = x % y;
    let is_other_sign = rest != 0.0 && (rest < 0.0) != (y < 0.0);
    // No -0.0.
    if is_other_sign { rest + y } else { rest + 0.0 }
}

fn binom(n: i64, k: i64) -> Result<i128> {
    if n < 0 || k < 0 {
        return Err(Error::invalid_value(format!("binom of a negative number: {n}, {k}")));
    }
    if k > n {
        return Ok(0);
    }
    let mut ways = 1i128;
    for step in 1..=i128::from(k.min(n - k)) {
        let next = ways.checked_mul(i128::from(n) - step + 1).map(|it| it / step);
        ways = next.ok_or_else(|| {
            Error::invalid_value(format!("binom({n}, {k}) is out of range for HUGEINT"))
        })?;
    }
    Ok(ways)
}
