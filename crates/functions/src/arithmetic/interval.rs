//! Sums and multiples of intervals.

use volley_error::Error;
use volley_function::{
    FunctionDoc, Registry,
    simple::{BigInt, Double, Interval, binary, unary},
};
use volley_types::Interval as IntervalValue;

/// Nanoseconds of a day.
const NANOS_PER_DAY: f64 = 24.0 * 60.0 * 60.0 * 1e9;

/// Days of a month, where a fraction of one counts.
const DAYS_PER_MONTH: f64 = 30.0;

/// Registers the overloads of the operators on intervals.
pub(super) fn register(registry: &mut Registry) {
    let none = FunctionDoc::default;
    registry.add_scalar("plus", none(), binary::<Interval, Interval, Interval, _>(sum));
    let minus = binary::<Interval, Interval, Interval, _>(|a, b| sum(a, times(b, -1)?));
    registry.add_scalar("minus", none(), minus);
    registry.add_scalar("negate", none(), unary::<Interval, Interval, _>(|a| times(a, -1)));
    registry.add_scalar("multiply", none(), binary::<Interval, BigInt, Interval, _>(times));
    let reversed = binary::<BigInt, Interval, Interval, _>(|a, b| times(b, a));
    registry.add_scalar("multiply", none(), reversed);
    registry.add_scalar("multiply", none(), binary::<Interval, Double, Interval, _>(scale));
    let reversed = binary::<Double, Interval, Interval, _>(|a, b| scale(b, a));
    registry.add_scalar("multiply", none(), reversed);
    let divide = binary::<Interval, Double, Interval, _>(|a, b: f64| {
        if b == 0.0 { Err(super::division_by_zero()) } else { scale(a, 1.0 / b) }
    });
    registry.add_scalar("divide", none(), divide);
}

fn out_of_range() -> Error {
    Error::invalid_value("interval out of range")
}

fn sum(left: IntervalValue, right: IntervalValue) -> Result<IntervalValue, Error> {
    let sum = || {
        Some(IntervalValue {
            months: left.months.checked_add(right.months)?,
            days: left.days.checked_add(right.days)?,
            nanoseconds: left.nanoseconds.checked_add(right.nanoseconds)?,
        })
    };
    sum().ok_or_else(out_of_range)
}

fn times(interval: IntervalValue, factor: i64) -> Result<IntervalValue, Error> {
    let product = || {
        Some(IntervalValue {
            months: i64::from(interval.months).checked_mul(factor)?.try_into().ok()?,
            days: i64::from(interval.days).checked_mul(factor)?.try_into().ok()?,
            nanoseconds: interval.nanoseconds.checked_mul(factor)?,
        })
    };
    product().ok_or_else(out_of_range)
}

/// Fractions of months become days, fractions of days become time; the time is rounded to
/// microseconds.
fn scale(interval: IntervalValue, factor: f64) -> Result<IntervalValue, Error> {
    let months = f64::from(interval.months) * factor;
    let days = f64::from(interval.days) * factor + months.fract() * DAYS_PER_MONTH;
    let nanos = interval.nanoseconds as f64 * factor + days.fract() * NANOS_PER_DAY;
    let nanos = (nanos / 1e3).round() * 1e3;
    let fits = |value: f64, max: f64| value.abs() < max;
    if !fits(months, 2f64.powi(31)) || !fits(days, 2f64.powi(31)) || !fits(nanos, 2f64.powi(63)) {
        return Err(out_of_range());
    }
    Ok(IntervalValue { months: months as i32, days: days as i32, nanoseconds: nanos as i64 })
}
