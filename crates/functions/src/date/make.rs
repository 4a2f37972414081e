//! Making points in time and intervals from numbers.

use super::{infinite::null_of_infinite, timestamp_out_of_range};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BindScalar, BoundScalar, Registry, ScalarTraits,
    simple::{self, BigInt, Date, Double, Integer, Interval, Time, Timestamp, ternary, unary},
};
use volley_types::{
    Interval as IntervalValue, Type,
    civil::{
        MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, checked_days, civil_of_days,
        days_in_month, is_infinite_timestamp, split_timestamp, timestamp_of,
    },
    implicit_cast_cost,
};
use volley_vector::{Decoded, NullBuffer, Vector};

/// Registers `make_date`, `make_time`, `make_timestamp`, `last_day` and the makers of intervals.
pub(super) fn register(registry: &mut Registry) {
    let date = doc(
        "make_date(year, month, day) -> date",
        "The date; an error when there is none.",
        "date",
        &[("make_date(2020, 2, 29)", "2020-02-29")],
    );
    registry.add_scalar(
        "make_date",
        date.clone(),
        ternary::<BigInt, BigInt, BigInt, Date, _>(make_date),
    );
    registry.add_scalar("make_date", date, unary::<Integer, Date, _>(|days: i32| days));
    let time = doc(
        "make_time(hour, minute, second) -> time",
        "The time of day.",
        "date",
        &[("make_time(1, 2, 3.5)", "01:02:03.5")],
    );
    registry.add_scalar("make_time", time, ternary::<BigInt, BigInt, Double, Time, _>(make_time));
    let timestamp = doc(
        "make_timestamp(year, month, day, hour, minute, second) -> timestamp",
        "The timestamp; with one argument, that many microseconds after 1970-01-01.",
        "date",
        &[("make_timestamp(2020, 1, 2, 3, 4, 5.5)", "2020-01-02 03:04:05.5")],
    );
    registry.add_scalar("make_timestamp", timestamp.clone(), Arc::new(bind_timestamp));
    registry.add_scalar("make_timestamp", timestamp, finite_timestamp());
    let last = doc(
        "last_day(date or timestamp) -> date",
        "The last day of the month.",
        "date",
        &[("last_day(date '2020-02-05')", "2020-02-29")],
    );
    let of_date = unary::<Date, Date, _>(last_day);
    registry.add_scalar("last_day", last.clone(), null_of_infinite(of_date));
    let of_timestamp = unary::<Timestamp, Date, _>(|it| last_day(split_timestamp(it).0));
    registry.add_scalar("last_day", last, null_of_infinite(of_timestamp));
    register_lengths(registry);
    register_intervals(registry);
}

/// The timestamp of a number of microseconds; an error for the numbers that mean infinity.
fn finite_timestamp() -> BindScalar {
    unary::<BigInt, Timestamp, _>(|it: i64| {
        if is_infinite_timestamp(it) { Err(timestamp_out_of_range()) } else { Ok(it) }
    })
}

fn make_date(year: i64, month: i64, day: i64) -> Result<i32, Error> {
    checked_days(year, month, day)
        .ok_or_else(|| Error::invalid_value(format!("date out of range: {year}-{month}-{day}")))
}

fn make_time(hour: i64, minute: i64, second: f64) -> Result<i64, Error> {
    let valid =
        (0..24).contains(&hour) && (0..60).contains(&minute) && (0.0..60.0).contains(&second);
    if !valid {
        let message = format!("time out of range: {hour}:{minute}:{second}");
        return Err(Error::invalid_value(message));
    }
    let micros = (second * MICROS_PER_SECOND as f64).round() as i64;
    Ok(hour * MICROS_PER_HOUR + minute * MICROS_PER_MINUTE + micros)
}

fn last_day(days: i32) -> Result<i32, Error> {
    let date = civil_of_days(days);
    let missing = days_in_month(date.year.into(), date.month) - date.day;
    days.checked_add(missing as i32).ok_or_else(|| Error::invalid_value("date out of range"))
}

/// Six arguments are more than the simple API takes.
fn bind_timestamp(given: &[Type]) -> Option<BoundScalar> {
    let mut args = vec![Type::BigInt; 5];
    args.push(Type::Double);
    let fits = given.len() == args.len()
        && given.iter().zip(&args).all(|(from, to)| implicit_cast_cost(from, to).is_some());
    let function = simple::vectorized(|rows, args, to, ctx| {
        let args = args.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
        let integers: Vec<&[i64]> = args[..5].iter().map(Decoded::native::<i64>).collect();
        let seconds = args[5].native::<f64>();
        let mut values = vec![0i64; rows.len()];
        let mut valid = vec![true; rows.len()];
        rows.for_each(|row| {
            if args.iter().any(|it| it.is_null(row)) {
                valid[row] = false;
                return;
            }
            let at = |index: usize| integers[index][args[index].index(row)];
            let made = make_date(at(0), at(1), at(2)).and_then(|days| {
                let time = make_time(at(3), at(4), seconds[args[5].index(row)])?;
                timestamp_of(days, time).ok_or_else(timestamp_out_of_range)
            });
            match made {
                Ok(micros) => values[row] = micros,
                Err(error) => ctx.fail(row, || error),
            }
        });
        Ok(Vector::native::<i64>(to.clone(), values, Some(NullBuffer::from(valid))))
    });
    fits.then(|| BoundScalar::new(args, Type::Timestamp, ScalarTraits::DEFAULT, function))
}

fn register_intervals(registry: &mut Registry) {
    let makers: [(&str, BindScalar, &str); 12] = [
        ("to_millennia", months(12_000), "1000 years"),
        ("to_centuries", months(1_200), "100 years"),
        ("to_decades", months(120), "10 years"),
        ("to_years", months(12), "1 year"),
        ("to_quarters", months(3), "3 months"),
        ("to_months", months(1), "1 month"),
        ("to_weeks", days(7), "7 days"),
        ("to_days", days(1), "1 day"),
        ("to_hours", micros(MICROS_PER_HOUR), "01:00:00"),
        ("to_minutes", micros(MICROS_PER_MINUTE), "00:01:00"),
        ("to_microseconds", micros(1), "00:00:00.000001"),
        ("to_milliseconds", fraction(1e3), "00:00:00.001"),
    ];
    for (name, bind, example) in makers {
        add_maker(registry, name, bind, example);
    }
    add_maker(registry, "to_seconds", fraction(1e6), "00:00:01");
}

fn add_maker(registry: &mut Registry, name: &str, bind: BindScalar, example: &str) {
    let call = format!("{name}(1)");
    let signature = format!("{name}(number) -> interval");
    let doc =
        doc(&signature, "An interval of that many units.", "date", &[(call.as_str(), example)]);
    registry.add_scalar(name, doc, bind);
}

fn out_of_range() -> Error {
    Error::invalid_value("interval out of range")
}

fn months(each: i64) -> BindScalar {
    unary::<BigInt, Interval, _>(move |count: i64| {
        let months = count.checked_mul(each).and_then(|it| i32::try_from(it).ok());
        let months = months.ok_or_else(out_of_range)?;
        Ok::<_, Error>(IntervalValue { months, days: 0, nanoseconds: 0 })
    })
}

fn days(each: i64) -> BindScalar {
    unary::<BigInt, Interval, _>(move |count: i64| {
        let days = count.checked_mul(each).and_then(|it| i32::try_from(it).ok());
        let days = days.ok_or_else(out_of_range)?;
        Ok::<_, Error>(IntervalValue { months: 0, days, nanoseconds: 0 })
    })
}

fn micros(each: i64) -> BindScalar {
    unary::<BigInt, Interval, _>(move |count: i64| {
        let nanos = count.checked_mul(each).and_then(|it| it.checked_mul(1_000));
        let nanoseconds = nanos.ok_or_else(out_of_range)?;
        Ok::<_, Error>(IntervalValue { months: 0, days: 0, nanoseconds })
    })
}

/// A fractional number of units, each of a number of microseconds.
fn fraction(micros_each: f64) -> BindScalar {
    unary::<Double, Interval, _>(move |count: f64| {
        let micros = (count * micros_each).round();
        // 2^63 nanoseconds are the most that an interval holds.
        if micros.abs() < 9.2e15 {
            Ok(IntervalValue { months: 0, days: 0, nanoseconds: micros as i64 * 1_000 })
        } else {
            Err(out_of_range())
        }
    })
}

fn register_lengths(registry: &mut Registry) {
    let days = doc(
        "days_in_month(date or timestamp) -> bigint",
        "The number of days of the month.",
        "date",
        &[("days_in_month(date '2020-02-05')", "29")],
    );
    let count = |days: i32| {
        let date = civil_of_days(days);
        i64::from(days_in_month(date.year.into(), date.month))
    };
    registry.add_scalar("days_in_month", days.clone(), unary::<Date, BigInt, _>(count));
    let of_timestamp = unary::<Timestamp, BigInt, _>(move |it| count(split_timestamp(it).0));
    registry.add_scalar("days_in_month", days, of_timestamp);
    let milliseconds = doc(
        "make_timestamp_ms(bigint) -> timestamp",
        "The timestamp that many milliseconds after 1970-01-01.",
        "date",
        &[("make_timestamp_ms(1500)", "1970-01-01 00:00:01.5")],
    );
    let of_milliseconds = unary::<BigInt, Timestamp, _>(|it: i64| {
        it.checked_mul(1_000).ok_or_else(timestamp_out_of_range)
    });
    registry.add_scalar("make_timestamp_ms", milliseconds, of_milliseconds);
}
