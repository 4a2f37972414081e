//! `strftime`: a point in time in a form given by a text; and the names of days and months.

use super::{
    field::{iso_day_of_week, iso_week, split},
    infinite::null_of_infinite,
};
use crate::{constant_argument::for_constant_text, documentation::doc};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    Registry, ScalarFunction,
    simple::{self, Date, StringWriter, Timestamp, Varchar, map_text, text_binary, text_unary},
};
use volley_types::{
    civil::{
        Civil, DAY_NAMES, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, MONTH_NAMES,
        civil_of_days, days_of_civil, is_infinite_timestamp, timestamp_of,
    },
    text,
};

/// Registers `strftime`, `dayname` and `monthname`.
pub(super) fn register(registry: &mut Registry) {
    let format = doc(
        "strftime(date or timestamp, format) -> varchar",
        "The point in time as the format says: %Y year, %m month, %d day, %H hour, %M minute, %S \
         second, %f microsecond, %b and %B month's name, %a and %A day's name, %j day of the year, \
         %z and %Z the time zone's offset and name, ...",
        "date",
        &[("strftime(date '2020-02-29', '%d.%m.%Y')", "29.02.2020")],
    );
    let of_timestamp =
        |micros: i64, format: &str, out: &mut StringWriter| write(Shown::utc(micros), format, out);
    let of_date = |days: i32, format: &str, out: &mut StringWriter| {
        let micros = timestamp_of(days, 0).ok_or_else(super::timestamp_out_of_range)?;
        write(Shown::utc(micros), format, out)
    };
    let timestamp_first = text_binary::<Timestamp, Varchar, Varchar, _>(of_timestamp);
    let timestamp_first = for_constant_text(timestamp_first, 1, timestamps_as);
    let date_first = text_binary::<Date, Varchar, Varchar, _>(of_date);
    let date_first = for_constant_text(date_first, 1, dates_as);
    let format_first = text_binary::<Varchar, Timestamp, Varchar, _>(move |format, it, out| {
        of_timestamp(it, format, out)
    });
    let format_first = for_constant_text(format_first, 0, timestamps_as);
    let format_date =
        text_binary::<Varchar, Date, Varchar, _>(move |format, it, out| of_date(it, format, out));
    let format_date = for_constant_text(format_date, 0, dates_as);
    for bind in [timestamp_first, date_first, format_first, format_date] {
        registry.add_scalar("strftime", format.clone(), bind);
    }
    let day = doc(
        "dayname(date or timestamp) -> varchar",
        "The English name of the day of the week.",
        "date",
        &[("dayname(date '2020-01-01')", "Wednesday")],
    );
    let month = doc(
        "monthname(date or timestamp) -> varchar",
        "The English name of the month.",
        "date",
        &[("monthname(date '2020-01-01')", "January")],
    );
    let of_date = text_unary::<Date, Varchar, _>(|it, out| out.push_str(day_name(it)));
    let of_timestamp =
        text_unary::<Timestamp, Varchar, _>(|it, out| out.push_str(day_name(split(it).0)));
    registry.add_scalar("dayname", day.clone(), null_of_infinite(of_date));
    registry.add_scalar("dayname", day, null_of_infinite(of_timestamp));
    let of_date = text_unary::<Date, Varchar, _>(|it, out| out.push_str(month_name(it)));
    let of_timestamp =
        text_unary::<Timestamp, Varchar, _>(|it, out| out.push_str(month_name(split(it).0)));
    registry.add_scalar("monthname", month.clone(), null_of_infinite(of_date));
    registry.add_scalar("monthname", month, null_of_infinite(of_timestamp));
}

/// The function of timestamps that writes one format.
fn timestamps_as(format: &str) -> Result<Arc<dyn ScalarFunction>, Error> {
    let format = Format::parse(format)?;
    Ok(simple::vectorized(move |rows, args, to, ctx| {
        map_text::<(Timestamp,), _>(rows, args, to, ctx, |(micros,), out| {
            format.write(Shown::utc(micros), out);
        })
    }))
}

/// The function of dates that writes one format.
fn dates_as(format: &str) -> Result<Arc<dyn ScalarFunction>, Error> {
    let format = Format::parse(format)?;
    Ok(simple::vectorized(move |rows, args, to, ctx| {
        map_text::<(Date,), Result<(), Error>>(rows, args, to, ctx, |(days,), out| {
            let micros = timestamp_of(days, 0).ok_or_else(super::timestamp_out_of_range)?;
            format.write(Shown::utc(micros), out);
            Ok(())
        })
    }))
}

fn day_name(days: i32) -> &'static str {
    DAY_NAMES[iso_day_of_week(days) as usize - 1]
}

fn month_name(days: i32) -> &'static str {
    MONTH_NAMES[civil_of_days(days).month as usize - 1]
}

/// What clocks show.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    /// The local time, in microseconds since 1970-01-01.
    pub(super) micros: i64,
    /// Of the time zone to UTC, in seconds.
    pub(super) offset: i64,
    /// The time zone's name.
    pub(super) zone: &'a str,
}

impl Shown<'_> {
    /// A time without a time zone.
    fn utc(micros: i64) -> Shown<'static> {
        Shown { micros, offset: 0, zone: "" }
    }
}

/// Writes a point in time in a format that is read anew.
///
/// # Errors
///
/// Invalid value: a specifier that does not exist.
pub(super) fn write(shown: Shown<'_>, format: &str, out: &mut StringWriter) -> Result<(), Error> {
    Format::parse(format)?.write(shown, out);
    Ok(())
}

/// A format, read once.
pub(super) struct Format {
    steps: Vec<Step>,
}

enum Step {
    Literal(String),
    Number { specifier: char, is_padded: bool },
    Text(char),
}

impl Format {
    /// Reads a format.
    ///
    /// # Errors
    ///
    /// Invalid value: a specifier that does not exist.
    pub(super) fn parse(format: &str) -> Result<Format, Error> {
        let unknown = || Error::invalid_value(format!("unknown date format: '{format}'"));
        let (mut steps, mut literal) = (Vec::new(), String::new());
        let mut characters = format.chars();
        while let Some(character) = characters.next() {
            if character != '%' {
                literal.push(character);
                continue;
            }
            let mut specifier = characters.next();
            let is_padded = specifier != Some('-');
            if !is_padded {
                specifier = characters.next();
            }
            if specifier == Some('%') {
                literal.push('%');
                continue;
            }
            if !literal.is_empty() {
                steps.push(Step::Literal(std::mem::take(&mut literal)));
            }
            let specifier = specifier.ok_or_else(unknown)?;
            steps.push(if Moment::of(0).number(specifier).is_some() {
                Step::Number { specifier, is_padded }
            } else if TEXTS.contains(&specifier) {
                Step::Text(specifier)
            } else {
                return Err(unknown());
            });
        }
        if !literal.is_empty() {
            steps.push(Step::Literal(literal));
        }
        Ok(Format { steps })
    }

    /// Writes a point in time.
    pub(super) fn write(&self, shown: Shown<'_>, out: &mut StringWriter) {
        if is_infinite_timestamp(shown.micros) {
            return out.push_str(if shown.micros < 0 { "-infinity" } else { "infinity" });
        }
        let moment = Moment::of(shown.micros);
        for step in &self.steps {
            match step {
                Step::Literal(text) => out.push_str(text),
                Step::Number { specifier, is_padded } => {
                    let Some((number, width)) = moment.number(*specifier) else { continue };
                    let width = if *is_padded { width } else { 1 };
                    push_number(number, width, &mut |it| out.push_bytes(it));
                }
                Step::Text(specifier) => write_text(shown, &moment, *specifier, out),
            }
        }
    }
}

/// Writes a number with at least `width` digits, zeros in front; the sign of a negative one counts
/// as a digit. `push` gets ASCII bytes.
fn push_number(number: i64, width: usize, push: &mut impl FnMut(&[u8])) {
    const DIGITS_MAX: usize = 20;
    let Ok(mut left) = u64::try_from(number) else {
        push(format!("{number:0width$}").as_bytes());
        return;
    };
    let mut digits = [b'0'; DIGITS_MAX];
    let mut start = DIGITS_MAX;
    while left != 0 || DIGITS_MAX - start < width {
        start -= 1;
        digits[start] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    push(&digits[start..]);
}

/// A point in time, taken apart.
struct Moment {
    days: i32,
    /// Microseconds since midnight.
    of_day: i64,
    date: Civil,
}

impl Moment {
    fn of(micros: i64) -> Moment {
        let (days, of_day) = split(micros);
        Moment { days, of_day, date: civil_of_days(days) }
    }

    /// The number that a specifier stands for, and its digits; `None` if it stands for none.
    fn number(&self, specifier: char) -> Option<(i64, usize)> {
        let Moment { days, of_day, ref date } = *self;
        let hour = of_day / MICROS_PER_HOUR;
        let day_of_year = || i64::from(days) - days_of_civil(date.year.into(), 1, 1) + 1;
        Some(match specifier {
            'Y' => (date.year.into(), 4),
            'y' => (i64::from(date.year).rem_euclid(100), 2),
            'm' => (date.month.into(), 2),
            'd' => (date.day.into(), 2),
            'H' => (hour, 2),
            'I' => ((hour + 11) % 12 + 1, 2),
            'M' => (of_day / MICROS_PER_MINUTE % 60, 2),
            'S' => (of_day / MICROS_PER_SECOND % 60, 2),
            'f' => (of_day % MICROS_PER_SECOND, 6),
            'g' => (of_day % MICROS_PER_SECOND / 1_000, 3),
            'n' => (of_day % MICROS_PER_SECOND * 1_000, 9),
            'j' => (day_of_year(), 3),
            'w' => (iso_day_of_week(days) % 7, 1),
            'u' => (iso_day_of_week(days), 1),
            // Weeks that begin on Sunday or Monday; the days before the first one are week 0.
            'U' => ((day_of_year() + 6 - iso_day_of_week(days) % 7) / 7, 2),
            'W' => ((day_of_year() + 7 - iso_day_of_week(days)) / 7, 2),
            'V' => (iso_week(days).1, 2),
            'G' => (iso_week(days).0, 4),
            _ => return None,
        })
    }
}

/// The specifiers that stand for texts.
const TEXTS: [char; 12] = ['b', 'h', 'B', 'a', 'A', 'p', 'c', 'x', 'X', 'T', 'Z', 'z'];

fn write_text(shown: Shown<'_>, moment: &Moment, specifier: char, out: &mut StringWriter) {
    let Moment { days, of_day, .. } = *moment;
    match specifier {
        'b' | 'h' => return out.push_str(&month_name(days)[..3]),
        'B' => return out.push_str(month_name(days)),
        'a' => return out.push_str(&day_name(days)[..3]),
        'A' => return out.push_str(day_name(days)),
        'p' => return out.push_str(if of_day < 12 * MICROS_PER_HOUR { "AM" } else { "PM" }),
        'Z' => return out.push_str(shown.zone),
        _ => {}
    }
    let mut text = String::new();
    match specifier {
        'c' => {
            let of_second = shown.micros.rem_euclid(MICROS_PER_SECOND);
            text::push_timestamp(&mut text, shown.micros.saturating_sub(of_second));
        }
        'x' => text::push_date(&mut text, days),
        'z' => text::push_offset(&mut text, shown.offset),
        _ => text::push_time(&mut text, of_day - of_day % MICROS_PER_SECOND),
    }
    out.push_str(&text);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of a specifier as [`write!`] writes it.
    fn plain(number: i64, width: usize) -> String {
        format!("{number:0width$}")
    }

    #[test]
    fn numbers_are_written_as_the_standard_library_does() {
        let numbers = [0, 1, 9, 10, 99, 100, 2024, 9_999, 123_456, i64::MAX, -1, -44, i64::MIN];
        for number in numbers {
            for width in [1, 2, 3, 4, 6, 9] {
                let mut out = String::new();
                push_number(number, width, &mut |it| {
                    out.push_str(std::str::from_utf8(it).unwrap())
                });
                assert_eq!(out, plain(number, width));
            }
        }
    }

    #[test]
    fn a_format_is_read_into_steps_once() {
        let steps = |format: &str| Format::parse(format).map(|it| it.steps.len());
        assert_eq!(steps("%Y-%m-%d %H").unwrap(), 7);
        assert_eq!(steps("100%% of %B").unwrap(), 2);
        assert_eq!(steps("").unwrap(), 0);
        for wrong in ["%", "%-", "%Q", "abc %-Q"] {
            assert!(steps(wrong).unwrap_err().message().contains("unknown date format"), "{wrong}");
        }
    }
}
