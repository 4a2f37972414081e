//! Spellings of MERGE and CREATE TABLE that the parser does not know.
//!
//! ```text
//! MERGE INTO t USING s USING (a, b)     MERGE INTO t USING s ON " using"(a, b)
//! THEN UPDATE                           THEN UPDATE SET *
//! THEN INSERT                           THEN INSERT *
//! CREATE TABLE t (a, b) AS query        CREATE TABLE t (a " ", b " ") AS query
//! ```

use super::tokens::{is_word, keyword};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan, Word},
};
use std::collections::HashSet;

/// The call that represents the columns of USING in MERGE.
pub(crate) const MERGE_USING: &str = " using";

/// The type that represents none.
pub(crate) const NO_TYPE: &str = " ";

/// Rewrites them.
pub(super) fn with_merges(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_other = |it: &TokenWithSpan| is_word(it, Keyword::MERGE) || is_word(it, Keyword::TABLE);
    if !tokens.iter().any(is_other) {
        return tokens;
    }
    let untyped = untyped_columns(&tokens);
    let mut list: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // In a MERGE: how many parentheses deep, and how many USING there were.
    let mut merge: Option<usize> = None;
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::SemiColon => merge = None,
            _ => {}
        }
        let next = tokens.get(index + 1);
        let is_bare = || next.is_none_or(ends_action);
        if is_word(token, Keyword::MERGE) {
            merge = Some(0);
        } else if let Some(usings) = &mut merge
            && depth == 0
        {
            if is_word(token, Keyword::USING) {
                *usings += 1;
                if *usings == 2 {
                    list.push(keyword(Keyword::ON, token.span));
                    list.push(quoted(MERGE_USING, token));
                    continue;
                }
            } else if is_word(token, Keyword::UPDATE) && is_bare() {
                list.push(token.clone());
                list.push(keyword(Keyword::SET, token.span));
                list.push(TokenWithSpan { token: Token::Mul, span: token.span });
                continue;
            } else if is_word(token, Keyword::INSERT) && is_bare() {
                list.push(token.clone());
                list.push(TokenWithSpan { token: Token::Mul, span: token.span });
                continue;
            }
        }
        list.push(token.clone());
        if untyped.contains(&index) {
            list.push(quoted(NO_TYPE, token));
        }
    }
    list
}

/// Whether an action of MERGE ends before the token.
fn ends_action(next: &TokenWithSpan) -> bool {
    next.token == Token::SemiColon
        || is_word(next, Keyword::WHEN)
        || is_word(next, Keyword::RETURNING)
}

/// Where the names in `CREATE TABLE name (a, b) AS` stand.
fn untyped_columns(tokens: &[TokenWithSpan]) -> HashSet<usize> {
    let mut found = HashSet::new();
    for create in (0..tokens.len()).filter(|it| is_word(&tokens[*it], Keyword::CREATE)) {
        let end = tokens.len().min(create + 12);
        let Some(open) = (create..end).find(|it| tokens[*it].token == Token::LParen) else {
            continue;
        };
        let before = &tokens[create..open];
        let has = |keyword: Keyword| before.iter().any(|it| is_word(it, keyword));
        let is_table = has(Keyword::TABLE) && !has(Keyword::AS);
        let is_list = |at: usize, it: &TokenWithSpan| match at % 2 {
            0 => matches!(it.token, Token::Word(_)),
            _ => it.token == Token::Comma,
        };
        let inside = tokens[open + 1..].iter().enumerate();
        let close = open + 1 + inside.take_while(|it| is_list(it.0, it.1)).count();
        let is_closed = tokens.get(close).is_some_and(|it| it.token == Token::RParen);
        let is_as = tokens.get(close + 1).is_some_and(|it| is_word(it, Keyword::AS));
        if is_table && is_closed && is_as {
            found.extend((open + 1..close).step_by(2));
        }
    }
    found
}

/// A name in quotes.
pub(super) fn quoted(name: &str, place: &TokenWithSpan) -> TokenWithSpan {
    let value = name.to_owned();
    let word = Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword };
    TokenWithSpan { token: Token::Word(word), span: place.span }
}
