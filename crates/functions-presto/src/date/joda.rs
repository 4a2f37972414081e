//! `format_datetime` and `parse_datetime`, with Joda's patterns.

use super::{
    doc,
    layout::{Number, Part, ZoneForm},
    layout_parse,
    mysql::{misfit, push_literal, register_formats},
    point::{Zones, exact},
    unix::packed,
};
use crate::constant_cache::ConstantCache;
use volley_error::{Error, Result};
use volley_function::{
    Registry, ScalarTraits,
    simple::{Physical, Varchar, map2, vectorized},
};
use volley_types::{Type, custom::ZonedTimestamp};

/// The maximum number of digits of a year.
const YEAR_DIGITS_MAX: usize = 9;

/// The most letters of one kind in a row.
const LETTERS_MAX: usize = 32;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let described = doc(
        "format_datetime(timestamp, pattern) -> varchar",
        "The timestamp as a pattern of Joda says: y year, M month, d day, H hour, m minute, s second, \
         S fraction, E day of the week, a AM or PM, h hour of the half day, D day of the year, x \
         and w year and number of the week, Z offset of the time zone, ZZZ its name; text in \
         quotes stands for itself.",
        &[(
            "format_datetime(timestamp '2020-02-29 13:04:05', 'EEEE, d MMMM yyyy ''at'' HH:mm')",
            "Saturday, 29 February 2020 at 13:04",
        )],
    );
    register_formats(registry, "presto.format_datetime", described, parse);
    let described = doc(
        "parse_datetime(varchar, pattern) -> timestamp with time zone",
        "The timestamp that a text in a pattern of format_datetime means, with the time zone that is \
         written, or else in the session's.",
        &[(
            "to_iso8601(parse_datetime('2020-02-29 13:04 +05:30', 'yyyy-MM-dd HH:mm Z'))",
            "2020-02-29T13:04:00.000+05:30",
        )],
    );
    let function = vectorized(|rows, args, to, ctx| {
        let (zones, patterns) = (Zones::new(ctx), ConstantCache::default());
        let read = |text: &str, pattern: &str| -> Result<i64> {
            let parts = patterns.get(pattern, parse)?;
            let read = layout_parse::read(&parts, text);
            let (local, zone) = read.ok_or_else(|| misfit(text, pattern))?;
            let zone = zone.unwrap_or(zones.session);
            packed(zones.instant_of(local, zone), zone)
        };
        map2::<Varchar, Varchar, Physical<i64>, _>(rows, args, to, ctx, read)
    });
    let types = vec![Type::Varchar, Type::Varchar];
    let bind = exact(types, ZonedTimestamp::data_type(), ScalarTraits::DEFAULT, function);
    registry.add_scalar("presto.parse_datetime", described, bind);
}

fn parse(pattern: &str) -> Result<Vec<Part>> {
    if pattern.is_empty() {
        return Err(Error::invalid_value("pattern is empty"));
    }
    let mut parts = Vec::new();
    let mut rest = pattern;
    while let Some(letter) = rest.chars().next() {
        if letter == '\'' {
            rest = quoted(&rest[1..], &mut parts).ok_or_else(|| {
                Error::invalid_value(format!("pattern with an open quote: '{pattern}'"))
            })?;
            continue;
        }
        let count = rest.chars().take_while(|it| *it == letter).count();
        rest = &rest[count * letter.len_utf8()..];
        if letter.is_ascii_alphabetic() {
            if count > LETTERS_MAX {
                let message = format!("more than {LETTERS_MAX} letters in a row: '{pattern}'");
                return Err(Error::invalid_value(message));
            }
            // A number that ends where another one begins has as many digits as letters.
            let is_bounded = rest.chars().next().is_some_and(|it| "yYxCDFwdhHkKmsSeM".contains(it));
            parts.push(part(letter, count, is_bounded)?);
        } else {
            (0..count).for_each(|_| push_literal(&mut parts, letter));
        }
    }
    Ok(parts)
}

/// Reads up to the closing quote; two quotes are one.
fn quoted<'a>(text: &'a str, parts: &mut Vec<Part>) -> Option<&'a str> {
    if let Some(rest) = text.strip_prefix('\'') {
        push_literal(parts, '\'');
        return Some(rest);
    }
    let mut rest = text;
    loop {
        let (inner, behind) = rest.split_once('\'')?;
        inner.chars().for_each(|it| push_literal(parts, it));
        match behind.strip_prefix('\'') {
            Some(behind) => {
                push_literal(parts, '\'');
                rest = behind;
            }
            None => return Some(behind),
        }
    }
}

fn part(letter: char, count: usize, is_bounded: bool) -> Result<Part> {
    let number = |number, most| Part::Number { number, least: count, most };
    let year = |it| match count {
        2 => Part::TwoDigits(it),
        _ if is_bounded => number(it, count),
        _ => number(it, YEAR_DIGITS_MAX.max(count)),
    };
    let two = |it| number(it, 2.max(if is_bounded { 0 } else { count }));
    Ok(match letter {
        'G' => Part::Era,
        'C' => number(Number::Century, count.max(2)),
        'y' => year(Number::Year),
        'Y' => year(Number::YearOfEra),
        'x' => year(Number::WeekYear),
        'M' if count > 3 => Part::Month { is_short: false },
        'M' if count == 3 => Part::Month { is_short: true },
        'M' => two(Number::Month),
        'd' => two(Number::Day),
        'D' => number(Number::DayOfYear, count.max(3)),
        'w' => two(Number::Week),
        'e' => number(Number::DayOfWeek, count.max(1)),
        'E' => Part::DayOfWeek { is_short: count < 4 },
        'a' => Part::HalfOfDay,
        'H' => two(Number::Hour),
        'k' => two(Number::ClockHour),
        'K' => two(Number::HourOfHalf),
        'h' => two(Number::ClockHourOfHalf),
        'm' => two(Number::Minute),
        's' => two(Number::Second),
        'S' => Part::Fraction { least: count, most: count },
        'Z' => Part::Zone(match count {
            1 => ZoneForm::Offset,
            2 => ZoneForm::OffsetWithColon,
            _ => ZoneForm::Id,
        }),
        'z' if count < 4 => Part::Zone(ZoneForm::Abbreviation),
        'z' => {
            let error = Error::invalid_value("whole names of time zones are not supported: zzzz");
            return Err(error.hint("ZZZ is a zone's name as the database has it"));
        }
        other => {
            let message = format!("no such letter of patterns: {other}");
            return Err(Error::invalid_value(message));
        }
    })
}
