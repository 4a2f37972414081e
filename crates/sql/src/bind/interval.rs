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
        if interval.last_field.is_some() {
            return Err(unsupported("INTERVAL ... TO", span));
        }
        let Some(unit) = &interval.leading_field else {
            return match inspect::string_literal(&value) {
                Some(text) => self.interval_text(text, span),
                None => Err(Error::invalid_query("INTERVAL needs a unit of time").span(span)),
            };
        };
        let number = match &value.kind {
            ExprKind::Constant(Value::Varchar(text)) => Some(text.trim().to_owned()),
            ExprKind::Constant(number) if value.data_type.is_numeric() => {
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

fn constant(text: &str) -> Option<Expr> {
    let interval = parse_interval(text)?;
    Some(Expr::constant(Value::Interval(interval), Type::Interval))
}
