//! `USING KEY (a, b)` of recursive queries, which the parser does not know.
//!
//! ```text
//! WITH RECURSIVE t (a, b) USING KEY (a) AS (...)      WITH RECURSIVE t (a, b) AS (...)
//! ```
//!
//! The names are kept by the place of the parenthesis that ends the query.

use super::tokens::{is_word, place};
use sqlparser::{
    ast::Ident,
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};
use std::collections::HashMap;

/// The columns of keys, by the places of closing parentheses.
pub(super) type Keys = HashMap<(u64, u64), Vec<Ident>>;

/// Takes them out.
pub(super) fn take_out_keys(tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, Keys) {
    let mut keys = Keys::new();
    if !tokens.windows(2).any(is_key) {
        return (tokens, keys);
    }
    let mut list: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // For each open parenthesis, the key of the query in it.
    let mut open: Vec<Option<Vec<Ident>>> = Vec::new();
    let mut pending: Option<Vec<Ident>> = None;
    let mut rest = tokens.as_slice();
    while let [token, after @ ..] = rest {
        if rest.get(..2).is_some_and(is_key)
            && let Some((names, left)) = rest.get(2..).and_then(names)
        {
            pending = Some(names);
            rest = left;
            continue;
        }
        match token.token {
            Token::LParen => open.push(pending.take()),
            Token::RParen => {
                if let Some(Some(names)) = open.pop() {
                    keys.insert(place(token.span.start), names);
                }
            }
            _ => {}
        }
        list.push(token.clone());
        rest = after;
    }
    (list, keys)
}

/// `(a, b)` before AS: the names, and what follows them.
fn names(tokens: &[TokenWithSpan]) -> Option<(Vec<Ident>, &[TokenWithSpan])> {
    let [open, list @ ..] = tokens else { return None };
    let end = list.iter().position(|it| it.token == Token::RParen)?;
    let (list, left) = (list.get(..end)?, list.get(end + 1..)?);
    let is_right =
        open.token == Token::LParen && left.first().is_some_and(|it| is_word(it, Keyword::AS));
    if !is_right {
        return None;
    }
    let mut names = Vec::new();
    for (index, token) in list.iter().enumerate() {
        match &token.token {
            Token::Word(word) if index % 2 == 0 => {
                let (value, quote_style) = (word.value.clone(), word.quote_style);
                names.push(Ident { value, quote_style, span: token.span });
            }
            Token::Comma if index % 2 == 1 => {}
            _ => return None,
        }
    }
    (!names.is_empty() && list.len() == 2 * names.len() - 1).then_some((names, left))
}

/// `USING KEY`.
fn is_key(pair: &[TokenWithSpan]) -> bool {
    match pair {
        [using, key] => is_word(using, Keyword::USING) && is_word(key, Keyword::KEY),
        _ => false,
    }
}
