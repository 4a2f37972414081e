//! `date_diff`, which counts the borders of a unit between two points in time, and `date_sub`,
//! which counts the whole units.

use super::{
    field::{iso_week, split},
    timestamp_out_of_range,
    unit::Unit,
};
use crate::documentation::doc;
use volley_error::Error;
use volley_function::{
    Registry,
    simple::{BigInt, Date, Time, Timestamp, Varchar, ternary},
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
        let dates = ternary::<Varchar, Date, Date, BigInt, _>(|name: &str, start, end| {
            borders(Unit::parse(name)?, midnight(start)?, midnight(end)?)
        });
        registry.add_scalar(name, diff.clone(), dates);
        let timestamps =
            ternary::<Varchar, Timestamp, Timestamp, BigInt, _>(|name: &str, start, end| {
                borders(Unit::parse(name)?, start, end)
            });
        registry.add_scalar(name, diff.clone(), timestamps);
        let times = ternary::<Varchar, Time, Time, BigInt, _>(|name: &str, start, end| {
            borders(time_unit(name)?, start, end)
        });
        registry.add_scalar(name, diff.clone(), times);
    }
    let sub = doc(
        "date_sub(unit, start, end) -> bigint",
        "How many whole units lie between two points in time.",
        "date",
        &[("date_sub('month', date '2024-01-15', date '2024-02-14')", "0")],
    );
    for name in ["date_sub", "datesub"] {
        let dates = ternary::<Varchar, Date, Date, BigInt, _>(|name: &str, start, end| {
            whole(Unit::parse(name)?, midnight(start)?, midnight(end)?)
        });
        registry.add_scalar(name, sub.clone(), dates);
        let timestamps =
            ternary::<Varchar, Timestamp, Timestamp, BigInt, _>(|name: &str, start, end| {
                whole(Unit::parse(name)?, start, end)
            });
        registry.add_scalar(name, sub.clone(), timestamps);
        let times = ternary::<Varchar, Time, Time, BigInt, _>(|name: &str, start, end| {
            whole(time_unit(name)?, start, end)
        });
        registry.add_scalar(name, sub.clone(), times);
    }
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
