//! Dates, times and timestamps moved by days and intervals, and their differences.

use super::timestamp_out_of_range;
use crate::documentation::doc;
use volley_error::Error;
use volley_function::{
    FunctionDoc, Registry,
    simple::{Date, Integer, Interval, Time, Timestamp, binary},
};
use volley_types::{
    Interval as IntervalValue,
    civil::{self, MICROS_PER_DAY},
};

/// Intervals keep nanoseconds; timestamps microseconds.
const NANOS_PER_MICRO: i64 = 1_000;

/// Registers the overloads of `plus` and `minus` on points in time, and `date_add`.
pub(super) fn register(registry: &mut Registry) {
    let none = FunctionDoc::default;
    registry.add_scalar("plus", none(), binary::<Date, Integer, Date, _>(add_days));
    registry.add_scalar("plus", none(), binary::<Integer, Date, Date, _>(|a, b| add_days(b, a)));
    registry.add_scalar("minus", none(), binary::<Date, Integer, Date, _>(subtract_days));
    let days_between =
        binary::<Date, Date, volley_function::simple::BigInt, _>(|a: i32, b: i32| {
            i64::from(a) - i64::from(b)
        });
    registry.add_scalar("minus", none(), days_between);

    let date_plus = || binary::<Date, Interval, Timestamp, _>(|a, b| move_date(a, b, 1));
    let timestamp_plus = || binary::<Timestamp, Interval, Timestamp, _>(|a, b| move_by(a, b, 1));
    registry.add_scalar("plus", none(), date_plus());
    registry.add_scalar("plus", none(), timestamp_plus());
    let reversed = binary::<Interval, Date, Timestamp, _>(|a, b| move_date(b, a, 1));
    registry.add_scalar("plus", none(), reversed);
    let reversed = binary::<Interval, Timestamp, Timestamp, _>(|a, b| move_by(b, a, 1));
    registry.add_scalar("plus", none(), reversed);
    let minus = binary::<Date, Interval, Timestamp, _>(|a, b| move_date(a, b, -1));
    registry.add_scalar("minus", none(), minus);
    let minus = binary::<Timestamp, Interval, Timestamp, _>(|a, b| move_by(a, b, -1));
    registry.add_scalar("minus", none(), minus);
    registry.add_scalar("minus", none(), binary::<Timestamp, Timestamp, Interval, _>(between));

    registry.add_scalar("plus", none(), binary::<Time, Interval, Time, _>(|a, b| turn(a, b, 1)));
    registry.add_scalar("plus", none(), binary::<Interval, Time, Time, _>(|a, b| turn(b, a, 1)));
    registry.add_scalar("minus", none(), binary::<Time, Interval, Time, _>(|a, b| turn(a, b, -1)));
    registry.add_scalar("plus", none(), binary::<Date, Time, Timestamp, _>(at_time));
    registry.add_scalar("plus", none(), binary::<Time, Date, Timestamp, _>(|a, b| at_time(b, a)));

    let date_add = doc(
        "date_add(date or timestamp, interval) -> timestamp",
        "The moment an interval later. A day beyond the end of its month becomes the last day.",
        "date",
        &[("date_add(date '2020-01-31', interval '1 month')", "2020-02-29 00:00:00")],
    );
    registry.add_scalar("date_add", date_add.clone(), date_plus());
    registry.add_scalar("date_add", date_add, timestamp_plus());
}

fn date_out_of_range() -> Error {
    Error::invalid_value("date out of range")
}

fn add_days(date: i32, days: i32) -> Result<i32, Error> {
    if civil::is_infinite_date(date) {
        return Ok(date);
    }
    let moved = date.checked_add(days).filter(|it| !civil::is_infinite_date(*it));
    moved.ok_or_else(date_out_of_range)
}

fn subtract_days(date: i32, days: i32) -> Result<i32, Error> {
    if civil::is_infinite_date(date) {
        return Ok(date);
    }
    let moved = date.checked_sub(days).filter(|it| !civil::is_infinite_date(*it));
    moved.ok_or_else(date_out_of_range)
}

fn move_date(date: i32, interval: IntervalValue, sign: i64) -> Result<i64, Error> {
    let micros = civil::timestamp_of(date, 0).ok_or_else(timestamp_out_of_range)?;
    move_by(micros, interval, sign)
}

/// Months first, then days, then the time.
fn move_by(micros: i64, interval: IntervalValue, sign: i64) -> Result<i64, Error> {
    moved(micros, interval, sign).ok_or_else(timestamp_out_of_range)
}

fn moved(micros: i64, interval: IntervalValue, sign: i64) -> Option<i64> {
    if civil::is_infinite_timestamp(micros) {
        return Some(micros);
    }
    let (days, of_day) = civil::split_timestamp(micros);
    let days = match interval.months {
        0 => days,
        months => civil::add_months(days, sign * i64::from(months))?,
    };
    let days = i32::try_from(i64::from(days) + sign * i64::from(interval.days)).ok()?;
    let time = (interval.nanoseconds / NANOS_PER_MICRO).checked_mul(sign)?;
    let moved = civil::timestamp_of(days, of_day)?.checked_add(time)?;
    (!civil::is_infinite_timestamp(moved)).then_some(moved)
}

/// Days and the time left over, of the same sign.
fn between(left: i64, right: i64) -> Result<IntervalValue, Error> {
    if civil::is_infinite_timestamp(left) || civil::is_infinite_timestamp(right) {
        return Err(Error::invalid_value("the difference of infinite timestamps"));
    }
    let micros = left.checked_sub(right).ok_or_else(timestamp_out_of_range)?;
    // 2^63 microseconds are fewer days than 2^31.
    let days = (micros / MICROS_PER_DAY) as i32;
    Ok(IntervalValue { months: 0, days, nanoseconds: micros % MICROS_PER_DAY * NANOS_PER_MICRO })
}

/// A time of day moved around the clock; months and days do not count.
fn turn(micros: i64, interval: IntervalValue, sign: i64) -> i64 {
    let time = interval.nanoseconds / NANOS_PER_MICRO % MICROS_PER_DAY;
    (micros + sign * time).rem_euclid(MICROS_PER_DAY)
}

fn at_time(date: i32, micros: i64) -> Result<i64, Error> {
    civil::timestamp_of(date, micros).ok_or_else(timestamp_out_of_range)
}
