//! `strftime`: a point in time in a form given by a text; and the names of days and months.

use super::field::{iso_day_of_week, iso_week, split};
use crate::documentation::doc;
use std::fmt::Write;
use volley_error::{Error, Result};
use volley_function::{
    Registry,
    simple::{Date, StringWriter, Timestamp, Varchar, text_binary, text_unary},
};
use volley_types::{
    civil::{
        DAY_NAMES, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, MONTH_NAMES,
        civil_of_days, days_of_civil, timestamp_of,
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
    let date_first = text_binary::<Date, Varchar, Varchar, _>(of_date);
    let format_first = text_binary::<Varchar, Timestamp, Varchar, _>(move |format, it, out| {
        of_timestamp(it, format, out)
    });
    let format_date =
        text_binary::<Varchar, Date, Varchar, _>(move |format, it, out| of_date(it, format, out));
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
    registry.add_scalar("dayname", day.clone(), of_date);
    registry.add_scalar("dayname", day, of_timestamp);
    let of_date = text_unary::<Date, Varchar, _>(|it, out| out.push_str(month_name(it)));
    let of_timestamp =
        text_unary::<Timestamp, Varchar, _>(|it, out| out.push_str(month_name(split(it).0)));
    registry.add_scalar("monthname", month.clone(), of_date);
    registry.add_scalar("monthname", month, of_timestamp);
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

pub(super) fn write(shown: Shown<'_>, format: &str, out: &mut StringWriter) -> Result<(), Error> {
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            out.push(character);
            continue;
        }
        let mut specifier = characters.next();
        let padded = specifier != Some('-');
        if !padded {
            specifier = characters.next();
        }
        let unknown = || Error::invalid_value(format!("unknown date format: '{format}'"));
        let written = write_field(shown, specifier.ok_or_else(unknown)?, padded, out);
        written.ok_or_else(unknown)?;
    }
    Ok(())
}

/// `None` for an unknown specifier.
fn write_field(
    shown: Shown<'_>,
    specifier: char,
    padded: bool,
    out: &mut StringWriter,
) -> Option<()> {
    let (days, of_day) = split(shown.micros);
    let date = civil_of_days(days);
    let hour = of_day / MICROS_PER_HOUR;
    let day_of_year = i64::from(days) - days_of_civil(date.year.into(), 1, 1) + 1;
    let number = match specifier {
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
        'j' => (day_of_year, 3),
        'w' => (iso_day_of_week(days) % 7, 1),
        'u' => (iso_day_of_week(days), 1),
        // Weeks that begin on Sunday or Monday; the days before the first one are week 0.
        'U' => ((day_of_year + 6 - iso_day_of_week(days) % 7) / 7, 2),
        'W' => ((day_of_year + 7 - iso_day_of_week(days)) / 7, 2),
        'V' => (iso_week(days).1, 2),
        'G' => (iso_week(days).0, 4),
        _ => return write_text(shown, specifier, out),
    };
    let width = if padded { number.1 } else { 1 };
    // Writing to memory does not fail.
    let _ = write!(out, "{:0width$}", number.0);
    Some(())
}

fn write_text(shown: Shown<'_>, specifier: char, out: &mut StringWriter) -> Option<()> {
    let micros = shown.micros;
    let (days, of_day) = split(micros);
    let mut text = String::new();
    match specifier {
        'b' | 'h' => text.push_str(&month_name(days)[..3]),
        'B' => text.push_str(month_name(days)),
        'a' => text.push_str(&day_name(days)[..3]),
        'A' => text.push_str(day_name(days)),
        'p' => text.push_str(if of_day < 12 * MICROS_PER_HOUR { "AM" } else { "PM" }),
        'c' => {
            let of_second = micros.rem_euclid(MICROS_PER_SECOND);
            text::push_timestamp(&mut text, micros.saturating_sub(of_second));
        }
        'x' => text::push_date(&mut text, days),
        'X' | 'T' => text::push_time(&mut text, of_day - of_day % MICROS_PER_SECOND),
        'Z' => text.push_str(shown.zone),
        'z' => text::push_offset(&mut text, shown.offset),
        '%' => text.push('%'),
        _ => return None,
    }
    out.push_str(&text);
    Some(())
}
