//! The units of `INTERVAL '2' DECADES`, under all their names: the parser knows some, and takes
//! other words behind the number for the name of a column.

use super::tokens::{is_word, keyword};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan, Word},
};
use volley_error::{Error, Result};
use volley_types::text::interval_unit;

use crate::position::Positions;

/// The keywords of the units' plain names.
const UNITS: [(&str, Keyword); 13] = [
    ("millennium", Keyword::MILLENNIUM),
    ("century", Keyword::CENTURY),
    ("decade", Keyword::DECADE),
    ("year", Keyword::YEAR),
    ("quarter", Keyword::QUARTER),
    ("month", Keyword::MONTH),
    ("week", Keyword::WEEK),
    ("day", Keyword::DAY),
    ("hour", Keyword::HOUR),
    ("minute", Keyword::MINUTE),
    ("second", Keyword::SECOND),
    ("millisecond", Keyword::MILLISECOND),
    ("microsecond", Keyword::MICROSECOND),
];

/// Writes units behind the count of an INTERVAL by their plain names.
///
/// # Errors
///
/// An unknown word behind a text that is just a number: it would name a column of seconds.
pub(super) fn with_interval_units(
    mut tokens: Vec<TokenWithSpan>,
    positions: &Positions,
) -> Result<Vec<TokenWithSpan>> {
    let intervals: Vec<usize> =
        (0..tokens.len()).filter(|it| is_word(&tokens[*it], Keyword::INTERVAL)).collect();
    for interval in intervals {
        let Some((count, behind)) = count_of(&tokens, interval + 1) else { continue };
        let Some(TokenWithSpan { token: Token::Word(word), span }) = tokens.get(behind) else {
            continue;
        };
        if word.quote_style.is_some() {
            continue;
        }
        match unit_keyword(word) {
            Some(unit) if count != Count::Text => tokens[behind] = keyword(unit, *span),
            None if count == Count::NumberInText && word.keyword == Keyword::NoKeyword => {
                let error = Error::new(
                    volley_error::ErrorKind::Syntax,
                    format!("unknown unit of an interval: {}", word.value),
                );
                let error = error.hint("AS names a column of seconds");
                return Err(error.span(positions.span(*span)));
            }
            _ => {}
        }
    }
    Ok(tokens)
}

/// What stands behind INTERVAL.
#[derive(Clone, Copy, PartialEq)]
enum Count {
    /// A number, or an expression in parentheses.
    Number,
    NumberInText,
    /// A text with units in it.
    Text,
}

/// What begins at `start`, and the position behind it.
fn count_of(tokens: &[TokenWithSpan], start: usize) -> Option<(Count, usize)> {
    match &tokens.get(start)?.token {
        Token::SingleQuotedString(text) => {
            let is_number = text.trim().parse::<f64>().is_ok();
            Some((if is_number { Count::NumberInText } else { Count::Text }, start + 1))
        }
        Token::Number(..) => Some((Count::Number, start + 1)),
        Token::LParen => {
            let mut depth = 0_usize;
            let closing = tokens.iter().skip(start).position(|it| {
                match it.token {
                    Token::LParen => depth += 1,
                    Token::RParen => depth -= 1,
                    _ => {}
                }
                depth == 0
            })?;
            Some((Count::Number, start + closing + 1))
        }
        _ => None,
    }
}

fn unit_keyword(word: &Word) -> Option<Keyword> {
    let name = interval_unit(&word.value)?;
    UNITS.iter().find(|it| it.0 == name).map(|it| it.1)
}
