//! Literals.

use super::{Binder, Parameters, expr::null, unsupported};
use crate::parse;
use sqlparser::ast::{DataType, ExactNumberInfo, TypedString, Value as Literal, ValueWithSpan};
use volley_error::{Error, Result, Span};
use volley_logical::Expr;
use volley_types::{
    DECIMAL_PRECISION_MAX, Type, Value,
    custom::{Json, UnsignedInteger, ZonedClock, ZonedTimestamp},
    text::{WrittenZone, parse_zoned},
};

impl Binder<'_> {
    pub(super) fn literal(&self, literal: &ValueWithSpan) -> Result<Expr> {
        let span = self.span(literal.span);
        let text = |it: &str| Ok(Expr::constant(Value::text(it), Type::Varchar).at(span));
        match &literal.value {
            Literal::Number(digits, _) => self.number(digits, false, span),
            Literal::SingleQuotedString(it)
            | Literal::EscapedStringLiteral(it)
            | Literal::UnicodeStringLiteral(it)
            | Literal::NationalStringLiteral(it) => text(it),
            Literal::DollarQuotedString(it) => text(&it.value),
            Literal::HexStringLiteral(digits) if self.is_hex_number(literal) => {
                let value = i128::from_str_radix(digits, 16).map_err(|_| {
                    Error::invalid_query("hexadecimal number is malformed or too large").span(span)
                })?;
                self.number(&value.to_string(), false, span)
            }
            Literal::HexStringLiteral(digits) => {
                let bytes = bytes_of_hex(digits).ok_or_else(|| {
                    Error::invalid_query("hexadecimal literal is malformed").span(span)
                })?;
                Ok(Expr::constant(Value::Varbinary(bytes.into()), Type::Varbinary).at(span))
            }
            Literal::Boolean(value) => Ok(Expr::boolean(*value).at(span)),
            Literal::Null => Ok(null().at(span)),
            Literal::Placeholder(name) => self.parameter_value(name, span),
            other => Err(unsupported(format!("the literal {other}"), span)),
        }
    }

    /// The meaning of a parameter.
    fn parameter_value(&self, written: &str, span: Option<Span>) -> Result<Expr> {
        let name = parse::parameter_name(written).to_lowercase();
        match &self.shared.settings.parameters {
            Parameters::None => {
                // `?` has a number by now.
                let written = span.map_or(written, |it| self.source.slice(it));
                let message = format!("parameter without a value: {written}");
                let error = Error::invalid_query(message).span(span);
                Err(error.hint("prepare the statement, and run it with values"))
            }
            Parameters::Unknown => Ok(null().at(span)),
            Parameters::Given(values) => {
                let value = values.get(&name).cloned().ok_or_else(|| {
                    let message = format!("no value for the parameter {written}");
                    Error::invalid_query(message).span(span)
                })?;
                Ok(Expr::constant(value.0, value.1).at(span))
            }
        }
    }

    /// Whether the hexadecimal literal is written `0x1F`, not `X'1F'`.
    fn is_hex_number(&self, literal: &ValueWithSpan) -> bool {
        let span = self.source.positions.span(literal.span);
        span.is_some_and(|it| self.source.slice(it).starts_with("0x"))
    }

    /// `DATE '...'` and its like: a cast of the text.
    pub(super) fn typed_string(&self, string: &TypedString) -> Result<Expr> {
        let span = self.span(string.value.span);
        let text = match &string.value.value {
            Literal::SingleQuotedString(text) | Literal::EscapedStringLiteral(text) => text,
            other => return Err(unsupported(format!("the literal {other}"), span)),
        };
        let data_type = self.data_type(&string.data_type, span)?;
        if self.shared.is_presto()
            && let Some(literal) = self.presto_typed_string(string, text, &data_type, span)?
        {
            return Ok(literal);
        }
        if data_type == Type::Interval {
            return self.interval_text(text, span);
        }
        let text = Expr::constant(Value::text(text), Type::Varchar).at(span);
        self.cast_to(text, data_type, false)
    }

    /// What Presto reads otherwise than a cast of the text: `JSON '[1]'` is the text's value,
    /// `DECIMAL '1.20'` has the digits that are written.
    fn presto_typed_string(
        &self,
        string: &TypedString,
        text: &str,
        data_type: &Type,
        span: Option<Span>,
    ) -> Result<Option<Expr>> {
        let argument = || vec![Expr::constant(Value::text(text), Type::Varchar).at(span)];
        if *data_type == Json::data_type() {
            return self.call("json_parse", argument(), span).map(Some);
        }
        if *data_type == Type::Timestamp {
            // A zone in the text makes it a timestamp with a time zone.
            return match parse_zoned(text) {
                None | Some((_, WrittenZone::None)) => Ok(None),
                Some(_) => {
                    let text = Expr::constant(Value::text(text), Type::Varchar).at(span);
                    self.cast_to(text, ZonedTimestamp::data_type(), false).map(Some)
                }
            };
        }
        if *data_type == Type::Time {
            let on_first_day = format!("1970-01-01 {}", text.trim());
            return match parse_zoned(&on_first_day) {
                None | Some((_, WrittenZone::None)) => Ok(None),
                Some(_) => {
                    let text = Expr::constant(Value::text(text), Type::Varchar).at(span);
                    self.cast_to(text, ZonedClock::data_type(), false).map(Some)
                }
            };
        }
        if matches!(string.data_type, DataType::Decimal(ExactNumberInfo::None)) {
            let digits = text.trim_start_matches(['-', '+']);
            let mut written = digits.to_owned();
            if !written.contains('.') {
                written.push('.');
            }
            let (value, data_type) = decimal(&written, text.starts_with('-')).ok_or_else(|| {
                Error::invalid_value(format!("not a decimal, or too long: {text}")).span(span)
            })?;
            return Ok(Some(Expr::constant(value, data_type).at(span)));
        }
        Ok(None)
    }

    /// A number: INTEGER, BIGINT, HUGEINT, UHUGEINT by size; with a point an exact DECIMAL; with an
    /// exponent, or beyond what those hold, a DOUBLE.
    pub(super) fn number(&self, written: &str, negative: bool, span: Option<Span>) -> Result<Expr> {
        let malformed = || Error::invalid_query(format!("malformed number: {written}")).span(span);
        let (value, data_type) = match exact_number(written, negative) {
            Some(exact) => exact,
            None => {
                let value: f64 = without_separators(written).parse().map_err(|_| malformed())?;
                (Value::Double(if negative { -value } else { value }), Type::Double)
            }
        };
        Ok(Expr::constant(value, data_type).at(span))
    }
}

/// The value of a number that is written without an exponent; `None` if it has one, or is beyond
/// what exact types hold.
pub(crate) fn exact_number(written: &str, negative: bool) -> Option<(Value, Type)> {
    let digits = without_separators(written);
    if digits.contains(['e', 'E']) {
        None
    } else if digits.contains('.') {
        decimal(&digits, negative)
    } else {
        integer(&digits, negative)
    }
}

fn without_separators(written: &str) -> String {
    written.chars().filter(|it| *it != '_').collect()
}

fn integer(digits: &str, negative: bool) -> Option<(Value, Type)> {
    let signed = if negative { format!("-{digits}") } else { digits.to_owned() };
    let Ok(value) = signed.parse::<i128>() else {
        let unsigned = UnsignedInteger::UHugeInt;
        return Some((unsigned.store(signed.parse().ok()?)?, unsigned.data_type()));
    };
    if let Ok(value) = i32::try_from(value) {
        return Some((Value::Integer(value), Type::Integer));
    }
    if let Ok(value) = i64::try_from(value) {
        return Some((Value::BigInt(value), Type::BigInt));
    }
    Some((Value::HugeInt(value), Type::HugeInt))
}

/// The digits before and after the point, as written, are those of the type.
fn decimal(written: &str, negative: bool) -> Option<(Value, Type)> {
    let (whole, fraction) = written.split_once('.')?;
    let precision = u8::try_from(whole.len() + fraction.len()).ok()?;
    if !(1..=DECIMAL_PRECISION_MAX).contains(&precision) {
        return None;
    }
    let unscaled: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = u8::try_from(fraction.len()).ok()?;
    let unscaled = if negative { -unscaled } else { unscaled };
    Some((Value::Decimal(unscaled), Type::Decimal { precision, scale }))
}

fn bytes_of_hex(digits: &str) -> Option<Vec<u8>> {
    if !digits.is_ascii() || digits.len() % 2 == 1 {
        return None;
    }
    let pairs = (0..digits.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()).collect()
}
