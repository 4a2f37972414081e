//! `date_format` and `date_parse`, with MySQL's patterns.

use super::{
    doc,
    layout::{self, Number, Part},
    layout_parse,
    point::{OfDate, OfTimestamp, OfZoned, Point, Zones, exact},
};
use crate::constant_cache::ConstantCache;
use volley_error::{Error, Result};
use volley_function::{
    BindScalar, FunctionDoc, Registry, ScalarTraits,
    simple::{StringWriter, Timestamp, Varchar, map_text, map2, vectorized},
};
use volley_types::Type;

/// Finds out what a pattern means.
pub(super) type ParsePattern = fn(&str) -> Result<Vec<Part>>;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let described = doc(
        "date_format(timestamp, pattern) -> varchar",
        "The timestamp as a pattern of MySQL says: %Y year, %y its last two digits, %m and %c month, \
         %M and %b its name, %d and %e day, %j day of the year, %W and %a day of the week, %x and \
         %v year and number of the week, %H and %k hour, %h, %I and %l hour of the half day, %p AM \
         or PM, %i minute, %S and %s second, %f fraction, %T time, %r time with AM or PM.",
        &[(
            "date_format(timestamp '2020-02-29 13:04:05', '%W, %d.%m.%Y %T')",
            "Saturday, 29.02.2020 13:04:05",
        )],
    );
    register_formats(registry, "presto.date_format", described, parse);
    let described = doc(
        "date_parse(varchar, pattern) -> timestamp",
        "The timestamp that a text in a pattern of date_format means.",
        &[("date_parse('29.02.2020 13:04', '%d.%m.%Y %H:%i')", "2020-02-29 13:04:00")],
    );
    let function = vectorized(|rows, args, to, ctx| {
        let patterns = ConstantCache::default();
        let read = |text: &str, pattern: &str| -> Result<i64> {
            let parts = patterns.get(pattern, parse)?;
            let read = layout_parse::read(&parts, text);
            read.map(|it| it.0).ok_or_else(|| misfit(text, pattern))
        };
        map2::<Varchar, Varchar, Timestamp, _>(rows, args, to, ctx, read)
    });
    let types = vec![Type::Varchar, Type::Varchar];
    let bind = exact(types, Type::Timestamp, ScalarTraits::DEFAULT, function);
    registry.add_scalar("presto.date_parse", described, bind);
}

/// Registers a function that writes points in time of all types by patterns.
pub(super) fn register_formats(
    registry: &mut Registry,
    name: &str,
    doc: FunctionDoc,
    parse: ParsePattern,
) {
    registry.add_scalar(name, doc, format::<OfTimestamp>(parse));
    registry.add_scalar(name, FunctionDoc::default(), format::<OfDate>(parse));
    registry.add_scalar(name, FunctionDoc::default(), format::<OfZoned>(parse));
}

fn format<P: Point>(parse: ParsePattern) -> BindScalar {
    let function = vectorized(move |rows, args, to, ctx| {
        let (zones, patterns) = (Zones::new(ctx), ConstantCache::default());
        let write = |(it, pattern): (P::Stored, &str), out: &mut StringWriter| -> Result<()> {
            let parts = patterns.get(pattern, parse)?;
            let mut text = String::new();
            layout::write(&parts, &P::moment(it, &zones), &zones, &mut text)?;
            out.push_str(&text);
            Ok(())
        };
        map_text::<(P::Marker, Varchar), _>(rows, args, to, ctx, write)
    });
    exact(vec![P::data_type(), Type::Varchar], Type::Varchar, ScalarTraits::DEFAULT, function)
}

/// The error of a text that a pattern does not fit.
pub(super) fn misfit(text: &str, pattern: &str) -> Error {
    Error::invalid_value(format!("cannot read '{text}' as '{pattern}'"))
        .hint("try(...) gives NULL instead of an error")
}

fn parse(pattern: &str) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '%' => {
                let letter = characters.next().ok_or_else(|| {
                    Error::invalid_value(format!("pattern ends with %: '{pattern}'"))
                })?;
                push_specifier(letter, &mut parts)?;
            }
            other => push_literal(&mut parts, other),
        }
    }
    Ok(parts)
}

/// Appends a character to a layout.
pub(super) fn push_literal(parts: &mut Vec<Part>, character: char) {
    match parts.last_mut() {
        Some(Part::Literal(text)) => text.push(character),
        _ => parts.push(Part::Literal(character.into())),
    }
}

fn push_specifier(letter: char, parts: &mut Vec<Part>) -> Result<()> {
    let number = |number, least, most| Part::Number { number, least, most };
    let two = |it| number(it, 2, 2);
    let part = match letter {
        'a' => Part::DayOfWeek { is_short: true },
        'b' => Part::Month { is_short: true },
        'c' => number(Number::Month, 1, 2),
        'd' => two(Number::Day),
        'e' => number(Number::Day, 1, 2),
        'f' => Part::Fraction { least: 6, most: 9 },
        'H' => two(Number::Hour),
        'h' | 'I' => two(Number::ClockHourOfHalf),
        'i' => two(Number::Minute),
        'j' => number(Number::DayOfYear, 3, 3),
        'k' => number(Number::Hour, 1, 2),
        'l' => number(Number::ClockHourOfHalf, 1, 2),
        'M' => Part::Month { is_short: false },
        'm' => two(Number::Month),
        'p' => Part::HalfOfDay,
        'S' | 's' => two(Number::Second),
        'T' => {
            push_all(&[two(Number::Hour), two(Number::Minute), two(Number::Second)], parts);
            return Ok(());
        }
        'r' => {
            let hour = two(Number::ClockHourOfHalf);
            push_all(&[hour, two(Number::Minute), two(Number::Second)], parts);
            push_literal(parts, ' ');
            Part::HalfOfDay
        }
        'v' => two(Number::Week),
        'W' => Part::DayOfWeek { is_short: false },
        'x' => number(Number::WeekYear, 4, 4),
        'Y' => number(Number::Year, 4, 4),
        'y' => Part::TwoDigits(Number::Year),
        'D' | 'U' | 'u' | 'V' | 'w' | 'X' => {
            let message = format!("%{letter} is not supported in patterns of dates");
            return Err(Error::invalid_value(message));
        }
        other => {
            push_literal(parts, other);
            return Ok(());
        }
    };
    parts.push(part);
    Ok(())
}

/// Appends parts with colons between them.
fn push_all(all: &[Part], parts: &mut Vec<Part>) {
    for (index, part) in all.iter().enumerate() {
        if index > 0 {
            push_literal(parts, ':');
        }
        parts.push(part.clone());
    }
}
