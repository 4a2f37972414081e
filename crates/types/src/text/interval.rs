//! Intervals to text, and text to intervals.

use super::{number::push_i64, temporal::push_clock};
use crate::{
    Interval,
    civil::{MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND},
};

/// Intervals keep nanoseconds; SQL sees microseconds.
const NANOS_PER_MICRO: i64 = 1_000;

/// Digits of a fraction that count: fewer would lose microseconds of a millennium.
const FRACTION_DIGITS: usize = 18;

/// A unit in the parts that its fractions are read in.
const WHOLE: i128 = 10_i128.pow(FRACTION_DIGITS as u32);

/// The digits of a time of day's seconds that count; those behind them are cut, as in timestamps.
const CLOCK_DIGITS: usize = 6;

/// Days that a fraction of a month counts.
const DAYS_PER_MONTH: i64 = 30;

/// Appends `1 year 2 months 3 days 04:05:06`, leaving out what is zero; `00:00:00` for nothing.
pub fn push_interval(out: &mut String, interval: Interval) {
    let start = out.len();
    push_unit(out, start, (interval.months / 12).into(), "year");
    push_unit(out, start, (interval.months % 12).into(), "month");
    push_unit(out, start, interval.days.into(), "day");
    let micros = interval.nanoseconds / NANOS_PER_MICRO;
    if micros != 0 || out.len() == start {
        out.push_str(if out.len() == start { "" } else { " " });
        out.push_str(if micros < 0 { "-" } else { "" });
        push_clock(out, micros.unsigned_abs());
    }
}

fn push_unit(out: &mut String, start: usize, count: i64, unit: &str) {
    if count == 0 {
        return;
    }
    out.push_str(if out.len() == start { "" } else { " " });
    push_i64(out, count);
    out.push(' ');
    out.push_str(unit);
    out.push_str(if count.abs() == 1 { "" } else { "s" });
}

/// Reads `1 year 2 months`, `-3 days 04:05:06.5`, `1.5 hours`, `3 days ago`. A time of day comes
/// last, and a number alone counts seconds.
/// `None` also when a part leaves its range.
pub fn parse_interval(text: &str) -> Option<Interval> {
    let text = text.trim_ascii();
    let mut rest = text.strip_prefix('@').unwrap_or(text).trim_ascii_start();
    let mut sum = Parts::default();
    if rest.is_empty() {
        return None;
    }
    let all = rest;
    while !rest.is_empty() {
        if rest.eq_ignore_ascii_case("ago") && sum != Parts::default() {
            sum = sum.negated()?;
            break;
        }
        let part = rest;
        let unit;
        (unit, rest) = sum.read(rest)?;
        rest = rest.trim_ascii_start();
        let is_misplaced = match unit {
            Written::Name => false,
            Written::Clock => !rest.is_empty() && !rest.eq_ignore_ascii_case("ago"),
            Written::Nothing => part.len() < all.len() || !rest.is_empty(),
        };
        if is_misplaced {
            return None;
        }
    }
    sum.finish()
}

/// What was read so far.
#[derive(Clone, Copy, Default, PartialEq)]
struct Parts {
    months: i64,
    days: i64,
    micros: i64,
}

/// The name of a unit after a number.
enum Written {
    Name,
    /// Colons.
    Clock,
    Nothing,
}

/// What a unit counts, and how many of it.
#[derive(Clone, Copy)]
enum Unit {
    Months(i64),
    Days(i64),
    Micros(i64),
}

impl Parts {
    /// Reads one number with its unit, or a time of day; returns which, and what follows.
    fn read<'a>(&mut self, text: &'a str) -> Option<(Written, &'a str)> {
        let (sign, unsigned) = match text.strip_prefix('-') {
            Some(unsigned) => (-1, unsigned),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, mut rest) = read_digits(unsigned);
        if rest.starts_with(':') && !whole.is_empty() {
            let rest = self.read_clock(whole.parse().ok()?, sign, rest)?;
            return Some((Written::Clock, rest));
        }
        let mut fraction = "";
        if let Some(behind) = rest.strip_prefix('.') {
            (fraction, rest) = read_digits(behind);
        }
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let count = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let rest = rest.trim_ascii_start();
        let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (name, rest) = rest.split_at(letters);
        let (written, unit) = match name.is_empty() {
            true => (Written::Nothing, Unit::Micros(MICROS_PER_SECOND)),
            false => (Written::Name, unit_of(name)?),
        };
        self.add(unit, count, scaled(fraction, FRACTION_DIGITS), sign)?;
        Some((written, rest))
    }

    /// Reads `:mm[:ss[.ffffff]]`.
    fn read_clock<'a>(&mut self, hours: i64, sign: i64, text: &'a str) -> Option<&'a str> {
        let (minutes, mut rest) = read_digits(&text[1..]);
        let mut seconds = "0";
        let mut fraction = "";
        if let Some(behind) = rest.strip_prefix(':') {
            (seconds, rest) = read_digits(behind);
        }
        if let Some(behind) = rest.strip_prefix('.') {
            (fraction, rest) = read_digits(behind);
        }
        let minutes: i64 = minutes.parse().ok().filter(|it| *it < 60)?;
        let seconds: i64 = seconds.parse().ok().filter(|it| *it < 60)?;
        let micros = hours
            .checked_mul(MICROS_PER_HOUR)?
            .checked_add(minutes * MICROS_PER_MINUTE + seconds * MICROS_PER_SECOND)?
            .checked_add(i64::try_from(scaled(fraction, CLOCK_DIGITS)).ok()?)?;
        self.micros = self.micros.checked_add(sign * micros)?;
        Some(rest)
    }

    /// Adds `count` of a unit and `fraction` of its [`WHOLE`] parts. Fractions flow into the next
    /// smaller part; those of microseconds are rounded, halves away from zero.
    fn add(&mut self, unit: Unit, count: i64, fraction: i128, sign: i64) -> Option<()> {
        let whole = |part: i128| i64::try_from(part / WHOLE).ok();
        match unit {
            Unit::Months(each) => {
                let part = i128::from(each) * fraction;
                let months = count.checked_mul(each)?.checked_add(whole(part)?)?;
                self.months = self.months.checked_add(sign * months)?;
                self.add(Unit::Days(DAYS_PER_MONTH), 0, part % WHOLE, sign)
            }
            Unit::Days(each) => {
                let part = i128::from(each) * fraction;
                let days = count.checked_mul(each)?.checked_add(whole(part)?)?;
                self.days = self.days.checked_add(sign * days)?;
                self.add(Unit::Micros(MICROS_PER_DAY), 0, part % WHOLE, sign)
            }
            Unit::Micros(each) => {
                let part = (i128::from(each) * fraction + WHOLE / 2) / WHOLE;
                let micros = count.checked_mul(each)?.checked_add(i64::try_from(part).ok()?)?;
                self.micros = self.micros.checked_add(sign * micros)?;
                Some(())
            }
        }
    }

    fn negated(self) -> Option<Parts> {
        Some(Parts {
            months: self.months.checked_neg()?,
            days: self.days.checked_neg()?,
            micros: self.micros.checked_neg()?,
        })
    }

    fn finish(self) -> Option<Interval> {
        Some(Interval {
            months: self.months.try_into().ok()?,
            days: self.days.try_into().ok()?,
            nanoseconds: self.micros.checked_mul(NANOS_PER_MICRO)?,
        })
    }
}

fn read_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// The first `digits` digits of a fraction, as an integer.
fn scaled(fraction: &str, digits: usize) -> i128 {
    let digits = fraction.bytes().chain(std::iter::repeat(b'0')).take(digits);
    digits.fold(0, |value, digit| value * 10 + i128::from(digit - b'0'))
}

/// The units, each with its names, the plain one first.
const UNITS: [(&[&str], Unit); 13] = [
    (&["millennium", "millennia", "millenniums", "millenium", "mil", "mils"], Unit::Months(12_000)),
    (&["century", "centuries", "cent", "c"], Unit::Months(1_200)),
    (&["decade", "decades", "dec", "decs"], Unit::Months(120)),
    (&["year", "years", "yr", "yrs", "y"], Unit::Months(12)),
    (&["quarter", "quarters"], Unit::Months(3)),
    (&["month", "months", "mon", "mons"], Unit::Months(1)),
    (&["week", "weeks", "w"], Unit::Days(7)),
    (&["day", "days", "dayofmonth", "d"], Unit::Days(1)),
    (&["hour", "hours", "hr", "hrs", "h"], Unit::Micros(MICROS_PER_HOUR)),
    (&["minute", "minutes", "min", "mins", "m"], Unit::Micros(MICROS_PER_MINUTE)),
    (&["second", "seconds", "sec", "secs", "s"], Unit::Micros(MICROS_PER_SECOND)),
    (&["millisecond", "milliseconds", "ms", "msec", "msecs"], Unit::Micros(1_000)),
    (&["microsecond", "microseconds", "us", "usec", "usecs"], Unit::Micros(1)),
];

/// The plain name of the unit that `name` means in an interval, in any case.
pub fn interval_unit(name: &str) -> Option<&'static str> {
    named_unit(name)?.0.first().copied()
}

fn unit_of(name: &str) -> Option<Unit> {
    named_unit(name).map(|it| it.1)
}

fn named_unit(name: &str) -> Option<&'static (&'static [&'static str], Unit)> {
    UNITS.iter().find(|(names, _)| names.iter().any(|it| it.eq_ignore_ascii_case(name)))
}
