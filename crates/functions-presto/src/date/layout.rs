//! The layout of a point in time as text, which patterns of MySQL and of Joda mean, and writing it.

use super::{
    field::{day_of_year, iso_day_of_week, iso_week},
    point::{Moment, Zones},
};
use std::fmt::Write;
use volley_error::Result;
use volley_types::civil::{
    DAY_NAMES, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, MONTH_NAMES, civil_of_days,
};

/// Letters of a name that is cut.
pub(super) const SHORT: usize = 3;

/// A number that a layout shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Century,
    Year,
    YearOfEra,
    WeekYear,
    Month,
    Week,
    Day,
    DayOfYear,
    DayOfWeek,
    /// 0 to 23.
    Hour,
    /// 1 to 24.
    ClockHour,
    /// 0 to 11.
    HourOfHalf,
    /// 1 to 12.
    ClockHourOfHalf,
    Minute,
    Second,
}

/// How a zone is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ZoneForm {
    /// `+0200`
    Offset,
    /// `+02:00`
    OffsetWithColon,
    /// `Europe/Berlin`
    Id,
    /// `CEST`
    Abbreviation,
}

/// A part of a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Literal(String),
    /// A number, written with zeros before it up to `least` digits, and read up to `most`.
    Number {
        number: Number,
        least: usize,
        most: usize,
    },
    /// The last two digits of a year.
    TwoDigits(Number),
    /// The fraction of a second: the minimum number of digits.
    Fraction {
        least: usize,
        most: usize,
    },
    Month {
        is_short: bool,
    },
    DayOfWeek {
        is_short: bool,
    },
    HalfOfDay,
    Era,
    Zone(ZoneForm),
}

/// Appends a point in time in a layout.
pub(super) fn write(
    parts: &[Part],
    moment: &Moment,
    zones: &Zones,
    out: &mut String,
) -> Result<()> {
    let date = civil_of_days(moment.days);
    let name = |names: &'static [&'static str], at: i64, is_short: bool| {
        let name = names.get(at as usize - 1).copied().unwrap_or_default();
        if is_short { &name[..SHORT] } else { name }
    };
    for part in parts {
        match part {
            Part::Literal(text) => out.push_str(text),
            Part::Number { number, least, .. } => push_number(out, value(*number, moment), *least),
            Part::TwoDigits(number) => {
                push_number(out, value(*number, moment).abs() % 100, 2);
            }
            Part::Fraction { least, most } => {
                let micros = moment.of_day % MICROS_PER_SECOND;
                let digits = format!("{micros:06}000");
                let digits = digits.get(..(*least).min(*most).min(9)).unwrap_or(&digits);
                out.push_str(digits);
                out.extend(std::iter::repeat_n('0', least.saturating_sub(9)));
            }
            Part::Month { is_short } => {
                out.push_str(name(&MONTH_NAMES, date.month.into(), *is_short))
            }
            Part::DayOfWeek { is_short } => {
                out.push_str(name(&DAY_NAMES, iso_day_of_week(moment.days), *is_short));
            }
            Part::HalfOfDay => {
                out.push_str(if moment.of_day < 12 * MICROS_PER_HOUR { "AM" } else { "PM" });
            }
            Part::Era => out.push_str(if date.year > 0 { "AD" } else { "BC" }),
            Part::Zone(form) => push_zone(*form, moment, zones, out)?,
        }
    }
    Ok(())
}

fn push_zone(form: ZoneForm, moment: &Moment, zones: &Zones, out: &mut String) -> Result<()> {
    match form {
        ZoneForm::Offset => push_offset(out, zones.offset_seconds(moment)?, "", "+0000"),
        ZoneForm::OffsetWithColon => push_offset(out, zones.offset_seconds(moment)?, ":", "+00:00"),
        ZoneForm::Id => moment.zone.push_name(out),
        ZoneForm::Abbreviation => out.push_str(&zones.abbreviation(moment)?),
    }
    Ok(())
}

/// Appends an offset from UTC such as `+02:00`; `zero` in its place where there is none.
pub(super) fn push_offset(out: &mut String, seconds: i64, separator: &str, zero: &str) {
    if seconds == 0 {
        out.push_str(zero);
        return;
    }
    let (sign, minutes) = (if seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs() / 60);
    // Writing to memory does not fail.
    let _ = write!(out, "{sign}{:02}{separator}{:02}", minutes / 60, minutes % 60);
}

fn push_number(out: &mut String, value: i64, least: usize) {
    if value < 0 {
        out.push('-');
    }
    // Writing to memory does not fail.
    let _ = write!(out, "{:0least$}", value.unsigned_abs());
}

fn value(number: Number, moment: &Moment) -> i64 {
    let date = civil_of_days(moment.days);
    let year = i64::from(date.year);
    let of_era = if year > 0 { year } else { 1 - year };
    let hour = moment.of_day / MICROS_PER_HOUR;
    match number {
        Number::Century => of_era / 100,
        Number::Year => year,
        Number::YearOfEra => of_era,
        Number::WeekYear => iso_week(moment.days).0,
        Number::Month => date.month.into(),
        Number::Week => iso_week(moment.days).1,
        Number::Day => date.day.into(),
        Number::DayOfYear => day_of_year(moment.days),
        Number::DayOfWeek => iso_day_of_week(moment.days),
        Number::Hour => hour,
        Number::ClockHour => (hour + 23) % 24 + 1,
        Number::HourOfHalf => hour % 12,
        Number::ClockHourOfHalf => (hour + 11) % 12 + 1,
        Number::Minute => moment.of_day / MICROS_PER_MINUTE % 60,
        Number::Second => moment.of_day / MICROS_PER_SECOND % 60,
    }
}
