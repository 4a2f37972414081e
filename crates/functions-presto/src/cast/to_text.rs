//! Values as Presto prints them.

use super::settled;
use std::fmt::Write;
use volley_function::{
    BoundScalar, ScalarTraits,
    simple::{Arg, Date, Double, Interval, Physical, Real, Time, Timestamp, map_text, vectorized},
};
use volley_types::{
    Interval as IntervalValue, Type,
    text::{push_date_signed, push_decimal, push_time_millis, push_timestamp_millis},
};

/// Milliseconds of a day.
const MILLIS_PER_DAY: u128 = 86_400_000;

/// The conversion to VARCHAR, where it is not the core's.
pub(super) fn bind(from: &Type) -> Option<BoundScalar> {
    Some(match from {
        Type::Double => written::<Double>(from, push_double),
        Type::Real => written::<Real>(from, push_real),
        Type::Date => written::<Date>(from, push_date_signed),
        Type::Time => written::<Time>(from, push_time_millis),
        Type::Timestamp => written::<Timestamp>(from, push_timestamp_millis),
        Type::Interval => written::<Interval>(from, push_interval),
        Type::Decimal { scale, .. } => {
            let scale = *scale;
            match from.physical() {
                volley_types::PhysicalType::I64 => {
                    written::<Physical<i64>>(from, move |out, it: i64| {
                        push_exact(out, it.into(), scale);
                    })
                }
                _ => written::<Physical<i128>>(from, move |out, it| push_exact(out, it, scale)),
            }
        }
        _ => return None,
    })
}

fn written<A: Arg>(
    from: &Type,
    push: impl Fn(&mut String, A::Value<'_>) + Send + Sync + 'static,
) -> BoundScalar {
    let function = vectorized(move |rows, args, to, ctx| {
        map_text::<(A,), ()>(rows, args, to, ctx, |(it,), out| {
            let mut text = String::new();
            push(&mut text, it);
            out.push_str(&text);
        })
    });
    settled(from, &Type::Varchar, ScalarTraits::INFALLIBLE, function)
}

/// A decimal, with a digit before the point.
pub(super) fn push_exact(out: &mut String, unscaled: i128, scale: u8) {
    push_decimal(out, unscaled, scale.saturating_add(1), scale);
}

/// A double as Java prints it: `1.0`, `1.0E10`, `1.5E-5`, `Infinity`, `NaN`.
pub(crate) fn push_double(out: &mut String, value: f64) {
    push_float(out, value, &format!("{value:e}"));
}

/// Like [`push_double`], with the digits that a REAL needs.
pub(super) fn push_real(out: &mut String, value: f32) {
    push_float(out, value.into(), &format!("{value:e}"));
}

/// `scientific`: the number as `-1.25e-7`.
fn push_float(out: &mut String, value: f64, scientific: &str) {
    if value.is_nan() {
        return out.push_str("NaN");
    }
    if value.is_sign_negative() {
        out.push('-');
    }
    if value.is_infinite() {
        return out.push_str("Infinity");
    }
    let (mantissa, exponent) =
        scientific.trim_start_matches('-').split_once('e').unwrap_or(("0", "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let fraction_or_zero = |it: &str| if it.is_empty() { "0".to_owned() } else { it.to_owned() };
    match exponent {
        // From 10^-3 to 10^7 there is no exponent.
        -3..=-1 => {
            out.push_str("0.");
            out.extend(std::iter::repeat_n('0', exponent.unsigned_abs() as usize - 1));
            out.push_str(whole);
            out.push_str(fraction);
        }
        0..=6 => {
            let shift = exponent as usize;
            let digits = format!("{fraction:0<shift$}");
            let (before, behind) = digits.split_at(shift);
            out.push_str(whole);
            out.push_str(before);
            out.push('.');
            out.push_str(&fraction_or_zero(behind));
        }
        _ => {
            out.push_str(whole);
            out.push('.');
            out.push_str(&fraction_or_zero(fraction));
            // Writing to memory does not fail.
            let _ = write!(out, "E{exponent}");
        }
    }
}

/// An interval: `2 03:04:05.678` of days and times, `1-2` of years and months, or both.
fn push_interval(out: &mut String, interval: IntervalValue) {
    let months = interval.months;
    let millis = i128::from(interval.days) * MILLIS_PER_DAY as i128
        + i128::from(interval.nanoseconds / 1_000_000);
    if months != 0 {
        let sign = if months < 0 { "-" } else { "" };
        let months = months.unsigned_abs();
        // Writing to memory does not fail.
        let _ = write!(out, "{sign}{}-{}", months / 12, months % 12);
        if millis == 0 {
            return;
        }
        out.push(' ');
    }
    let sign = if millis < 0 { "-" } else { "" };
    let millis = millis.unsigned_abs();
    let (day, of_day) = (millis / MILLIS_PER_DAY, millis % MILLIS_PER_DAY);
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, milli) = (of_day / 1_000 % 60, of_day % 1_000);
    let _ = write!(out, "{sign}{day} {hour:02}:{minute:02}:{second:02}.{milli:03}");
}
