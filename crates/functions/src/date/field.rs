//! The fields of points in time and of intervals.

use super::unit::Unit;
use volley_error::{Error, Result};
use volley_types::{
    Interval,
    civil::{
        self, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, civil_of_days,
        days_of_civil,
    },
};

/// Nanoseconds, which intervals keep, of a microsecond.
const NANOS_PER_MICRO: i64 = 1_000;

/// Days from the start of the Julian period (noon of 4714-11-24 BC) to 1970-01-01.
const JULIAN_DAY_OF_EPOCH: f64 = 2_440_588.0;

/// A field of a day and the microseconds since its midnight.
#[inline(always)]
pub(super) fn field_of(unit: Unit, days: i32, micros: i64) -> i64 {
    match unit {
        Unit::Year => civil_of_days(days).year.into(),
        Unit::Month => civil_of_days(days).month.into(),
        Unit::Day => civil_of_days(days).day.into(),
        Unit::Hour => micros / MICROS_PER_HOUR,
        Unit::Minute => micros / MICROS_PER_MINUTE % 60,
        Unit::Second => micros / MICROS_PER_SECOND % 60,
        Unit::Millisecond => micros % MICROS_PER_MINUTE / 1_000,
        Unit::Microsecond => micros % MICROS_PER_MINUTE,
        other => calendar_field(other, days),
    }
}

/// The fields that are asked for less often.
fn calendar_field(unit: Unit, days: i32) -> i64 {
    let date = civil_of_days(days);
    let year = i64::from(date.year);
    match unit {
        Unit::Era => i64::from(year > 0),
        Unit::Millennium => ordinal(year, 1000),
        Unit::Century => ordinal(year, 100),
        Unit::Decade => year / 10,
        Unit::IsoYear => iso_week(days).0,
        Unit::Quarter => i64::from(date.month - 1) / 3 + 1,
        Unit::YearWeek => {
            let (year, week) = iso_week(days);
            year * 100 + if year > 0 { week } else { -week }
        }
        Unit::Week => iso_week(days).1,
        Unit::DayOfWeek => iso_day_of_week(days) % 7,
        Unit::IsoDayOfWeek => iso_day_of_week(days),
        Unit::DayOfYear => i64::from(days) - days_of_civil(year, 1, 1) + 1,
        // All other units are fields of the time of day, or no integers.
        _ => 0,
    }
}

/// The century or millennium of a year: 1 holds the years 1 to `years`, -1 the years before.
fn ordinal(year: i64, years: i64) -> i64 {
    if year > 0 { (year - 1) / years + 1 } else { year / years - 1 }
}

/// Monday is 1, Sunday 7.
pub(super) fn iso_day_of_week(days: i32) -> i64 {
    // 1970-01-01 was a Thursday.
    (i64::from(days) + 3).rem_euclid(7) + 1
}

/// The Monday of the day's week.
pub(super) fn monday_of(days: i32) -> i64 {
    i64::from(days) + 1 - iso_day_of_week(days)
}

/// The year and the week in it, by ISO 8601: the first week is the one that holds January 4.
pub(super) fn iso_week(days: i32) -> (i64, i64) {
    // A week belongs to the year of its Thursday.
    let thursday = monday_of(days) + 3;
    let year = i64::from(civil_of_days(thursday as i32).year);
    (year, (thursday - days_of_civil(year, 1, 1)) / 7 + 1)
}

/// The first Monday of a year of ISO 8601.
pub(super) fn iso_year_start(year: i64) -> i64 {
    monday_of(days_of_civil(year, 1, 4) as i32)
}

/// Seconds since 1970-01-01.
pub(super) fn epoch_of(micros: i64) -> f64 {
    micros as f64 / MICROS_PER_SECOND as f64
}

/// The Julian day, with the time of day as its fraction.
pub(super) fn julian_of(days: i32, micros: i64) -> f64 {
    f64::from(days) + JULIAN_DAY_OF_EPOCH + micros as f64 / MICROS_PER_DAY as f64
}

/// A field of a time of day.
pub(super) fn field_of_time(unit: Unit, micros: i64) -> Result<i64> {
    match unit {
        Unit::Hour | Unit::Minute | Unit::Second | Unit::Millisecond | Unit::Microsecond => {
            Ok(field_of(unit, 0, micros))
        }
        _ => Err(Error::invalid_value(format!("a time has no field {}", unit.name()))),
    }
}

/// A field of an interval; months, days and the time stay apart.
pub(super) fn field_of_interval(unit: Unit, interval: Interval) -> Result<i64> {
    let months = i64::from(interval.months);
    let micros = interval.nanoseconds / NANOS_PER_MICRO;
    Ok(match unit {
        Unit::Millennium => months / 12_000,
        Unit::Century => months / 1_200,
        Unit::Decade => months / 120,
        Unit::Year => months / 12,
        Unit::Quarter => months % 12 / 3 + 1,
        Unit::Month => months % 12,
        Unit::Day => interval.days.into(),
        Unit::Hour => micros / MICROS_PER_HOUR,
        Unit::Minute => micros % MICROS_PER_HOUR / MICROS_PER_MINUTE,
        Unit::Second => micros % MICROS_PER_MINUTE / MICROS_PER_SECOND,
        Unit::Millisecond => micros % MICROS_PER_MINUTE / 1_000,
        Unit::Microsecond => micros % MICROS_PER_MINUTE,
        _ => {
            let message = format!("an interval has no field {}", unit.name());
            return Err(Error::invalid_value(message));
        }
    })
}

/// Seconds of an interval: a year has 365.25 days, a month 30, a day 24 hours.
pub(super) fn epoch_of_interval(interval: Interval) -> f64 {
    const SECONDS_PER_DAY: f64 = 86_400.0;
    let (years, months) = (interval.months / 12, interval.months % 12);
    let days = f64::from(years) * 365.25 + f64::from(months) * 30.0 + f64::from(interval.days);
    days * SECONDS_PER_DAY + (interval.nanoseconds / NANOS_PER_MICRO) as f64 / 1e6
}

/// The day and the microseconds since its midnight.
#[inline(always)]
pub(super) fn split(micros: i64) -> (i32, i64) {
    civil::split_timestamp(micros)
}
