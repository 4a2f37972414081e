//! `parse_duration`, `to_milliseconds` and `human_readable_seconds`.

use super::{doc, field::millis_of};
use volley_error::{Error, Result};
use volley_function::{
    Registry,
    simple::{BigInt, Double, Interval, StringWriter, Varchar, text_unary, unary},
};
use volley_types::Interval as IntervalValue;

/// Nanoseconds of the units of durations.
const UNITS: [(&str, f64); 7] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3_600e9),
    ("d", 86_400e9),
];

const NANOS_PER_MILLI: f64 = 1e6;
const MILLIS_PER_DAY: i64 = 86_400_000;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let parse = doc(
        "parse_duration(varchar) -> interval",
        "The interval that a number and a unit are: ns, us, ms, s, m, h or d; to the millisecond.",
        &[("parse_duration('3.81 d')", "3 days 19:26:24"), ("parse_duration('5m')", "00:05:00")],
    );
    registry.add_scalar("presto.parse_duration", parse, unary::<Varchar, Interval, _>(duration));
    let millis = doc(
        "to_milliseconds(interval) -> bigint",
        "The milliseconds of an interval of days and times.",
        &[("to_milliseconds(interval '1' day)", "86400000")],
    );
    registry.add_scalar("presto.to_milliseconds", millis, unary::<Interval, BigInt, _>(millis_of));
    let readable = doc(
        "human_readable_seconds(double) -> varchar",
        "Seconds, rounded, as weeks, days, hours, minutes and seconds; without the sign.",
        &[
            ("human_readable_seconds(96)", "1 minute, 36 seconds"),
            ("human_readable_seconds(56363463)", "93 weeks, 1 day, 8 hours, 31 minutes, 3 seconds"),
        ],
    );
    let name = "presto.human_readable_seconds";
    registry.add_scalar(name, readable, text_unary::<Double, Varchar, _>(readable_seconds));
}

/// Units of `human_readable_seconds`, and their seconds.
const READABLE_UNITS: [(&str, u64); 5] =
    [("week", 604_800), ("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)];

fn readable_seconds(seconds: f64, out: &mut StringWriter) -> Result<()> {
    let mut rest = seconds.round().abs();
    if !rest.is_finite() {
        let message = format!("human_readable_seconds takes a finite number: {seconds}");
        return Err(Error::invalid_value(message));
    }
    let mut text = String::new();
    for (name, unit) in READABLE_UNITS {
        let count = (rest / unit as f64).floor();
        rest -= count * unit as f64;
        if count > 0.0 {
            let (before, plural) =
                (if text.is_empty() { "" } else { ", " }, if count == 1.0 { "" } else { "s" });
            text.push_str(&format!("{before}{count} {name}{plural}"));
        }
    }
    out.push_str(if text.is_empty() { "0 seconds" } else { &text });
    Ok(())
}

fn duration(text: &str) -> Result<IntervalValue, Error> {
    let invalid = || {
        Error::invalid_value(format!("not a duration: '{text}'"))
            .hint("durations are numbers with a unit, such as 3.5h or 10ms")
    };
    let trimmed = text.trim();
    let end = trimmed.find(|it: char| !it.is_ascii_digit() && it != '.').ok_or_else(invalid)?;
    let (number, unit) = trimmed.split_at(end);
    let number: f64 = number.parse().map_err(|_| invalid())?;
    let unit = UNITS.iter().find(|it| it.0 == unit.trim_start()).ok_or_else(invalid)?;
    let millis = (number * unit.1 / NANOS_PER_MILLI).round();
    let days = (millis / MILLIS_PER_DAY as f64).floor();
    if days > f64::from(i32::MAX) {
        return Err(Error::invalid_value(format!("duration out of range: '{text}'")));
    }
    let of_day = (millis as i64).rem_euclid(MILLIS_PER_DAY);
    Ok(IntervalValue { months: 0, days: days as i32, nanoseconds: of_day * 1_000_000 })
}
