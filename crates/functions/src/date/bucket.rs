//! `time_bucket`: the start of the span of equal length that holds a point in time.
//!
//! ```text
//! months    spans begin `width` months apart, one of them in January 2000
//! the rest  spans begin `width` apart, one of them on Monday, 3 January 2000
//! ```
//!
//! An origin is where another span begins; an offset moves all of them.

use super::timestamp_out_of_range;
use crate::documentation::doc;
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{DateDays, Interval, TimestampMicros},
};
use volley_types::civil::{
    self, MICROS_PER_DAY, add_months, civil_of_days, days_of_civil, split_timestamp, timestamp_of,
};

/// 2000-01-03, a Monday.
const ORIGIN_MICROS: i64 = 10_959 * MICROS_PER_DAY;

/// January 2000, in months since January 1970.
const ORIGIN_MONTH: i64 = 360;

/// Registers `time_bucket`.
pub(super) fn register(registry: &mut Registry) {
    let doc = doc(
        "time_bucket(width, date or timestamp[, offset or origin]) -> date or timestamp",
        "The start of the span that holds the point in time. Spans have the width of an INTERVAL, \
         of months or of days and less, and begin on Monday, 3 January 2000, in January 2000 when \
         the width is one of months, or at an origin; an INTERVAL as offset moves them.",
        "date",
        &[
            (
                "time_bucket(INTERVAL '15 minutes', TIMESTAMP '2020-01-01 12:34:56')",
                "2020-01-01 12:30:00",
            ),
            ("time_bucket(INTERVAL '3 months', DATE '2020-05-20')", "2020-04-01"),
            ("time_bucket(INTERVAL '10 days', DATE '2020-01-01', DATE '2020-01-05')", "2019-12-26"),
        ],
    );
    let none = FunctionDoc::default;
    registry.simple("time_bucket", doc, |width: Interval, at: TimestampMicros| {
        bucket(width, at.0, None).map(TimestampMicros)
    });
    registry
        .simple("time_bucket", none(), |width: Interval, at: DateDays| of_date(width, at, None));
    registry.simple(
        "time_bucket",
        none(),
        |width: Interval, at: TimestampMicros, offset: Interval| {
            moved(width, at.0, offset).map(TimestampMicros)
        },
    );
    registry.simple("time_bucket", none(), |width: Interval, at: DateDays, offset: Interval| {
        date_of(moved(width, midnight(at)?, offset)?)
    });
    registry.simple(
        "time_bucket",
        none(),
        |width: Interval, at: TimestampMicros, origin: TimestampMicros| {
            bucket(width, at.0, Some(origin.0)).map(TimestampMicros)
        },
    );
    registry.simple("time_bucket", none(), |width: Interval, at: DateDays, origin: DateDays| {
        of_date(width, at, Some(origin))
    });
}

fn of_date(width: Interval, at: DateDays, origin: Option<DateDays>) -> Result<DateDays> {
    let origin = origin.map(midnight).transpose()?;
    date_of(bucket(width, midnight(at)?, origin)?)
}

fn midnight(date: DateDays) -> Result<i64> {
    timestamp_of(date.0, 0).ok_or_else(timestamp_out_of_range)
}

fn date_of(micros: i64) -> Result<DateDays> {
    Ok(DateDays(civil::date_of(micros)))
}

fn moved(width: Interval, at: i64, offset: Interval) -> Result<i64> {
    let start = bucket(width, shifted(at, offset, -1)?, None)?;
    shifted(start, offset, 1)
}

/// A timestamp with an interval added to it, or taken from it where `sign` is -1.
fn shifted(micros: i64, by: Interval, sign: i64) -> Result<i64> {
    if civil::is_infinite_timestamp(micros) {
        return Ok(micros);
    }
    let shifted = || {
        let (days, of_day) = split_timestamp(micros);
        let days = add_months(days, sign * i64::from(by.months))?;
        let days = i32::try_from(i64::from(days) + sign * i64::from(by.days)).ok()?;
        timestamp_of(days, of_day)?.checked_add(sign * (by.nanoseconds / 1_000))
    };
    shifted().ok_or_else(timestamp_out_of_range)
}

fn bucket(width: Interval, at: i64, origin: Option<i64>) -> Result<i64> {
    let micros = i64::from(width.days)
        .checked_mul(MICROS_PER_DAY)
        .and_then(|it| it.checked_add(width.nanoseconds / 1_000))
        .ok_or_else(timestamp_out_of_range)?;
    if width.months != 0 && micros != 0 {
        let error = Error::invalid_value("a width of months cannot have days or hours");
        return Err(error.hint("use days instead of months, or months alone"));
    }
    if width.months < 0 || micros < 0 || (width.months == 0 && micros == 0) {
        return Err(Error::invalid_value("the width of time_bucket must be greater than zero"));
    }
    if civil::is_infinite_timestamp(at) {
        return Ok(at);
    }
    if width.months > 0 {
        return bucket_of_months(i64::from(width.months), at, origin);
    }
    let origin = origin.unwrap_or(ORIGIN_MICROS);
    let start = || {
        // Only the distance from some start of a span matters.
        let past = at.checked_sub(origin % micros)?.rem_euclid(micros);
        at.checked_sub(past)
    };
    start().ok_or_else(timestamp_out_of_range)
}

/// The day of the origin does not matter: spans begin on the first of a month.
fn bucket_of_months(width: i64, at: i64, origin: Option<i64>) -> Result<i64> {
    let origin = origin.map_or(ORIGIN_MONTH, month_of);
    let month = month_of(at);
    let start = month - (month - origin).rem_euclid(width);
    let days = days_of_civil(1970 + start.div_euclid(12), start.rem_euclid(12) as u32 + 1, 1);
    let days = i32::try_from(days).ok();
    days.and_then(|it| timestamp_of(it, 0)).ok_or_else(timestamp_out_of_range)
}

/// Months since January 1970.
fn month_of(micros: i64) -> i64 {
    let civil = civil_of_days(split_timestamp(micros).0);
    (i64::from(civil.year) - 1970) * 12 + i64::from(civil.month) - 1
}
