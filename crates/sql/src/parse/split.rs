//! Splits a text into the texts of its statements, whether or not they can be parsed.

use crate::{dialect::VolleyDialect, position::Positions};
use sqlparser::tokenizer::{Token, Tokenizer};
use volley_error::Span;

/// The parts of `sql` that semicolons divide, those in quotes and comments aside; parts without
/// words are left out. What follows a quote that stays open is one part.
///
/// ```
/// let sql = "SELEC 1; SELECT ';'";
/// let parts: Vec<&str> =
///     volley_sql::split(sql).iter().map(|it| &sql[it.start as usize..it.end as usize]).collect();
/// assert_eq!(parts, ["SELEC 1", " SELECT ';'"]);
/// ```
pub fn split(sql: &str) -> Vec<Span> {
    let positions = Positions::new(sql);
    let mut tokens = Vec::new();
    // Tokens before an unterminated quote are still returned.
    let is_whole =
        Tokenizer::new(&VolleyDialect, sql).tokenize_with_location_into_buf(&mut tokens).is_ok();
    let mut parts = Vec::new();
    let (mut start, mut has_words) = (0, false);
    for token in &tokens {
        match (&token.token, positions.span(token.span)) {
            (Token::Whitespace(_), _) => {}
            (Token::SemiColon, Some(semicolon)) => {
                if has_words {
                    parts.push(Span { start, end: semicolon.start });
                }
                (start, has_words) = (semicolon.end, false);
            }
            _ => has_words = true,
        }
    }
    if has_words || !is_whole {
        parts.push(Span { start, end: positions.end().end });
    }
    parts
}
