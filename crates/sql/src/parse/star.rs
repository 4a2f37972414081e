//! Patterns of `*`, of which the parser only knows ILIKE.
//!
//! ```text
//! * LIKE 'a%'               * ILIKE 'LIKE a%'
//! * NOT SIMILAR TO 'a.*'    * ILIKE 'NOT SIMILAR a.*'
//! ```
//!
//! And `*COLUMNS(...)` among arguments, as a call of a function that SQL cannot name.

use super::tokens::{is_at, is_word};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan, Word},
};

/// How names are compared with a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StarOperator {
    Like,
    ILike,
    SimilarTo,
    Glob,
}

/// The operators, and what represents them before the pattern.
const OPERATORS: [(StarOperator, &str, &[Keyword]); 4] = [
    (StarOperator::Like, "LIKE ", &[Keyword::LIKE]),
    (StarOperator::ILike, "ILIKE ", &[Keyword::ILIKE]),
    (StarOperator::SimilarTo, "SIMILAR ", &[Keyword::SIMILAR, Keyword::TO]),
    (StarOperator::Glob, "GLOB ", &[Keyword::GLOB]),
];

/// What represents NOT before an operator.
const NOT: &str = "NOT ";

/// Rewrites them.
pub(super) fn with_star_patterns(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut list: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.as_slice();
    while let [token, after @ ..] = rest {
        let is_star = list.last().is_some_and(|it| it.token == Token::Mul);
        match operator(rest).filter(|_| is_star) {
            Some((words, pattern)) => {
                let ilike = Token::make_keyword("ILIKE");
                list.push(TokenWithSpan { token: ilike, span: token.span });
                let pattern = Token::SingleQuotedString(pattern);
                list.push(TokenWithSpan { token: pattern, span: token.span });
                rest = &rest[words..];
            }
            None => {
                list.push(token.clone());
                rest = after;
            }
        }
    }
    list
}

/// How many tokens an operator and its pattern take, and what represents both.
fn operator(tokens: &[TokenWithSpan]) -> Option<(usize, String)> {
    let is_negated = is_word(tokens.first()?, Keyword::NOT);
    let begin = usize::from(is_negated);
    let is_here = |words: &[Keyword]| {
        words.iter().enumerate().all(|(at, word)| is_at(tokens, begin + at, *word))
    };
    let (_, name, words) = OPERATORS.iter().find(|it| is_here(it.2))?;
    let pattern = begin + words.len();
    let Token::SingleQuotedString(text) = &tokens.get(pattern)?.token else { return None };
    let not = if is_negated { NOT } else { "" };
    Some((pattern + 1, format!("{not}{name}{text}")))
}

/// The function that represents `*COLUMNS`.
pub(crate) const UNPACKED: &str = " *columns";

/// Rewrites `*COLUMNS(` where an argument or an element begins.
pub(super) fn with_unpacked(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut list: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in tokens {
        let is_unpacked = token.token == Token::LParen
            && match list.as_slice() {
                [.., before, star, columns] => {
                    let begins = [Token::LParen, Token::LBracket, Token::Comma];
                    star.token == Token::Mul
                        && begins.contains(&before.token)
                        && is_word(columns, Keyword::COLUMNS)
                }
                _ => false,
            };
        if is_unpacked && let Some(columns) = list.pop() {
            list.pop();
            let (value, keyword) = (UNPACKED.to_owned(), Keyword::NoKeyword);
            let name = Token::Word(Word { value, quote_style: Some('"'), keyword });
            list.push(TokenWithSpan { token: name, span: columns.span });
        }
        list.push(token);
    }
    list
}

/// The operator that was written, whether NOT was, and the pattern.
pub(crate) fn star_pattern(text: &str) -> (StarOperator, bool, &str) {
    let (is_negated, text) = match text.strip_prefix(NOT) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let found = OPERATORS.iter().find_map(|it| Some((it.0, text.strip_prefix(it.1)?)));
    let (operator, pattern) = found.unwrap_or((StarOperator::ILike, text));
    (operator, is_negated, pattern)
}
