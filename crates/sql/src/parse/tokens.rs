//! The text as tokens, with the words taken out that the parser does not know.

use super::lower_first;
use crate::{dialect::VolleyDialect, position::Positions};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Location, Token, TokenWithSpan, Tokenizer},
};
use std::collections::HashSet;
use volley_error::{Error, ErrorKind, Result, Span};

/// The tokens of a text, without white space and comments.
pub(super) struct Tokens {
    pub(super) list: Vec<TokenWithSpan>,
    /// Where the closing parentheses of `AS MATERIALIZED (...)` stand.
    pub(super) materialized: HashSet<(u64, u64)>,
}

/// Splits `sql` into tokens.
pub(super) fn tokenize(sql: &str, positions: &Positions) -> Result<Tokens> {
    let tokens = Tokenizer::new(&VolleyDialect, sql).tokenize_with_location();
    let mut tokens = tokens.map_err(|it| {
        let start = positions.offset(it.location);
        let span = start.map_or(positions.end(), |start| Span { start, end: start });
        Error::new(ErrorKind::Syntax, lower_first(&it.message)).span(Some(span))
    })?;
    tokens.retain(|it| !matches!(it.token, Token::Whitespace(_)));
    Ok(take_out_materialized(tokens))
}

/// Takes out the words between AS and `(` in `AS [NOT] MATERIALIZED (...)`.
fn take_out_materialized(tokens: Vec<TokenWithSpan>) -> Tokens {
    let mut list: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut materialized = HashSet::new();
    let mut parentheses: Vec<bool> = Vec::new();
    for token in tokens {
        match token.token {
            Token::LParen => parentheses.push(cut_words(&mut list)),
            Token::RParen if parentheses.pop() == Some(true) => {
                materialized.insert(place(token.span.start));
            }
            _ => {}
        }
        list.push(token);
    }
    Tokens { list, materialized }
}

/// Cuts the words off the end of `list`; whether they ask for materialization.
fn cut_words(list: &mut Vec<TokenWithSpan>) -> bool {
    let is = |back: usize, keyword: Keyword| {
        let token = list.len().checked_sub(back).and_then(|index| list.get(index));
        token.is_some_and(|it| matches!(&it.token, Token::Word(word) if word.keyword == keyword))
    };
    if !is(1, Keyword::MATERIALIZED) {
        return false;
    }
    if is(2, Keyword::AS) {
        list.truncate(list.len() - 1);
        return true;
    }
    if is(2, Keyword::NOT) && is(3, Keyword::AS) {
        list.truncate(list.len() - 2);
    }
    false
}

/// A location as a key.
pub(super) fn place(location: Location) -> (u64, u64) {
    (location.line, location.column)
}
