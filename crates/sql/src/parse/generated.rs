//! Generated columns as CREATE TABLE may write them, in the only form that the parser knows.
//!
//! ```text
//! a AS (x)                       a " " GENERATED ALWAYS AS (x)
//! a INTEGER AS (x)               a INTEGER GENERATED ALWAYS AS (x)
//! a GENERATED ALWAYS AS (x)      a " " GENERATED ALWAYS AS (x)
//! ```

use super::{
    merge::quoted,
    tokens::{is_word, keyword},
};
use crate::parse::NO_TYPE;
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

/// The most tokens before the list of columns.
const HEAD_MAX: usize = 14;

/// Rewrites the columns of CREATE TABLE.
pub(super) fn with_generated_columns(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_create = |it: &TokenWithSpan| is_word(it, Keyword::CREATE);
    let is_as = |it: &TokenWithSpan| is_word(it, Keyword::AS);
    if !tokens.iter().any(is_create) || !tokens.iter().any(is_as) {
        return tokens;
    }
    let mut list = Vec::with_capacity(tokens.len() + 4);
    // Within a list of columns: how many parentheses are open, its own among them.
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        let is_next = |word| tokens.get(index + 1).is_some_and(|it| is_word(it, word));
        let opens = |at: usize| tokens.get(at).is_some_and(|it| it.token == Token::LParen);
        match token.token {
            Token::LParen if depth > 0 || begins_columns(&tokens, index) => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        let before = index.checked_sub(1).and_then(|it| tokens.get(it));
        let starts_column = depth == 1
            && before.is_some_and(|it| matches!(it.token, Token::LParen | Token::Comma))
            && matches!(token.token, Token::Word(_));
        let is_bare = is_as(token) && opens(index + 1);
        let is_told = before.is_some_and(|it| is_word(it, Keyword::ALWAYS));
        if depth == 1 && is_bare && !is_told && !starts_column {
            list.push(keyword(Keyword::GENERATED, token.span));
            list.push(keyword(Keyword::ALWAYS, token.span));
        }
        list.push(token.clone());
        let is_untyped = is_next(Keyword::GENERATED) || is_next(Keyword::AS) && opens(index + 2);
        if starts_column && is_untyped {
            list.push(quoted(NO_TYPE, token));
        }
    }
    list
}

/// Whether the parenthesis at `open` begins the columns of CREATE TABLE.
fn begins_columns(tokens: &[TokenWithSpan], open: usize) -> bool {
    let first = open.saturating_sub(HEAD_MAX);
    let before = tokens.get(first..open).unwrap_or_default();
    let Some(create) = before.iter().rposition(|it| is_word(it, Keyword::CREATE)) else {
        return false;
    };
    let head = before.get(create..).unwrap_or_default();
    let has = |word| head.iter().any(|it| is_word(it, word));
    let is_other = |it: &TokenWithSpan| matches!(it.token, Token::SemiColon | Token::LParen);
    has(Keyword::TABLE) && !has(Keyword::AS) && !head.iter().any(is_other)
}
