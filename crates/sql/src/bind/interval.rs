//! INTERVAL literals in all spellings.

use super::{Binder, inspect, unsupported};
use sqlparser::ast;
use volley_error::{Error, Result, Span};
use volley_logical::{Expr, ExprKind};
use volley_types::{Interval, Type, Value};

const NANOS_PER_MICRO: i128 = 1000;
const NANOS_PER_SECOND: i128 = 1_000_000_000;
const NANOS_PER_MINUTE: i128 = 60 * NANOS_PER_SECOND;
const NANOS_PER_HOUR: i128 = 60 * NANOS_PER_MINUTE;

/// One of a unit of time: months, days, nanoseconds.
type Unit = (i128, i128, i128);

impl<'a> Binder<'a> {
    /// `INTERVAL '1 day'`, `INTERVAL '1' DAY`, `INTERVAL 1 DAY`, `INTERVAL (expression) DAY`.
    pub(super) fn interval(&mut self, interval: &'a ast::Interval) -> Result<Expr> {
        if interval.last_field.is_some() {
            let value = self.expr(&interval.value)?;
            return Err(unsupported("INTERVAL ... TO", value.span));
        }
        let value = self.expr(&interval.value)?;
        let span = value.span;
        let text = inspect::string_literal(&value);
        let Some(field) = &interval.leading_field else {
            return match text {
                Some(text) => self.interval_text(text, span),
                None => Err(Error::invalid_query("INTERVAL needs a unit of time").span(span)),
            };
        };
        let unit = unit_of(&field.to_string())
            .ok_or_else(|| unsupported(format!("INTERVAL of {field}"), span))?;
        let number = match &value.kind {
            ExprKind::Constant(Value::Varchar(text)) => Some(text.to_string()),
            ExprKind::Constant(number) if value.data_type.is_numeric() => {
                Some(number.display(&value.data_type).to_string())
            }
            _ => None,
        };
        if let Some(number) = number {
            let invalid = || invalid(&number, span);
            let mut total = (0, 0, 0);
            add(&mut total, number.trim(), unit).ok_or_else(invalid)?;
            return Ok(constant(total).ok_or_else(invalid)?.at(span));
        }
        let one = constant(unit).ok_or_else(|| Error::internal("unit of time out of range"))?;
        let count = self.cast_to(value, Type::BigInt, false)?;
        self.call("multiply", vec![one.at(span), count], span)
    }

    /// The interval that a text spells, such as `1 year 2 months -3 days 04:05:06.7`.
    pub(super) fn interval_text(&self, text: &str, span: Option<Span>) -> Result<Expr> {
        let total = parse(text).and_then(constant);
        total.map(|it| it.at(span)).ok_or_else(|| invalid(text, span))
    }
}

fn invalid(text: &str, span: Option<Span>) -> Error {
    let error = Error::invalid_value(format!("not an interval: {text}"));
    error.hint("write it as '1 year 2 months 3 days 04:05:06'").span(span)
}

fn constant((months, days, nanos): Unit) -> Option<Expr> {
    let interval =
        Interval::new(months.try_into().ok()?, days.try_into().ok()?, nanos.try_into().ok()?);
    Some(Expr::constant(Value::Interval(interval), Type::Interval))
}

fn parse(text: &str) -> Option<Unit> {
    let mut total = (0, 0, 0);
    let mut rest = text.trim();
    let mut is_empty = true;
    if let Some(stripped) = rest.strip_prefix('@') {
        rest = stripped.trim_start();
    }
    while !rest.is_empty() {
        if !is_empty && rest.eq_ignore_ascii_case("ago") {
            return Some((-total.0, -total.1, -total.2));
        }
        let end = rest.find(|it: char| !(it.is_ascii_digit() || "+-.:".contains(it)));
        let (number, after) = rest.split_at(end.unwrap_or(rest.len()));
        if number.contains(':') {
            total.2 = add_checked(total.2, clock(number)?)?;
            rest = after.trim_start();
        } else {
            let after = after.trim_start();
            let end = after.find(|it: char| !it.is_ascii_alphabetic()).unwrap_or(after.len());
            let (word, after) = after.split_at(end);
            add(&mut total, number, unit_of(word)?)?;
            rest = after.trim_start();
        }
        is_empty = false;
    }
    (!is_empty).then_some(total)
}

fn add_checked(left: i128, right: i128) -> Option<i128> {
    left.checked_add(right)
}

/// `[+-]hours:minutes[:seconds[.fraction]]` in nanoseconds.
fn clock(text: &str) -> Option<i128> {
    let (sign, text) = signed(text);
    let mut parts = text.split(':');
    let hours: i128 = parts.next()?.parse().ok()?;
    let minutes: i128 = parts.next()?.parse().ok()?;
    let seconds = parts.next().map_or(Some(0), |it| {
        let (whole, fraction) = it.split_once('.').unwrap_or((it, ""));
        let whole: i128 = whole.parse().ok()?;
        whole.checked_mul(NANOS_PER_SECOND)?.checked_add(part_of(fraction, NANOS_PER_SECOND)?)
    })?;
    if parts.next().is_some() || minutes > 59 || seconds >= NANOS_PER_MINUTE {
        return None;
    }
    let whole = hours.checked_mul(NANOS_PER_HOUR)?.checked_add(minutes * NANOS_PER_MINUTE)?;
    Some(sign * whole.checked_add(seconds)?)
}

fn signed(text: &str) -> (i128, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Adds `number` units. Fractions of years are months, of weeks days; those of months and days do
/// not count; those of hours and below are exact.
fn add(total: &mut Unit, number: &str, unit: Unit) -> Option<()> {
    let (sign, digits) = signed(number);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let scaled = |unit: i128| -> Option<i128> {
        let value = whole.checked_mul(unit)?.checked_add(part_of(fraction, unit)?)?;
        value.checked_mul(sign)
    };
    total.0 = total.0.checked_add(scaled(unit.0)?)?;
    total.1 = total.1.checked_add(scaled(unit.1)?)?;
    total.2 = total.2.checked_add(scaled(unit.2)?)?;
    Some(())
}

/// The fraction `0.digits` of `unit`, cut to a whole number.
fn part_of(digits: &str, unit: i128) -> Option<i128> {
    if digits.len() > 15 {
        return part_of(digits.get(..15)?, unit);
    }
    if digits.is_empty() {
        return Some(0);
    }
    let value: i128 = digits.parse().ok()?;
    Some(value.checked_mul(unit)? / 10i128.checked_pow(u32::try_from(digits.len()).ok()?)?)
}

fn unit_of(word: &str) -> Option<Unit> {
    let lower = word.to_ascii_lowercase();
    let singular = lower.strip_suffix('s').filter(|it| it.len() > 1).unwrap_or(&lower);
    Some(match singular {
        "millennium" | "millenium" | "mil" => (12_000, 0, 0),
        "century" | "centurie" | "cent" => (1200, 0, 0),
        "decade" | "dec" => (120, 0, 0),
        "year" | "yr" | "y" => (12, 0, 0),
        "quarter" => (3, 0, 0),
        "month" | "mon" => (1, 0, 0),
        "week" | "w" => (0, 7, 0),
        "day" | "d" => (0, 1, 0),
        "hour" | "hr" | "h" => (0, 0, NANOS_PER_HOUR),
        "minute" | "min" | "m" => (0, 0, NANOS_PER_MINUTE),
        "second" | "sec" | "s" => (0, 0, NANOS_PER_SECOND),
        "millisecond" | "msec" | "ms" => (0, 0, 1000 * NANOS_PER_MICRO),
        "microsecond" | "usec" | "us" => (0, 0, NANOS_PER_MICRO),
        _ => return None,
    })
}
