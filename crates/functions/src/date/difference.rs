//! `date_diff`, which counts the borders of a unit between two points in time, and `date_sub`,
//! which counts the whole units.

use super::{
    field::{iso_week, split},
    infinite::null_of_infinite,
    timestamp_out_of_range,
    unit::Unit,
};
use crate::{constant_argument::for_constant_text, documentation::doc};
use volley_error::Error;
use volley_function::{
    FunctionDoc, Registry,
    simple::{BigInt, Date, Time, Timestamp, Varchar, function2, ternary},
};
use volley_types::civil::{
    MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, add_months,
    civil_of_days, timestamp_of,
};

/// Registers `date_diff` and `date_sub`.
pub(super) fn register(registry: &mut Registry) {
    let diff = doc(
        "date_diff(unit, start, end) -> bigint",
        "How many borders of the unit lie between two points in time; for weeks, the whole weeks.",
        "date",
        &[("date_diff('month', date '2020-01-31', date '2020-02-01')", "1")],
    );
    for name in ["date_diff", "datediff"] {
        register_count(registry, name, &diff, borders);
    }
    let sub = doc(
        "date_sub(unit, start, end) -> bigint",
        "How many whole units lie between two points in time.",
        "date",
        &[("date_sub('month', date '2024-01-15', date '2024-02-14')", "0")],
    );
    for name in ["date_sub", "datesub"] {
        register_count(registry, name, &sub, whole);
    }
}

/// Registers a function that counts units, for dates, timestamps and times. The name of a constant
/// unit is looked up once.
fn register_count(
    registry: &mut Registry,
    name: &str,
    doc: &FunctionDoc,
    count: impl Fn(Unit, i64, i64) -> Result<i64, Error> + Copy + Send + Sync + 'static,
) {
    let of_dates = move |unit, start, end| count(unit, midnight(start)?, midnight(end)?);
    let dates = ternary::<Varchar, Date, Date, BigInt, _>(move |name: &str, start, end| {
        of_dates(Unit::parse(name)?, start, end)
    });
    let dates = for_constant_text(dates, 0, move |name| {
        Ok(match Unit::parse(name)? {
            unit if is_day(unit) => function2::<Date, Date, BigInt, _>(days_between),
            unit => {
                function2::<Date, Date, BigInt, _>(move |start, end| of_dates(unit, start, end))
            }
        })
    });
    registry.add_scalar(name, doc.clone(), null_of_infinite(dates));
    let timestamps =
        ternary::<Varchar, Timestamp, Timestamp, BigInt, _>(move |name: &str, start, end| {
            count(Unit::parse(name)?, start, end)
        });
    let timestamps = for_constant_text(timestamps, 0, move |name| {
        let unit = Unit::parse(name)?;
        Ok(function2::<Timestamp, Timestamp, BigInt, _>(move |start, end| count(unit, start, end)))
    });
    registry.add_scalar(name, doc.clone(), null_of_infinite(timestamps));
    let times = ternary::<Varchar, Time, Time, BigInt, _>(move |name: &str, start, end| {
        count(time_unit(name)?, start, end)
    });
    let times = for_constant_text(times, 0, move |name| {
        let unit = time_unit(name)?;
        Ok(function2::<Time, Time, BigInt, _>(move |start, end| count(unit, start, end)))
    });
    registry.add_scalar(name, doc.clone(), times);
}

/// The days between two dates, which are both the borders and the whole days. Dates that are no
/// timestamps fail as with the other units.
fn days_between(start: i32, end: i32) -> Result<i64, Error> {
    let is_timestamp = |days: i32| timestamp_of(days, 0).is_some();
    if !is_timestamp(start) || !is_timestamp(end) {
        return Err(timestamp_out_of_range());
    }
    Ok(i64::from(end) - i64::from(start))
}

fn midnight(days: i32) -> Result<i64, Error> {
    timestamp_of(days, 0).ok_or_else(timestamp_out_of_range)
}

fn time_unit(name: &str) -> Result<Unit, Error> {
    match Unit::parse(name)? {
        unit if micros_of(unit).is_some() => Ok(unit),
        unit => Err(Error::invalid_value(format!("a time has no field {}", unit.name()))),
    }
}

/// The length of a unit within a day.
pub(super) fn micros_of(unit: Unit) -> Option<i64> {
    Some(match unit {
        Unit::Hour => MICROS_PER_HOUR,
        Unit::Minute => MICROS_PER_MINUTE,
        Unit::Second | Unit::Epoch => MICROS_PER_SECOND,
        Unit::Millisecond => 1_000,
        Unit::Microsecond => 1,
        _ => return None,
    })
}

fn is_day(unit: Unit) -> bool {
    use Unit::{Day, DayOfWeek, DayOfYear, IsoDayOfWeek, Julian};
    matches!(unit, Day | DayOfWeek | DayOfYear | IsoDayOfWeek | Julian)
}

pub(super) fn borders(unit: Unit, start: i64, end: i64) -> Result<i64, Error> {
    if let Some(step) = micros_of(unit) {
        let borders = end.div_euclid(step).checked_sub(start.div_euclid(step));
        return borders.ok_or_else(timestamp_out_of_range);
    }
    let (first, last) = (split(start).0, split(end).0);
    let days = i64::from(last) - i64::from(first);
    if is_day(unit) {
        return Ok(days);
    }
    let (first_date, last_date) = (civil_of_days(first), civil_of_days(last));
    let years = |each: i64| i64::from(last_date.year) / each - i64::from(first_date.year) / each;
    let months = i64::from(last_date.month) - i64::from(first_date.month);
    Ok(match unit {
        Unit::Week | Unit::YearWeek => days / 7,
        Unit::Month => years(1) * 12 + months,
        Unit::Quarter => {
            let quarter = |month: u32| i64::from(month - 1) / 3;
            years(1) * 4 + quarter(last_date.month) - quarter(first_date.month)
        }
        Unit::IsoYear => iso_week(last).0 - iso_week(first).0,
        Unit::Decade => years(10),
        Unit::Century => years(100),
        Unit::Millennium => years(1000),
        Unit::Year => years(1),
        _ => return Err(Error::invalid_value(format!("{} is no unit of time", unit.name()))),
    })
}

pub(super) fn whole(unit: Unit, start: i64, end: i64) -> Result<i64, Error> {
    let micros = i128::from(end) - i128::from(start);
    if let Some(step) = micros_of(unit) {
        let count = i64::try_from(micros / i128::from(step));
        return count.map_err(|_| timestamp_out_of_range());
    }
    // 2^64 microseconds are fewer days than 2^31.
    let days = (micros / i128::from(MICROS_PER_DAY)) as i64;
    let months_each = match unit {
        Unit::Month => 1,
        Unit::Quarter => 3,
        Unit::Year | Unit::IsoYear => 12,
        Unit::Decade => 120,
        Unit::Century => 1_200,
        Unit::Millennium => 12_000,
        Unit::Week | Unit::YearWeek => return Ok(days / 7),
        _ if is_day(unit) => return Ok(days),
        _ => return Err(Error::invalid_value(format!("{} is no unit of time", unit.name()))),
    };
    Ok(whole_months(start, end) / months_each)
}

/// Months from one moment to another, without the last one where it is not complete.
fn whole_months(start: i64, end: i64) -> i64 {
    if start > end {
        return -whole_months(end, start);
    }
    let ((first, first_time), (last, last_time)) = (split(start), split(end));
    let (a, b) = (civil_of_days(first), civil_of_days(last));
    let months =
        (i64::from(b.year) - i64::from(a.year)) * 12 + i64::from(b.month) - i64::from(a.month);
    // The day may lie beyond the end of the last month: its last day completes it.
    let reached = add_months(first, months).map(|days| (days, first_time));
    months - i64::from(reached.is_none_or(|it| it > (last, last_time)))
}
