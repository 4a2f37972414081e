//! Values as fields ask for them.

use super::template::{Align, Field, Size, Style, WIDTH_MAX};
use std::{borrow::Cow, fmt::Write, iter::repeat_n};
use volley_error::{Error, Result};
use volley_function::simple::StringWriter;

/// A value to put in.
#[derive(Clone, Copy, Debug)]
pub(super) enum Argument<'a> {
    Boolean(bool),
    Integer(i128),
    Double(f64),
    Text(&'a str),
}

/// Appends the value of a field.
///
/// # Errors
///
/// Those of `argument`; a letter that is not for such values; a width that is none.
pub(super) fn push<'a>(
    field: &Field,
    argument: &impl Fn(usize) -> Result<Argument<'a>>,
    out: &mut StringWriter,
) -> Result<()> {
    let size = |it: Option<Size>| match it {
        None => Ok(None),
        Some(Size::Fixed(size)) => Ok(Some(size)),
        Some(Size::Argument(index)) => match argument(index)? {
            Argument::Integer(size @ 0..) if size <= WIDTH_MAX as i128 => Ok(Some(size as usize)),
            _ => Err(Error::invalid_value(format!(
                "a width or precision is no integer from 0 to {WIDTH_MAX}"
            ))),
        },
    };
    let (width, precision) = (size(field.width)?, size(field.precision)?);
    let written = match (argument(field.index)?, field.letter) {
        (Argument::Text(text), None | Some('s')) => text_of(text, precision, field)?,
        (Argument::Boolean(value), None | Some('s')) => {
            text_of(if value { "true" } else { "false" }, precision, field)?
        }
        (Argument::Boolean(value), Some('b')) if field.style == Style::Java => {
            text_of(if value { "true" } else { "false" }, precision, field)?
        }
        (Argument::Integer(value), Some('s')) if field.style == Style::Java => {
            owned_text(value.to_string(), precision, field)?
        }
        (Argument::Double(value), Some('s')) if field.style == Style::Java => {
            owned_text(java_double(value), precision, field)?
        }
        (Argument::Boolean(value), letter) => integer(i128::from(value), letter, precision, field)
            .ok_or_else(|| wrong("a boolean", field))?,
        (Argument::Integer(value), letter) => {
            if precision.is_some() && field.style == Style::Fmt {
                let error = Error::invalid_value("an integer has no precision");
                return Err(error.hint("cast it to DOUBLE"));
            }
            integer(value, letter, precision, field).ok_or_else(|| wrong("an integer", field))?
        }
        (Argument::Double(value), letter) => {
            double(value, letter, precision, field).ok_or_else(|| wrong("a DOUBLE", field))?
        }
        (Argument::Text(_), _) => return Err(wrong("a text", field)),
    };
    written.pad(field, width.unwrap_or(0), out);
    Ok(())
}

fn wrong(what: &str, field: &Field) -> Error {
    let letter = field.letter.unwrap_or(' ');
    Error::invalid_value(format!("{what} cannot be written as {letter}"))
        .hint("integers have d, x, X, o and b, DOUBLEs e, f and g, texts s")
}

/// A value without its padding.
struct Written<'a> {
    /// Sign and base: what zeros follow.
    prefix: String,
    digits: Cow<'a, str>,
    /// Its alignment unless the field says otherwise.
    align: Align,
    /// Whether zeros may fill the width.
    takes_zeros: bool,
}

impl Written<'_> {
    fn pad(&self, field: &Field, width: usize, out: &mut StringWriter) {
        let len = self.prefix.len() + self.digits.chars().count();
        let missing = width.saturating_sub(len);
        let zeros = field.has_zeros && self.takes_zeros && field.align.is_none();
        let align = if zeros { Align::Numeric } else { field.align.unwrap_or(self.align) };
        let fill = if zeros { '0' } else { field.fill };
        let (before, between, behind) = match align {
            Align::Left => (0, 0, missing),
            Align::Right => (missing, 0, 0),
            Align::Center => (missing / 2, 0, missing - missing / 2),
            Align::Numeric => (0, missing, 0),
        };
        repeat_n(fill, before).for_each(|it| out.push(it));
        out.push_str(&self.prefix);
        repeat_n(fill, between).for_each(|it| out.push(it));
        out.push_str(&self.digits);
        repeat_n(fill, behind).for_each(|it| out.push(it));
    }
}

fn text_of<'a>(text: &'a str, precision: Option<usize>, field: &Field) -> Result<Written<'a>> {
    let is_numeric = field.sign.is_some()
        || field.is_alternate
        || field.has_zeros
        || field.align == Some(Align::Numeric);
    if field.style == Style::Fmt && is_numeric {
        return Err(Error::invalid_value("signs, zeros and # are for numbers, not for text"));
    }
    let end = precision.and_then(|it| text.char_indices().nth(it)).map_or(text.len(), |it| it.0);
    let digits = Cow::Borrowed(&text[..end]);
    let align = if field.style == Style::Fmt { Align::Left } else { Align::Right };
    Ok(Written { prefix: String::new(), digits, align, takes_zeros: false })
}

fn owned_text(text: String, precision: Option<usize>, field: &Field) -> Result<Written<'static>> {
    let Written { prefix, digits, align, takes_zeros } = text_of(&text, precision, field)?;
    Ok(Written { prefix, digits: Cow::Owned(digits.into_owned()), align, takes_zeros })
}

/// A number as `Double.toString` of Java writes it: with an exponent below 0.001 and from 10^7 on.
fn java_double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let size = value.abs();
    if size == 0.0 || (1e-3..1e7).contains(&size) {
        let text = value.to_string();
        return if text.contains('.') { text } else { text + ".0" };
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        Some((digits, exponent)) => format!("{digits}E{exponent}"),
        None => text,
    }
}

fn sign_of(is_negative: bool, field: &Field) -> String {
    match field.sign {
        _ if is_negative => "-".to_owned(),
        Some(sign @ ('+' | ' ')) => sign.to_string(),
        _ => String::new(),
    }
}

/// An integer; `None` when the letter is not for integers.
fn integer(
    value: i128,
    letter: Option<char>,
    precision: Option<usize>,
    field: &Field,
) -> Option<Written<'static>> {
    let is_printf = field.style != Style::Fmt;
    let mut prefix = sign_of(value < 0, field);
    // C takes the bits of a number that is written to another base than ten.
    let size = match (is_printf, i64::try_from(value)) {
        (true, Ok(value)) if !matches!(letter, Some('d' | 'i')) => u128::from(value as u64),
        _ => value.unsigned_abs(),
    };
    let (digits, base) = match letter {
        None | Some('d' | 'n') => (size.to_string(), ""),
        Some('i' | 'u') if is_printf => (size.to_string(), ""),
        Some('x') => (format!("{size:x}"), "0x"),
        Some('X') => (format!("{size:X}"), "0X"),
        Some('o') => (format!("{size:o}"), "0"),
        Some('b') => (format!("{size:b}"), "0b"),
        Some('B') => (format!("{size:b}"), "0B"),
        Some('c') if is_printf => {
            let character = u32::try_from(value).ok().and_then(char::from_u32)?;
            let digits = Cow::Owned(character.to_string());
            return Some(Written {
                prefix: String::new(),
                digits,
                align: Align::Right,
                takes_zeros: false,
            });
        }
        _ => return None,
    };
    if is_printf && !matches!(letter, Some('d' | 'i')) {
        prefix.clear();
    }
    if field.is_alternate {
        prefix.push_str(base);
    }
    let missing = precision.unwrap_or(0).saturating_sub(digits.len());
    let digits = Cow::Owned("0".repeat(missing) + &separated(&digits, field.separator));
    Some(Written { prefix, digits, align: Align::Right, takes_zeros: true })
}

/// Digits with a separator before each three of them.
fn separated(digits: &str, separator: Option<char>) -> String {
    let Some(separator) = separator else { return digits.to_owned() };
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(separator);
        }
        text.push(digit);
    }
    text
}

/// A number; `None` when the letter is not for such numbers.
fn double(
    value: f64,
    letter: Option<char>,
    precision: Option<usize>,
    field: &Field,
) -> Option<Written<'static>> {
    let size = value.abs();
    let places = precision.unwrap_or(6);
    let is_upper = letter.is_some_and(|it| it.is_ascii_uppercase());
    let mut digits = match letter.map(|it| it.to_ascii_lowercase()) {
        _ if !value.is_finite() => if value.is_nan() { "nan" } else { "inf" }.to_owned(),
        None if precision.is_none() => shortest(size),
        Some('f') => format!("{size:.places$}"),
        Some('e') => exponential(size, places),
        None | Some('g') => general(size, places, field.is_alternate),
        Some(_) => return None,
    };
    if field.is_alternate && value.is_finite() && !digits.contains(['.', 'e']) {
        digits.push('.');
    }
    if let Some(end) = digits.find(|it: char| !it.is_ascii_digit()).or(Some(digits.len())) {
        let (whole, rest) = digits.split_at(end);
        digits = separated(whole, field.separator) + rest;
    }
    if is_upper {
        digits.make_ascii_uppercase();
    }
    let prefix = sign_of(value.is_sign_negative() && !value.is_nan(), field);
    let (digits, align) = (Cow::Owned(digits), Align::Right);
    Some(Written { prefix, digits, align, takes_zeros: value.is_finite() })
}

/// The shortest text that reads back as the same number, with a point or an exponent.
fn shortest(size: f64) -> String {
    let text = format!("{size:e}");
    let (digits, exponent) = split_exponent(&text);
    match exponent {
        -4..16 => format!("{size:?}"),
        _ => format!("{digits}{}", exponent_text(exponent)),
    }
}

/// As C writes it: with a sign and two digits at least in the exponent.
fn exponential(size: f64, places: usize) -> String {
    let text = format!("{size:.places$e}");
    let (digits, exponent) = split_exponent(&text);
    format!("{digits}{}", exponent_text(exponent))
}

/// `digits` of them that count, with an exponent where that is shorter; zeros at the end are cut
/// unless they are kept.
fn general(size: f64, digits: usize, keeps_zeros: bool) -> String {
    let digits = digits.max(1);
    let rounded = format!("{size:.*e}", digits - 1);
    let (mantissa, exponent) = split_exponent(&rounded);
    let without_zeros = |text: &str| match keeps_zeros || !text.contains('.') {
        true => text.to_owned(),
        false => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
    };
    if exponent < -4 || exponent >= digits as i32 {
        return without_zeros(mantissa) + &exponent_text(exponent);
    }
    let places = (digits as i32 - 1 - exponent).max(0) as usize;
    without_zeros(&format!("{size:.places$}"))
}

fn split_exponent(text: &str) -> (&str, i32) {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (digits, exponent.parse().unwrap_or(0))
}

fn exponent_text(exponent: i32) -> String {
    let mut text = String::from(if exponent < 0 { "e-" } else { "e+" });
    // Writing to memory does not fail.
    let _ = write!(text, "{:02}", exponent.unsigned_abs());
    text
}
