//! `strptime`: a timestamp from text in a form given by another text.

use super::timestamp_out_of_range;
use crate::documentation::doc;
use volley_error::{Error, Result};
use volley_function::{
    Registry,
    simple::{Timestamp, Varchar, binary},
};
use volley_types::civil::{
    DAY_NAMES, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, MONTH_NAMES, checked_days,
    timestamp_of,
};

/// Registers `strptime` and `try_strptime`.
pub(super) fn register(registry: &mut Registry) {
    let parse = doc(
        "strptime(varchar, format) -> timestamp",
        "The timestamp that a text means, in the format of strftime.",
        "date",
        &[("strptime('29.02.2020', '%d.%m.%Y')", "2020-02-29 00:00:00")],
    );
    let bind = binary::<Varchar, Varchar, Timestamp, _>(|text: &str, format: &str| {
        read(text, format)?.ok_or_else(|| {
            Error::invalid_value(format!("cannot read '{text}' as '{format}'"))
                .hint("try_strptime gives NULL instead of an error")
        })
    });
    registry.add_scalar("strptime", parse, bind);
    let attempt = doc(
        "try_strptime(varchar, format) -> timestamp",
        "As strptime, but null for a text that does not fit.",
        "date",
        &[("try_strptime('x', '%Y')", "NULL")],
    );
    registry.add_scalar("try_strptime", attempt, binary::<Varchar, Varchar, Timestamp, _>(read));
}

/// The timestamp that a text means in a format of `strptime`; `None` when it does not fit.
pub fn read_timestamp(text: &str, format: &str) -> Option<i64> {
    read(text, format).ok().flatten()
}

/// Refuses what is no format of `strptime`.
///
/// # Errors
///
/// Invalid value.
pub fn check_time_format(format: &str) -> Result<(), Error> {
    let mut rest = format;
    while let Some((_, behind)) = rest.split_once('%') {
        let specifier = behind.chars().find(|it| *it != '-').map_or(0, char::len_utf8);
        let end = behind.len() - behind.trim_start_matches('-').len() + specifier;
        // A field alone is read first, whatever the text is.
        let unknown = read("", &format!("%{}", behind.get(..end).unwrap_or_default()));
        unknown.map_err(|_| Error::invalid_value(format!("unknown date format: '{format}'")))?;
        rest = behind.get(end..).unwrap_or_default();
    }
    Ok(())
}

/// What was read so far.
struct Parts {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    afternoon: Option<bool>,
    minute: i64,
    second: i64,
    micros: i64,
}

/// `None` when the text does not fit; an error when the format is none.
fn read(text: &str, format: &str) -> Result<Option<i64>, Error> {
    let mut parts = Parts {
        year: 1900,
        month: 1,
        day: 1,
        hour: 0,
        afternoon: None,
        minute: 0,
        second: 0,
        micros: 0,
    };
    let mut rest = text.trim_ascii();
    let mut characters = format.trim_ascii().chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            match rest.strip_prefix(character) {
                Some(behind) => rest = behind,
                None => return Ok(None),
            }
            continue;
        }
        let mut specifier = characters.next();
        if specifier == Some('-') {
            specifier = characters.next();
        }
        let unknown = || Error::invalid_value(format!("unknown date format: '{format}'"));
        match parts.read(specifier.ok_or_else(unknown)?, rest) {
            Read::Rest(behind) => rest = behind,
            Read::Misfit => return Ok(None),
            Read::Unknown => return Err(unknown()),
        }
    }
    if !rest.is_empty() {
        return Ok(None);
    }
    parts.finish()
}

/// What came of reading one field.
enum Read<'a> {
    /// The text behind it.
    Rest(&'a str),
    Misfit,
    Unknown,
}

impl Parts {
    fn read<'a>(&mut self, specifier: char, text: &'a str) -> Read<'a> {
        let (field, digits_max, range) = match specifier {
            'Y' => (&mut self.year, 4, 0..=9999),
            'y' => (&mut self.year, 2, 0..=99),
            'm' => (&mut self.month, 2, 1..=12),
            'd' => (&mut self.day, 2, 1..=31),
            'H' => (&mut self.hour, 2, 0..=23),
            'I' => (&mut self.hour, 2, 1..=12),
            'M' => (&mut self.minute, 2, 0..=59),
            'S' => (&mut self.second, 2, 0..=59),
            _ => return self.read_text(specifier, text),
        };
        let digits = text.bytes().take(digits_max).take_while(u8::is_ascii_digit).count();
        let value = text[..digits].parse().ok().filter(|it| range.contains(it));
        let Some(value) = value else { return Read::Misfit };
        *field = match specifier {
            // As in POSIX: 69 to 99 are in the twentieth century.
            'y' if value >= 69 => 1900 + value,
            'y' => 2000 + value,
            _ => value,
        };
        Read::Rest(&text[digits..])
    }

    fn read_text<'a>(&mut self, specifier: char, text: &'a str) -> Read<'a> {
        match specifier {
            'b' | 'B' => match name_at(&MONTH_NAMES, text, specifier == 'B') {
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
            'f' => {
                let digits = text.bytes().take(9).take_while(u8::is_ascii_digit).count();
                let padded = text.bytes().take(digits).chain(std::iter::repeat(b'0')).take(6);
                self.micros = padded.fold(0, |value, it| value * 10 + i64::from(it - b'0'));
                if digits == 0 { Read::Misfit } else { Read::Rest(&text[digits..]) }
            }
            '%' => text.strip_prefix('%').map_or(Read::Misfit, Read::Rest),
            _ => Read::Unknown,
        }
    }

    fn read_half<'a>(&mut self, afternoon: bool, text: &'a str) -> Read<'a> {
        self.afternoon = Some(afternoon);
        Read::Rest(&text[2..])
    }

    fn finish(self) -> Result<Option<i64>, Error> {
        let Some(days) = checked_days(self.year, self.month, self.day) else { return Ok(None) };
        let hour = match self.afternoon {
            Some(afternoon) => self.hour % 12 + if afternoon { 12 } else { 0 },
            None => self.hour,
        };
        let micros = hour * MICROS_PER_HOUR
            + self.minute * MICROS_PER_MINUTE
            + self.second * MICROS_PER_SECOND
            + self.micros;
        timestamp_of(days, micros).map(Some).ok_or_else(timestamp_out_of_range)
    }
}

/// Which of `names` (or of their first three letters) the text begins with, and what follows.
fn name_at<'a>(names: &[&str], text: &'a str, full: bool) -> Option<(usize, &'a str)> {
    names.iter().enumerate().find_map(|(index, name)| {
        let name = if full { name } else { &name[..3] };
        let start = text.get(..name.len())?;
        start.eq_ignore_ascii_case(name).then(|| (index, &text[name.len()..]))
    })
}
