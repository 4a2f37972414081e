//! `round`, `ceil` and `floor`: halves away from zero, in the type of the number.

use super::{doc, number::of_decimals};
use volley_error::Error;
use volley_function::{
    FunctionDoc, Registry,
    simple::{Decimal, scalar},
};
use volley_types::{DECIMAL_PRECISION_MAX, Type};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let ceil = doc(
        "ceiling(number) -> as the number",
        "The least whole number that is not less. That of a DECIMAL has no digits after the point.",
        &[("ceiling(1.1)", "2"), ("ceiling(-1.5e0)", "-1.0"), ("ceiling(3)", "3")],
    );
    let floor = doc(
        "floor(number) -> as the number",
        "The greatest whole number that is not greater. That of a DECIMAL has no digits after the \
         point.",
        &[("floor(-1.1)", "-2"), ("floor(1.5e0)", "1.0")],
    );
    let upward = |rest: i128, _| if rest > 0 { 1 } else { 0 };
    let downward = |rest: i128, _| if rest < 0 { -1 } else { 0 };
    add(registry, "ceiling", ceil.clone(), f64::ceil, upward);
    add(registry, "ceil", ceil, f64::ceil, upward);
    add(registry, "floor", floor, f64::floor, downward);
    let round = doc(
        "round(number[, digits]) -> as the number",
        "The nearest number with `digits` digits after the point, or before it if `digits` is \
         negative; halves are rounded away from zero. A DECIMAL without `digits` gets a scale of \
         0. Integers stay as they are, also for negative `digits`.",
        &[
            ("round(2.5e0)", "3.0"),
            ("round(-123.45)", "-123"),
            ("round(123.45, 1)", "123.50"),
            ("round(125, -1)", "125"),
        ],
    );
    add(registry, "round", round, round_whole, half_away);
    register_digits(registry);
}

/// What is added to a truncated quotient for a rest of at least half the divisor.
fn half_away(rest: i128, divisor: i128) -> i128 {
    let is_half = rest.unsigned_abs() >= divisor.unsigned_abs() - rest.unsigned_abs();
    if is_half { rest.signum() } else { 0 }
}

/// A function to whole numbers; `carry` is what a rest adds to a truncated quotient.
fn add(
    registry: &mut Registry,
    name: &str,
    doc: FunctionDoc,
    wide: fn(f64) -> f64,
    carry: fn(i128, i128) -> i128,
) {
    let name = format!("presto.{name}");
    registry.simple(&name, doc, move |x: f64| wide(x));
    let mut add = |bind| registry.add_scalar(&name, FunctionDoc::default(), bind);
    add(scalar(move |x: f32| wide(x.into()) as f32).into_bind());
    add(scalar(|x: i8| x).into_bind());
    add(scalar(|x: i16| x).into_bind());
    add(scalar(|x: i32| x).into_bind());
    add(scalar(|x: i64| x).into_bind());
    let of_decimal = move |x: Decimal| {
        let divisor = 10i128.pow(x.scale.into());
        let rest = x.unscaled % divisor;
        let carry = if rest == 0 { 0 } else { carry(rest, divisor) };
        Decimal { unscaled: x.unscaled / divisor + carry, scale: 0 }
    };
    add(of_decimals(scalar(of_decimal), |precision, scale| {
        Type::decimal((precision - scale + scale.min(1)).min(DECIMAL_PRECISION_MAX), 0)
    }));
}

fn register_digits(registry: &mut Registry) {
    let mut add = |bind| registry.add_scalar("presto.round", FunctionDoc::default(), bind);
    add(scalar(round_float).into_bind());
    add(scalar(|x: f32, digits: i32| round_float(x.into(), digits) as f32).into_bind());
    add(scalar(|x: i8, _digits: i32| x).into_bind());
    add(scalar(|x: i16, _digits: i32| x).into_bind());
    add(scalar(|x: i32, _digits: i32| x).into_bind());
    add(scalar(|x: i64, _digits: i32| x).into_bind());
    let of_decimal = |x: Decimal, digits: i32| -> Result<Decimal, Error> {
        let unscaled = round_digits(x.unscaled, i64::from(x.scale) - i64::from(digits));
        let overflow = || Error::invalid_value("decimal overflow in round");
        Ok(Decimal { unscaled: unscaled.ok_or_else(overflow)?, scale: x.scale })
    };
    add(of_decimals(scalar(of_decimal), |precision, scale| {
        Type::decimal((precision + 1).min(DECIMAL_PRECISION_MAX), scale)
    }));
}

/// `value` with its last `drop` digits zero; `None` when it leaves 128 bits.
fn round_digits(value: i128, drop: i64) -> Option<i128> {
    if drop <= 0 {
        return Some(value);
    }
    let unit = u32::try_from(drop).ok().and_then(|it| 10i128.checked_pow(it));
    // A unit beyond 128 bits is more than twice any decimal.
    let Some(unit) = unit else { return Some(0) };
    (value / unit + half_away(value % unit, unit)).checked_mul(unit)
}

/// Integers of 64 bits are the limit, as in Presto.
fn round_whole(value: f64) -> f64 {
    if value.is_finite() { value.round().clamp(i64::MIN as f64, i64::MAX as f64) } else { value }
}

fn round_float(value: f64, digits: i32) -> f64 {
    let power = 10f64.powi(digits.unsigned_abs().min(400) as i32);
    if digits < 0 {
        let rounded = (value / power).round() * power;
        // Beyond all digits of a finite number nothing is left.
        return if power.is_finite() || !value.is_finite() { rounded } else { 0.0 };
    }
    let scaled = value * power;
    // From 2^52 on floats are whole: the number has no further digits.
    if scaled.abs() < (1u64 << 52) as f64 { scaled.round() / power } else { value }
}
