//! Text as a part of a URL, and back: `url_encode`, `url_decode`.

use super::doc;
use std::borrow::Cow;
use volley_error::{Error, Result};
use volley_function::{Registry, simple::StringWriter};
use volley_functions::text::push_percent;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    registry.simple(
        "presto.url_encode",
        doc(
            "url_encode(text) -> varchar",
            "The text as a value in the query of a URL: ASCII letters, digits, `.`, `-`, `*` and \
             `_` stay, a space becomes `+`, each other byte of UTF-8 `%` and two digits.",
            &[("url_encode('a b/\u{e9}')", "a+b%2F%C3%A9")],
        ),
        |text: &str, out: &mut StringWriter| encode(text, out),
    );
    registry.simple(
        "presto.url_decode",
        doc(
            "url_decode(text) -> varchar",
            "What url_encode has made the text of.",
            &[("url_decode('a+b%2F%C3%A9')", "a b/\u{e9}")],
        ),
        |text: &str, out: &mut StringWriter| -> Result<()> {
            out.push_str(&decoded(text, Plus::IsSpace)?);
            Ok(())
        },
    );
}

fn encode(text: &str, out: &mut StringWriter) {
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b'.' | b'-' | b'*' | b'_' => out.push(byte.into()),
            _ if byte.is_ascii_alphanumeric() => out.push(byte.into()),
            _ => push_percent(byte, out),
        }
    }
}

/// What a plus means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Plus {
    IsSpace,
    IsPlus,
}

/// The text with the bytes that are written as `%` and two digits; what is no UTF-8 becomes U+FFFD.
///
/// # Errors
///
/// A `%` without two digits.
pub(super) fn decoded(text: &str, plus: Plus) -> Result<Cow<'_, str>> {
    let is_escape = |it: char| it == '%' || (it == '+' && plus == Plus::IsSpace);
    if !text.contains(is_escape) {
        return Ok(Cow::Borrowed(text));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' if plus == Plus::IsSpace => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let byte = digit().zip(digit()).map(|(high, low)| (high << 4 | low) as u8);
                byte.ok_or_else(|| {
                    Error::invalid_value(format!("a % without two hexadecimal digits: {text}"))
                })?
            }
            _ => byte,
        });
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => Cow::Owned(text),
        Err(error) => Cow::Owned(String::from_utf8_lossy(error.as_bytes()).into_owned()),
    })
}
