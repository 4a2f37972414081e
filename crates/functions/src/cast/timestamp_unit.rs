//! TIMESTAMP_S, TIMESTAMP_MS and TIMESTAMP_NS from and to text and other points in time. Digits
//! that a unit does not hold are rounded, halves away from zero.

use super::{fallible, invalid_text, settle, to_text};
use crate::date::{instants, timestamp_out_of_range};
use std::sync::Arc;
use volley_error::Error;
use volley_function::{
    BoundScalar, ScalarFunction, ScalarTraits,
    simple::{self, BigInt, Date, Physical, Time, Timestamp, Varchar, function1},
};
use volley_types::{
    Type,
    civil::{
        MICROS_PER_DAY, date_of, is_infinite_date, is_infinite_timestamp, split_timestamp,
        timestamp_of,
    },
    custom::{TimestampTz, TimestampUnit},
};

/// What values of these types count.
type Units = Physical<i64>;

/// Nanoseconds of a day.
const NANOS_PER_DAY: i64 = MICROS_PER_DAY * 1_000;

/// Nanoseconds of what a type of timestamps without a zone counts.
fn nanos_of(data_type: &Type) -> Option<i64> {
    match data_type {
        Type::Timestamp => Some(1_000),
        other => Some(TimestampUnit::of(other)?.nanos()),
    }
}

/// A conversion from or to TIMESTAMP_S, TIMESTAMP_MS or TIMESTAMP_NS.
pub(super) fn bind(from: &Type, to: &Type) -> Option<BoundScalar> {
    let function = match (TimestampUnit::of(from), TimestampUnit::of(to)) {
        (Some(unit), _) if *to == Type::Varchar => {
            let function = to_text::native(move |out, units: i64| unit.push(out, units));
            return settle(from, to, ScalarTraits::INFALLIBLE, function);
        }
        (_, Some(unit)) if *from == Type::Varchar => from_text(unit, to.clone()),
        (Some(unit), _) if *to == Type::Date => {
            let per_day = NANOS_PER_DAY / unit.nanos();
            function1::<Units, Date, _>(move |units: i64| {
                if is_infinite_timestamp(units) {
                    return Ok(date_of(units));
                }
                i32::try_from(units.div_euclid(per_day)).map_err(|_| timestamp_out_of_range())
            })
        }
        (_, Some(unit)) if *from == Type::Date => {
            let per_day = NANOS_PER_DAY / unit.nanos();
            function1::<Date, BigInt, _>(move |days: i32| {
                if is_infinite_date(days) {
                    return timestamp_of(days, 0).ok_or_else(timestamp_out_of_range);
                }
                i64::from(days).checked_mul(per_day).ok_or_else(timestamp_out_of_range)
            })
        }
        (Some(unit), _) if *to == Type::Time => function1::<Units, Time, _>(move |units: i64| {
            let micros = unit.to_micros(units).filter(|it| !is_infinite_timestamp(*it));
            let micros = micros.ok_or_else(timestamp_out_of_range)?;
            Ok::<i64, Error>(split_timestamp(micros).1)
        }),
        (Some(_), _) if TimestampTz::is(to) => {
            let local = bind(from, &Type::Timestamp)?;
            return joined(local, instants(&Type::Timestamp, to)?);
        }
        (_, Some(_)) if TimestampTz::is(from) => {
            let local = instants(from, &Type::Timestamp)?;
            return joined(local, bind(&Type::Timestamp, to)?);
        }
        _ => {
            let (from, to) = (nanos_of(from)?, nanos_of(to)?);
            function1::<Units, Timestamp, _>(move |units: i64| {
                converted(units, from, to).ok_or_else(timestamp_out_of_range)
            })
        }
    };
    fallible(from, to, function)
}

/// A count of units of `from_nanos` nanoseconds as the nearest count of units of `to_nanos`; `None`
/// beyond 64 bits.
fn converted(units: i64, from_nanos: i64, to_nanos: i64) -> Option<i64> {
    if is_infinite_timestamp(units) {
        return Some(units);
    }
    let (nanos, unit) = (i128::from(units) * i128::from(from_nanos), i128::from(to_nanos));
    let (quotient, rest) = (nanos / unit, nanos % unit);
    let nearest = if rest.abs() * 2 >= unit { quotient + nanos.signum() } else { quotient };
    i64::try_from(nearest).ok()
}

fn from_text(unit: TimestampUnit, to: Type) -> Arc<dyn ScalarFunction> {
    function1::<Varchar, Units, _>(move |text: &str| -> Result<i64, Error> {
        unit.parse(text).ok_or_else(|| invalid_text(text, &to))
    })
}

/// One conversion, and then the other.
fn joined(first: BoundScalar, second: BoundScalar) -> Option<BoundScalar> {
    let (from, middle, to) = (first.args.first()?.clone(), first.result, second.result);
    let (first, second) = (first.function, second.function);
    let function = simple::vectorized(move |rows, args, to, ctx| {
        let between = first.evaluate(rows, args, &middle, ctx)?;
        second.evaluate(rows, &[between], to, ctx)
    });
    fallible(&from, &to, function)
}
