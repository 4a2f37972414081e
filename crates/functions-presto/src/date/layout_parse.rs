//! Reading a point in time that is written in a layout.

use super::{
    iso::days_of_week,
    layout::{Number, Part, SHORT, ZoneForm},
};
use volley_types::{
    ZoneId,
    civil::{
        DAY_NAMES, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, MONTH_NAMES,
        checked_days, is_leap_year, timestamp_of,
    },
};

/// The year of dates of which only smaller parts are written: one that has all days.
const LEAP_YEAR: i64 = 2000;

/// Years of two digits are from this one on, for a century.
const FIRST_OF_TWO_DIGITS: i64 = 1970;

/// Digits of a fraction that are kept.
const MICRO_DIGITS: usize = 6;

/// The zones that abbreviations mean, with their offsets in minutes or their names.
const ABBREVIATIONS: [(&str, &str); 11] = [
    ("UTC", "UTC"),
    ("GMT", "UTC"),
    ("UT", "UTC"),
    ("EST", "America/New_York"),
    ("EDT", "America/New_York"),
    ("CST", "America/Chicago"),
    ("CDT", "America/Chicago"),
    ("MST", "America/Denver"),
    ("MDT", "America/Denver"),
    ("PST", "America/Los_Angeles"),
    ("PDT", "America/Los_Angeles"),
];

/// What was written.
#[derive(Default)]
struct Written {
    century: Option<i64>,
    year: Option<i64>,
    year_of_era: Option<i64>,
    is_before_christ: bool,
    week_year: Option<i64>,
    month: Option<i64>,
    week: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    day_of_week: Option<i64>,
    hour: Option<i64>,
    hour_of_half: Option<i64>,
    is_afternoon: bool,
    minute: i64,
    second: i64,
    micros: i64,
    zone: Option<ZoneId>,
}

/// What clocks show by a text, and the zone that is written; `None` when the text does not fit.
pub(super) fn read(parts: &[Part], text: &str) -> Option<(i64, Option<ZoneId>)> {
    let mut written = Written::default();
    let mut rest = text;
    for part in parts {
        rest = written.read(part, rest)?;
    }
    if !rest.is_empty() {
        return None;
    }
    Some((timestamp_of(written.days()?, written.of_day())?, written.zone))
}

impl Written {
    /// Reads a part; gives the rest of the text.
    fn read<'a>(&mut self, part: &Part, text: &'a str) -> Option<&'a str> {
        match part {
            Part::Literal(literal) => strip_ignoring_case(text, literal),
            Part::Number { number, most, .. } => {
                let (value, rest) = digits(text, *most, is_signed(*number))?;
                self.set(*number, value)?;
                Some(rest)
            }
            Part::TwoDigits(number) => {
                let (value, rest) = digits(text, 2, false)?;
                let first = FIRST_OF_TWO_DIGITS;
                self.set(*number, first + (value - first).rem_euclid(100))?;
                Some(rest)
            }
            Part::Fraction { most, .. } => {
                let count = text.bytes().take_while(u8::is_ascii_digit).count().min(*most);
                let (digits, rest) = text.split_at(count);
                let kept = digits.get(..count.min(MICRO_DIGITS)).filter(|it| !it.is_empty())?;
                self.micros = format!("{kept:0<width$}", width = MICRO_DIGITS).parse().ok()?;
                Some(rest)
            }
            Part::Month { .. } => {
                let (index, rest) = name(text, &MONTH_NAMES)?;
                self.month = Some(index);
                Some(rest)
            }
            Part::DayOfWeek { .. } => {
                let (index, rest) = name(text, &DAY_NAMES)?;
                self.day_of_week = Some(index);
                Some(rest)
            }
            Part::HalfOfDay => {
                let afternoon = strip_ignoring_case(text, "PM");
                self.is_afternoon = afternoon.is_some();
                afternoon.or_else(|| strip_ignoring_case(text, "AM"))
            }
            Part::Era => {
                let before = ["BCE", "BC"].iter().find_map(|it| strip_ignoring_case(text, it));
                self.is_before_christ = before.is_some();
                let after = || ["AD", "CE"].iter().find_map(|it| strip_ignoring_case(text, it));
                before.or_else(after)
            }
            Part::Zone(form) => {
                let (zone, rest) = zone(*form, text)?;
                self.zone = Some(zone);
                Some(rest)
            }
        }
    }

    /// Keeps a number; `None` when it is out of its range.
    fn set(&mut self, number: Number, value: i64) -> Option<()> {
        let within = |least: i64, most: i64| (least..=most).contains(&value).then_some(value);
        match number {
            Number::Century => self.century = Some(value),
            Number::Year => self.year = Some(value),
            Number::YearOfEra => self.year_of_era = Some(within(1, i64::MAX)?),
            Number::WeekYear => self.week_year = Some(value),
            Number::Month => self.month = Some(within(1, 12)?),
            Number::Week => self.week = Some(within(1, 53)?),
            Number::Day => self.day = Some(within(1, 31)?),
            Number::DayOfYear => self.day_of_year = Some(within(1, 366)?),
            Number::DayOfWeek => self.day_of_week = Some(within(1, 7)?),
            Number::Hour => self.hour = Some(within(0, 23)?),
            Number::ClockHour => self.hour = Some(within(1, 24)? % 24),
            Number::HourOfHalf => self.hour_of_half = Some(within(0, 11)?),
            Number::ClockHourOfHalf => self.hour_of_half = Some(within(1, 12)? % 12),
            Number::Minute => self.minute = within(0, 59)?,
            Number::Second => self.second = within(0, 59)?,
        }
        Some(())
    }

    fn days(&self) -> Option<i32> {
        let is_by_week = self.week.is_some() || self.week_year.is_some();
        let has_date = self.month.is_some() || self.day.is_some() || self.day_of_year.is_some();
        let has_smaller = has_date || is_by_week || self.day_of_week.is_some();
        let year = self.written_year().unwrap_or(if has_smaller { LEAP_YEAR } else { 1970 });
        if (is_by_week || self.day_of_week.is_some()) && !has_date {
            let year = self.week_year.unwrap_or(year);
            return days_of_week(year, self.week.unwrap_or(1), self.day_of_week.unwrap_or(1));
        }
        if let Some(day) = self.day_of_year
            && self.month.is_none()
        {
            let last = if is_leap_year(year) { 366 } else { 365 };
            let first = checked_days(year, 1, 1)?;
            let day = i32::try_from(day).ok().filter(|it| *it <= last)?;
            return first.checked_add(day - 1);
        }
        checked_days(year, self.month.unwrap_or(1), self.day.unwrap_or(1))
    }

    fn written_year(&self) -> Option<i64> {
        let of_era = self.year_of_era.map(|it| self.astronomical(it));
        let of_century = self.century.map(|it| it.saturating_mul(100));
        let year = self.year.map(|it| self.astronomical(it));
        year.or(of_era).or(of_century)
    }

    /// A year that is counted within its era.
    fn astronomical(&self, year: i64) -> i64 {
        if self.is_before_christ { 1_i64.saturating_sub(year) } else { year }
    }

    fn of_day(&self) -> i64 {
        let half = if self.is_afternoon { 12 } else { 0 };
        let hour = self.hour.or_else(|| self.hour_of_half.map(|it| it + half)).unwrap_or(0);
        hour * MICROS_PER_HOUR
            + self.minute * MICROS_PER_MINUTE
            + self.second * MICROS_PER_SECOND
            + self.micros
    }
}

/// Whether a number may be negative.
fn is_signed(number: Number) -> bool {
    matches!(number, Number::Year | Number::WeekYear)
}

/// A number of up to `most` digits.
fn digits(text: &str, most: usize, is_signed: bool) -> Option<(i64, &str)> {
    let (sign, unsigned) = match text.strip_prefix('-').filter(|_| is_signed) {
        Some(unsigned) => (-1, unsigned),
        None => (1, text),
    };
    let count = unsigned.bytes().take_while(u8::is_ascii_digit).count().min(most);
    let (digits, rest) = unsigned.split_at(count);
    Some((sign * digits.parse::<i64>().ok()?, rest))
}

/// A name, whole or cut, and its position from 1.
fn name<'a>(text: &'a str, names: &[&str]) -> Option<(i64, &'a str)> {
    let whole = |it: &&str| strip_ignoring_case(text, it);
    let cut = |it: &&str| strip_ignoring_case(text, it.get(..SHORT)?);
    let mut all = (1..).zip(names);
    let found = all.find_map(|(index, it)| Some((index, whole(it)?)));
    found.or_else(|| (1..).zip(names).find_map(|(index, it)| Some((index, cut(it)?))))
}

fn zone(form: ZoneForm, text: &str) -> Option<(ZoneId, &str)> {
    match form {
        ZoneForm::Offset | ZoneForm::OffsetWithColon => {
            if let Some(rest) = text.strip_prefix(['Z', 'z']) {
                return Some((ZoneId::UTC, rest));
            }
            let is_offset = |it: char| it.is_ascii_digit() || it == ':';
            let sign = text.strip_prefix(['+', '-'])?;
            let end = 1 + sign.find(|it| !is_offset(it)).unwrap_or(sign.len());
            Some((ZoneId::find(text.get(..end)?)?, text.get(end..)?))
        }
        ZoneForm::Id => {
            let is_name = |it: char| it.is_ascii_alphanumeric() || "/_+-:".contains(it);
            let end = text.find(|it| !is_name(it)).unwrap_or(text.len());
            Some((ZoneId::find(text.get(..end)?)?, text.get(end..)?))
        }
        ZoneForm::Abbreviation => ABBREVIATIONS.iter().find_map(|(short, name)| {
            Some((ZoneId::find(name)?, strip_ignoring_case(text, short)?))
        }),
    }
}

fn strip_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}
