//! TIMESTAMP_NS moved by intervals, the difference of two, and functions of nanoseconds.

use super::timestamp_out_of_range;
use crate::{date::null_of_infinite, documentation::doc};
use std::sync::Arc;
use volley_function::{
    BoundScalar, FunctionDoc, Registry, ScalarFunction, ScalarTraits,
    simple::{self, BigInt, Interval, Physical, Timestamp, unary},
};
use volley_types::{
    Interval as IntervalValue, Type, civil, custom::TimestampUnit, implicit_cast_cost,
};

/// Nanoseconds since 1970-01-01.
type Nanos = Physical<i64>;

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const NANOS_PER_DAY: i64 = 86_400 * NANOS_PER_SECOND;
const NANOS_PER_MINUTE: i64 = 60 * NANOS_PER_SECOND;

/// Registers the overloads of `plus`, `minus`, `date_add` and `epoch_ns`, `make_timestamp_ns` and
/// `nanosecond`.
pub(super) fn register(registry: &mut Registry) {
    for name in ["plus", "date_add"] {
        registry.add_scalar(
            name,
            FunctionDoc::default(),
            Arc::new(|args: &[Type]| bind_moved(args, 1)),
        );
    }
    registry.add_scalar("plus", FunctionDoc::default(), Arc::new(bind_reversed));
    registry.add_scalar(
        "minus",
        FunctionDoc::default(),
        Arc::new(|args: &[Type]| bind_moved(args, -1)),
    );
    registry.add_scalar("minus", FunctionDoc::default(), Arc::new(bind_difference));
    let make = doc(
        "make_timestamp_ns(bigint) -> timestamp_ns",
        "The timestamp that many nanoseconds after 1970-01-01.",
        "date",
        &[("make_timestamp_ns(1)", "1970-01-01 00:00:00.000000001")],
    );
    let bind_make = |args: &[Type]| {
        let [arg] = args else { return None };
        implicit_cast_cost(arg, &Type::BigInt)?;
        let same = simple::function1::<BigInt, Nanos, _>(|it: i64| it);
        Some(bound(vec![Type::BigInt], nanos(), ScalarTraits::INFALLIBLE, same))
    };
    registry.add_scalar("make_timestamp_ns", make, Arc::new(bind_make));
    let bind_epoch = |args: &[Type]| {
        let same = simple::function1::<Nanos, BigInt, _>(|it: i64| it);
        let is_nanos = *args == [nanos()];
        is_nanos.then(|| bound(args.to_vec(), Type::BigInt, ScalarTraits::INFALLIBLE, same))
    };
    registry.add_scalar("epoch_ns", FunctionDoc::default(), Arc::new(bind_epoch));
    let field = doc(
        "nanosecond(timestamp) -> bigint",
        "The nanoseconds since the beginning of the minute.",
        "date",
        &[("nanosecond('2024-12-30 06:07:08.5'::timestamp_ns)", "8500000000")],
    );
    let of_micros =
        unary::<Timestamp, BigInt, _>(|it: i64| it.rem_euclid(civil::MICROS_PER_MINUTE) * 1_000);
    registry.add_scalar("nanosecond", field.clone(), null_of_infinite(of_micros));
    let bind_field = |args: &[Type]| {
        let of = simple::function1::<Nanos, BigInt, _>(|it: i64| it.rem_euclid(NANOS_PER_MINUTE));
        let is_nanos = *args == [nanos()];
        is_nanos.then(|| bound(args.to_vec(), Type::BigInt, ScalarTraits::INFALLIBLE, of))
    };
    registry.add_scalar("nanosecond", field, Arc::new(bind_field));
}

fn nanos() -> Type {
    TimestampUnit::Nanosecond.data_type()
}

fn bound(
    args: Vec<Type>,
    result: Type,
    traits: ScalarTraits,
    function: Arc<dyn ScalarFunction>,
) -> BoundScalar {
    BoundScalar::new(args, result, traits, function)
}

fn bind_moved(args: &[Type], sign: i64) -> Option<BoundScalar> {
    let [point, Type::Interval | Type::Unknown] = args else { return None };
    let function = simple::function2::<Nanos, Interval, Nanos, _>(move |point: i64, by| {
        moved(point, by, sign).ok_or_else(timestamp_out_of_range)
    });
    let args = vec![nanos(), Type::Interval];
    (*point == nanos()).then(|| bound(args, nanos(), ScalarTraits::DEFAULT, function))
}

fn bind_reversed(args: &[Type]) -> Option<BoundScalar> {
    let [Type::Interval, point] = args else { return None };
    let function = simple::function2::<Interval, Nanos, Nanos, _>(|by, point: i64| {
        moved(point, by, 1).ok_or_else(timestamp_out_of_range)
    });
    let args = vec![Type::Interval, nanos()];
    (*point == nanos()).then(|| bound(args, nanos(), ScalarTraits::DEFAULT, function))
}

fn bind_difference(args: &[Type]) -> Option<BoundScalar> {
    let [left, right] = args else { return None };
    if *left != nanos() && *right != nanos() {
        return None;
    }
    implicit_cast_cost(left, &nanos())?;
    implicit_cast_cost(right, &nanos())?;
    let function = simple::function2::<Nanos, Nanos, Interval, _>(between);
    Some(bound(vec![nanos(); 2], Type::Interval, ScalarTraits::DEFAULT, function))
}

/// Months first, then days, then the time.
fn moved(point: i64, by: IntervalValue, sign: i64) -> Option<i64> {
    let (days, of_day) = (point.div_euclid(NANOS_PER_DAY), point.rem_euclid(NANOS_PER_DAY));
    // 2^63 nanoseconds are fewer days than 2^31.
    let days = match by.months {
        0 => days as i32,
        months => civil::add_months(days as i32, sign * i64::from(months))?,
    };
    let days = i64::from(days) + sign * i64::from(by.days);
    let nanos = i128::from(days) * i128::from(NANOS_PER_DAY)
        + i128::from(of_day)
        + i128::from(by.nanoseconds) * i128::from(sign);
    i64::try_from(nanos).ok()
}

/// Days and the time left over, of the same sign, rounded to microseconds.
fn between(left: i64, right: i64) -> IntervalValue {
    let nanos = i128::from(left) - i128::from(right);
    let micros = (nanos.abs() + 500) / 1_000 * nanos.signum();
    let (days, rest) = (micros / MICROS_PER_DAY, micros % MICROS_PER_DAY);
    // 2^64 nanoseconds are fewer days than 2^31.
    IntervalValue { months: 0, days: days as i32, nanoseconds: rest as i64 * 1_000 }
}

const MICROS_PER_DAY: i128 = civil::MICROS_PER_DAY as i128;
