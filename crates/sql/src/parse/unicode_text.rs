//! `U&'d\0061ta'` and `U&"d!0061ta" UESCAPE '!'`: texts and names with Unicode escapes.
//!
//! ```text
//! \0061     four digits     \+01F600  six digits     \\  the escape character
//! ```
//!
//! Two escapes of a surrogate pair in UTF-16 are one character.

use crate::position::Positions;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use volley_error::{Error, ErrorKind, Result};

/// The escape character, unless UESCAPE gives another one.
const ESCAPE: char = '\\';

/// Replaces them by plain texts and names.
pub(super) fn with_unicode_texts(
    tokens: Vec<TokenWithSpan>,
    positions: &Positions,
) -> Result<Vec<TokenWithSpan>> {
    if !tokens.windows(3).any(begins) {
        return Ok(tokens);
    }
    let mut list = Vec::with_capacity(tokens.len());
    let mut rest = tokens.as_slice();
    while let [token, after @ ..] = rest {
        let [_, written, behind @ ..] = after else {
            list.extend_from_slice(rest);
            break;
        };
        if !begins(&rest[..3]) {
            list.push(token.clone());
            rest = after;
            continue;
        }
        let failed = |message: String, at: &TokenWithSpan| {
            Error::new(ErrorKind::Syntax, message).span(positions.span(at.span))
        };
        let (escape, behind) = match behind {
            [word, escape, others @ ..] if is_uescape(word) => {
                let one = escape_of(&escape.token);
                (one.ok_or_else(|| failed(WRONG_ESCAPE.to_owned(), escape))?, others)
            }
            _ => (ESCAPE, behind),
        };
        let decoded = |text: &str| decoded(text, escape).map_err(|it| failed(it, written));
        let plain = match &written.token {
            Token::Word(name) => {
                let mut name = name.clone();
                name.value = decoded(&name.value)?;
                Token::Word(name)
            }
            Token::SingleQuotedString(text) => Token::SingleQuotedString(decoded(text)?),
            other => other.clone(),
        };
        let mut span = written.span;
        span.start = token.span.start;
        list.push(TokenWithSpan { token: plain, span });
        rest = behind;
    }
    Ok(list)
}

/// What UESCAPE takes.
const WRONG_ESCAPE: &str = "UESCAPE takes one character that is no digit, letter from A to F, plus \
                            sign, quote or blank";

/// Whether these are `U`, `&` and a text or quoted name, without blanks between them.
fn begins(tokens: &[TokenWithSpan]) -> bool {
    let [prefix, and, text] = tokens else { return false };
    let is_prefix = matches!(&prefix.token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("u"));
    let is_text = match &text.token {
        Token::SingleQuotedString(_) => true,
        Token::Word(word) => word.quote_style == Some('"'),
        _ => false,
    };
    is_prefix
        && and.token == Token::Ampersand
        && is_text
        && prefix.span.end == and.span.start
        && and.span.end == text.span.start
}

fn is_uescape(token: &TokenWithSpan) -> bool {
    matches!(&token.token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("uescape"))
}

fn escape_of(token: &Token) -> Option<char> {
    let Token::SingleQuotedString(text) = token else { return None };
    let mut chars = text.chars();
    let (one, None) = (chars.next()?, chars.next()) else { return None };
    let is_other = one.is_ascii_hexdigit() || one.is_whitespace() || "+'\"".contains(one);
    (!is_other).then_some(one)
}

/// The text with characters in place of their numbers.
fn decoded(text: &str, escape: char) -> Result<String, String> {
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        rest = &rest[next.len_utf8()..];
        if next != escape {
            units.extend(next.encode_utf16(&mut [0; 2]).iter());
            continue;
        }
        if let Some(behind) = rest.strip_prefix(escape) {
            units.extend(escape.encode_utf16(&mut [0; 2]).iter());
            rest = behind;
            continue;
        }
        let (digits, behind) = digits_of(rest, escape)?;
        let number = u32::from_str_radix(digits, 16).unwrap_or(u32::MAX);
        match (u16::try_from(number), char::from_u32(number)) {
            (Ok(unit), _) => units.push(unit),
            (_, Some(found)) => units.extend(found.encode_utf16(&mut [0; 2]).iter()),
            _ => return Err(format!("not a character: {escape}{digits}")),
        }
        rest = behind;
    }
    String::from_utf16(&units).map_err(|_| "half of a character in UTF-16 stands alone".to_owned())
}

/// The digits after an escape character, and what follows them.
fn digits_of(rest: &str, escape: char) -> Result<(&str, &str), String> {
    let (digits, count) = match rest.strip_prefix('+') {
        Some(digits) => (digits, 6),
        None => (rest, 4),
    };
    let found = digits.split_at_checked(count);
    found.filter(|it| it.0.bytes().all(|it| it.is_ascii_hexdigit())).ok_or_else(|| {
        format!("after {escape} stand four digits, + and six digits, or {escape} again")
    })
}
