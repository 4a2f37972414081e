//! `age`: the time between two moments in years, months, days and a time.

use super::{field::split, infinite::null_of_infinite};
use crate::documentation::doc;
use volley_function::{
    Registry,
    simple::{Interval, Timestamp, binary},
};
use volley_types::{
    Interval as IntervalValue,
    civil::{MICROS_PER_DAY, civil_of_days, days_in_month},
};

/// Nanoseconds of a microsecond.
const NANOS_PER_MICRO: i64 = 1_000;

/// Registers `age`.
pub(super) fn register(registry: &mut Registry) {
    let doc = doc(
        "age(end, start) -> interval",
        "The time from `start` to `end`, the difference of years, months, days and times.",
        "date",
        &[(
            "age(timestamp '2001-04-10 00:00:00', timestamp '1957-06-13 00:00:00')",
            "43 years 9 months 27 days",
        )],
    );
    let bind = binary::<Timestamp, Timestamp, Interval, _>(age);
    registry.add_scalar("age", doc, null_of_infinite(bind));
}

fn age(end: i64, start: i64) -> IntervalValue {
    if start > end {
        let positive = age(start, end);
        return IntervalValue {
            months: -positive.months,
            days: -positive.days,
            nanoseconds: -positive.nanoseconds,
        };
    }
    let ((first, first_time), (last, last_time)) = (split(start), split(end));
    let (a, b) = (civil_of_days(first), civil_of_days(last));
    let mut months = (b.year - a.year) * 12 + b.month as i32 - a.month as i32;
    let mut days = b.day as i32 - a.day as i32;
    let mut micros = last_time - first_time;
    if micros < 0 {
        (micros, days) = (micros + MICROS_PER_DAY, days - 1);
    }
    if days < 0 {
        // Borrowed days are those of the start's month.
        days += days_in_month(a.year.into(), a.month) as i32;
        months -= 1;
    }
    IntervalValue { months, days, nanoseconds: micros * NANOS_PER_MICRO }
}
