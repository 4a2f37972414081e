//! INTERVAL literals in all spellings.

use super::{Binder, inspect, unsupported};
use sqlparser::ast;
use volley_error::{Error, Result, Span};
use volley_logical::{Expr, ExprKind};
use volley_types::{Type, Value, text::parse_interval};

impl<'a> Binder<'a> {
    /// `INTERVAL '1 day'`, `INTERVAL '1' DAY`, `INTERVAL 1 DAY`, `INTERVAL (expression) DAY`.
    pub(super) fn interval(&mut self, interval: &'a ast::Interval) -> Result<Expr> {
        let value = self.expr(&interval.value)?;
        let span = value.span;
        if let Some(last) = &interval.last_field {
            let text = inspect::string_literal(&value).zip(interval.leading_field.as_ref());
            let spelled = text.and_then(|(text, first)| spelled_range(text, first, last));
            let spelled =
                spelled.ok_or_else(|| unsupported("this form of INTERVAL ... TO", span))?;
            return self.interval_text(&spelled, span);
        }
        let Some(unit) = &interval.leading_field else {
            return match inspect::string_literal(&value) {
                Some(text) => self.interval_text(text, span),
                None => Err(Error::invalid_query("INTERVAL needs a unit of time").span(span)),
            };
        };
        let number = match &value.kind {
            ExprKind::Constant(Value::Varchar(text)) => Some(text.trim().to_owned()),
            ExprKind::Constant(number) if value.data_type.is_number() => {
                Some(number.display(&value.data_type).to_string())
            }
            _ => None,
        };
        if let Some(number) = number {
            return self.interval_text(&format!("{number} {unit}"), span);
        }
        let one = constant(&format!("1 {unit}"))
            .ok_or_else(|| unsupported(format!("INTERVAL of {unit}"), span))?;
        let count = self.cast_to(value, Type::BigInt, false)?;
        self.call("multiply", vec![one.at(span), count], span)
    }

    /// The interval that a text spells, such as `1 year 2 months -3 days 04:05:06.7`.
    pub(super) fn interval_text(&self, text: &str, span: Option<Span>) -> Result<Expr> {
        constant(text).map(|it| it.at(span)).ok_or_else(|| {
            Error::invalid_value(format!("not an interval, or out of range: {text}"))
                .hint("write it as '1 year 2 months 3 days 04:05:06'")
                .span(span)
        })
    }
}

/// A text such as `1-2` or `3 04:05:06.7` with a number for each unit from `first` to `last`, as
/// one with the units' names. A sign is that of all numbers.
fn spelled_range(
    text: &str,
    first: &ast::DateTimeField,
    last: &ast::DateTimeField,
) -> Option<String> {
    const RANGES: [&[&str]; 2] = [&["YEAR", "MONTH"], &["DAY", "HOUR", "MINUTE", "SECOND"]];
    let (first, last) = (first.to_string(), last.to_string());
    let units = RANGES.iter().find_map(|range| {
        let start = range.iter().position(|it| it.eq_ignore_ascii_case(&first))?;
        let end = range.iter().position(|it| it.eq_ignore_ascii_case(&last))?;
        range.get(start..=end)
    })?;
    let text = text.trim();
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let numbers: Vec<&str> = unsigned.split(['-', ' ', ':']).collect();
    let is_number = |it: &&str| {
        it.starts_with(|it: char| it.is_ascii_digit())
            && it.bytes().all(|it| it.is_ascii_digit() || it == b'.')
    };
    if numbers.len() != units.len() || !numbers.iter().all(is_number) {
        return None;
    }
    let parts = numbers.iter().zip(units).map(|(number, unit)| format!("{sign}{number} {unit}"));
    Some(parts.collect::<Vec<_>>().join(" "))
}

fn constant(text: &str) -> Option<Expr> {
    let interval = parse_interval(text)?;
    Some(Expr::constant(Value::Interval(interval), Type::Interval))
}
