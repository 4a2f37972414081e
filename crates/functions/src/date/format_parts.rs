//! The fields of a text in a format of `strptime`.

use super::{field::iso_year_start, timestamp_out_of_range};
use volley_error::{Error, Result};
use volley_types::{
    Zone,
    civil::{
        DAY_NAMES, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, MONTH_NAMES,
        checked_days, days_of_civil, timestamp_of,
    },
};

/// What was read so far.
pub(super) struct Parts {
    year: i64,
    month: i64,
    day: i64,
    day_of_year: Option<i64>,
    week: Option<Week>,
    /// From Monday, 0; without one, weeks are their first days.
    weekday: Option<i64>,
    hour: i64,
    afternoon: Option<bool>,
    minute: i64,
    second: i64,
    micros: i64,
    zone: Option<ReadZone>,
    calendars: Calendars,
}

/// The number of a week.
enum Week {
    /// Of ISO 8601.
    Iso(i64),
    /// The days before the first Sunday are week 0.
    FromSunday(i64),
    /// The days before the first Monday are week 0.
    FromMonday(i64),
}

/// What clocks are ahead of UTC.
enum ReadZone {
    /// A number of microseconds.
    Offset(i64),
    Named(Zone),
}

/// What came of reading one field.
enum Read<'a> {
    /// The text after it.
    Rest(&'a str),
    Misfit,
    Unknown,
}

impl Parts {
    /// What `text` says; `None` when it does not fit.
    ///
    /// # Errors
    ///
    /// The format is none.
    pub(super) fn of(text: &str, format: &str) -> Result<Option<Parts>, Error> {
        let mut parts = Parts {
            year: 1900,
            month: 1,
            day: 1,
            day_of_year: None,
            week: None,
            weekday: None,
            hour: 0,
            afternoon: None,
            minute: 0,
            second: 0,
            micros: 0,
            zone: None,
            calendars: Calendars::default(),
        };
        let unknown = || Error::invalid_value(format!("unknown date format: '{format}'"));
        match parts.read_all(text.trim_ascii(), format.trim_ascii()) {
            Read::Rest("") if parts.calendars.contradict() => {
                let message = format!("date format with contradicting weeks: '{format}'");
                Err(Error::invalid_value(message)
                    .hint("%V goes with %G; %U or %W with %Y; a day of the year with no week"))
            }
            Read::Rest("") => Ok(Some(parts)),
            Read::Rest(_) | Read::Misfit => Ok(None),
            Read::Unknown => Err(unknown()),
        }
    }

    fn read_all<'a>(&mut self, text: &'a str, format: &str) -> Read<'a> {
        let mut rest = text;
        let mut characters = format.chars();
        while let Some(character) = characters.next() {
            let read = if character == '%' {
                let mut specifier = characters.next();
                if specifier == Some('-') {
                    specifier = characters.next();
                }
                specifier.map_or(Read::Unknown, |it| self.read(it, rest))
            } else {
                rest.strip_prefix(character).map_or(Read::Misfit, Read::Rest)
            };
            match read {
                Read::Rest(behind) => rest = behind,
                other => return other,
            }
        }
        Read::Rest(rest)
    }

    fn read<'a>(&mut self, specifier: char, text: &'a str) -> Read<'a> {
        let (digits_max, range) = match specifier {
            'Y' | 'G' => (4, 0..=9999),
            'y' => (2, 0..=99),
            'm' | 'I' => (2, 1..=12),
            'd' => (2, 1..=31),
            'j' => (3, 1..=366),
            'H' => (2, 0..=23),
            'M' | 'S' => (2, 0..=59),
            'V' => (2, 1..=53),
            'U' | 'W' => (2, 0..=53),
            'u' => (1, 1..=7),
            'w' => (1, 0..=6),
            _ => return self.read_text(specifier, text),
        };
        let (digits, rest) = leading_digits(text, digits_max);
        let value: Option<i64> = digits.parse().ok().filter(|it| range.contains(it));
        let Some(value) = value else { return Read::Misfit };
        self.calendars.add(specifier);
        match specifier {
            'Y' | 'G' => self.year = value,
            // As in POSIX: 69 to 99 are in the twentieth century.
            'y' => self.year = if value >= 69 { 1900 + value } else { 2000 + value },
            'm' => self.month = value,
            'd' => self.day = value,
            'j' => self.day_of_year = Some(value),
            'H' | 'I' => self.hour = value,
            'M' => self.minute = value,
            'S' => self.second = value,
            'V' => self.week = Some(Week::Iso(value)),
            'U' => self.week = Some(Week::FromSunday(value)),
            'W' => self.week = Some(Week::FromMonday(value)),
            // Sunday is 7, or 0.
            _ => self.weekday = Some((value + 6) % 7),
        }
        Read::Rest(rest)
    }

    fn read_text<'a>(&mut self, specifier: char, text: &'a str) -> Read<'a> {
        match specifier {
            'b' | 'B' | 'h' => match name_at(&MONTH_NAMES, text, specifier == 'B') {
                Some((index, rest)) => {
                    self.month = index as i64 + 1;
                    Read::Rest(rest)
                }
                None => Read::Misfit,
            },
            'a' | 'A' => match name_at(&DAY_NAMES, text, specifier == 'A') {
                Some((_, rest)) => Read::Rest(rest),
                None => Read::Misfit,
            },
            'p' => match text.get(..2).map(str::to_ascii_uppercase).as_deref() {
                Some("AM") => self.read_half(false, text),
                Some("PM") => self.read_half(true, text),
                _ => Read::Misfit,
            },
            'f' | 'n' => self.read_fraction(text, 9),
            'g' => self.read_fraction(text, 3),
            'z' => match offset_at(text) {
                Some((micros, rest)) => {
                    self.zone = Some(ReadZone::Offset(micros));
                    Read::Rest(rest)
                }
                None => Read::Misfit,
            },
            'Z' => self.read_zone(text),
            'T' | 'X' => self.read_all(text, "%H:%M:%S"),
            'x' => self.read_all(text, "%Y-%m-%d"),
            'c' => self.read_all(text, "%Y-%m-%d %H:%M:%S"),
            '%' => text.strip_prefix('%').map_or(Read::Misfit, Read::Rest),
            _ => Read::Unknown,
        }
    }

    fn read_half<'a>(&mut self, afternoon: bool, text: &'a str) -> Read<'a> {
        self.afternoon = Some(afternoon);
        Read::Rest(&text[2..])
    }

    /// Digits of a second's fraction; those beyond microseconds are cut.
    fn read_fraction<'a>(&mut self, text: &'a str, digits_max: usize) -> Read<'a> {
        let (digits, rest) = leading_digits(text, digits_max);
        let padded = digits.bytes().chain(std::iter::repeat(b'0')).take(6);
        self.micros = padded.fold(0, |value, it| value * 10 + i64::from(it - b'0'));
        if digits.is_empty() { Read::Misfit } else { Read::Rest(rest) }
    }

    /// The name of a time zone.
    fn read_zone<'a>(&mut self, text: &'a str) -> Read<'a> {
        let is_of_name = |it: char| it.is_ascii_alphanumeric() || "/_+-".contains(it);
        let (name, rest) = text.split_at(text.find(|it| !is_of_name(it)).unwrap_or(text.len()));
        match Zone::find(name) {
            Some(zone) => {
                self.zone = Some(ReadZone::Named(zone));
                Read::Rest(rest)
            }
            None => Read::Misfit,
        }
    }

    /// The timestamp, in UTC where the text has a time zone; `None` if there is no such day.
    ///
    /// # Errors
    ///
    /// It is out of range.
    pub(super) fn finish(self) -> Result<Option<i64>, Error> {
        let Some(days) = self.days() else { return Ok(None) };
        let hour = match self.afternoon {
            Some(afternoon) => self.hour % 12 + if afternoon { 12 } else { 0 },
            None => self.hour,
        };
        let micros = hour * MICROS_PER_HOUR
            + self.minute * MICROS_PER_MINUTE
            + self.second * MICROS_PER_SECOND
            + self.micros;
        let local = timestamp_of(days, micros).ok_or_else(timestamp_out_of_range)?;
        Ok(Some(match self.zone {
            Some(ReadZone::Offset(offset)) => local - offset,
            Some(ReadZone::Named(zone)) => zone.clock().instant_of(local),
            None => local,
        }))
    }

    fn days(&self) -> Option<i32> {
        let new_year = days_of_civil(self.year, 1, 1);
        // Days since the Monday of, or before, New Year; 1970-01-01 was a Thursday.
        let from_monday = (new_year + 3).rem_euclid(7);
        let days = match (&self.week, self.day_of_year) {
            (Some(Week::Iso(week)), _) => {
                iso_year_start(self.year) + (week - 1) * 7 + self.weekday.unwrap_or(0)
            }
            (Some(Week::FromMonday(week)), _) => {
                let first = new_year + (7 - from_monday) % 7;
                first + (week - 1) * 7 + self.weekday.unwrap_or(0)
            }
            (Some(Week::FromSunday(week)), _) => {
                let first = new_year + 6 - from_monday;
                first + (week - 1) * 7 + self.weekday.map_or(0, |it| (it + 1) % 7)
            }
            (None, Some(day)) => {
                let days = new_year + day - 1;
                if days >= days_of_civil(self.year + 1, 1, 1) {
                    return None;
                }
                days
            }
            (None, None) => return checked_days(self.year, self.month, self.day),
        };
        i32::try_from(days).ok()
    }
}

/// Which ways of counting days a format uses.
#[derive(Default)]
struct Calendars {
    has_year: bool,
    has_iso_year: bool,
    has_iso_week: bool,
    has_week_from_sunday: bool,
    has_week_from_monday: bool,
    has_day_of_year: bool,
}

impl Calendars {
    fn add(&mut self, specifier: char) {
        match specifier {
            'Y' | 'y' => self.has_year = true,
            'G' => self.has_iso_year = true,
            'V' => self.has_iso_week = true,
            'U' => self.has_week_from_sunday = true,
            'W' => self.has_week_from_monday = true,
            'j' => self.has_day_of_year = true,
            _ => {}
        }
    }

    /// Whether they give different days.
    fn contradict(&self) -> bool {
        let has_plain_week = self.has_week_from_sunday || self.has_week_from_monday;
        let is_iso = self.has_iso_week || self.has_iso_year;
        let has_week = has_plain_week || is_iso;
        (self.has_week_from_sunday && self.has_week_from_monday)
            || (has_plain_week && is_iso)
            || (self.has_iso_week && self.has_year && !self.has_iso_year)
            || (self.has_day_of_year && has_week)
    }
}

fn leading_digits(text: &str, digits_max: usize) -> (&str, &str) {
    let count = text.bytes().take(digits_max).take_while(u8::is_ascii_digit).count();
    text.split_at(count)
}

/// `+hh`, `-hhmm`, `+hh:mm`, `+hh:mm:ss` or `Z`, in microseconds, and the rest.
fn offset_at(text: &str) -> Option<(i64, &str)> {
    if let Some(rest) = text.strip_prefix(['Z', 'z']) {
        return Some((0, rest));
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, mut rest) = leading_digits(text.strip_prefix(['+', '-'])?, 2);
    let mut micros = hours.parse::<i64>().ok()? * MICROS_PER_HOUR;
    for unit in [MICROS_PER_MINUTE, MICROS_PER_SECOND] {
        let (digits, behind) = leading_digits(rest.strip_prefix(':').unwrap_or(rest), 2);
        if digits.len() < 2 {
            break;
        }
        micros += digits.parse::<i64>().ok().filter(|it| *it < 60)? * unit;
        rest = behind;
    }
    Some((sign * micros, rest))
}

/// Which of `names` (or of their first three letters) the text begins with, and what follows.
fn name_at<'a>(names: &[&str], text: &'a str, full: bool) -> Option<(usize, &'a str)> {
    names.iter().enumerate().find_map(|(index, name)| {
        let name = if full { name } else { &name[..3] };
        let start = text.get(..name.len())?;
        start.eq_ignore_ascii_case(name).then(|| (index, &text[name.len()..]))
    })
}
