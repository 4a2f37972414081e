//! Patterns of `*`, of which the parser only knows ILIKE.
//!
//! ```text
//! * LIKE 'a%'               * ILIKE 'LIKE a%'
//! * NOT SIMILAR TO 'a.*'    * ILIKE 'NOT SIMILAR a.*'
//! ```
//!
//! And `*COLUMNS(...)` among arguments, as a call of a function that SQL cannot name, and forms of
//! COLUMNS that the parser does not know:
//!
//! ```text
//! COLUMNS(t.* EXCLUDE (a))           COLUMNS(name of t, * EXCLUDE (a))
//! COLUMNS([x FOR x IN (*) IF c])     COLUMNS(lambda x: c)
//! COLUMNS([x FOR x IN (*)])          COLUMNS(*)
//! ```

use super::tokens::{is_at, is_name, is_word, keyword};
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

/// What begins each part of the name of the relation of COLUMNS.
pub(crate) const COLUMNS_OF: &str = "\u{1}";

/// Rewrites forms of COLUMNS.
pub(super) fn with_columns_forms(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_call = |it: &TokenWithSpan| match &it.token {
        Token::Word(word) => word.keyword == Keyword::COLUMNS || word.value == UNPACKED,
        _ => false,
    };
    if !tokens.iter().any(is_call) {
        return tokens;
    }
    let mut list: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.as_slice();
    while let [token, after @ ..] = rest {
        let begins = token.token == Token::LParen && list.last().is_some_and(is_call);
        list.push(token.clone());
        rest = after;
        if begins && let Some((argument, taken)) = relation(after).or_else(|| comprehension(after))
        {
            list.extend(argument);
            rest = &after[taken..];
        }
    }
    list
}

/// `t.*` before options: the name as an argument of its own, without the star.
fn relation(tokens: &[TokenWithSpan]) -> Option<(Vec<TokenWithSpan>, usize)> {
    let star = tokens.iter().position(|it| it.token == Token::Mul)?;
    let span = tokens.first()?.span;
    let has_options = !matches!(tokens.get(star + 1)?.token, Token::RParen | Token::Comma);
    if star == 0 || star % 2 != 0 || !has_options {
        return None;
    }
    let mut value = String::new();
    for pair in tokens.get(..star)?.chunks(2) {
        let [name, period] = pair else { return None };
        let Token::Word(word) = &name.token else { return None };
        if period.token != Token::Period {
            return None;
        }
        value.push_str(COLUMNS_OF);
        value.push_str(&word.value);
    }
    let name = Token::Word(Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword });
    Some(([name, Token::Comma].map(|token| TokenWithSpan { token, span }).to_vec(), star))
}

/// `[x FOR x IN (*) IF condition]`: a lambda; without a condition, the star.
fn comprehension(tokens: &[TokenWithSpan]) -> Option<(Vec<TokenWithSpan>, usize)> {
    let [open, element, for_word, name, in_word, left, star, right, rest @ ..] = tokens else {
        return None;
    };
    let is_form = open.token == Token::LBracket
        && is_name(element)
        && element.token == name.token
        && is_word(for_word, Keyword::FOR)
        && is_word(in_word, Keyword::IN)
        && [&left.token, &star.token, &right.token]
            == [&Token::LParen, &Token::Mul, &Token::RParen];
    if !is_form {
        return None;
    }
    let fixed = tokens.len() - rest.len();
    let [first, condition @ ..] = rest else { return None };
    if first.token == Token::RBracket {
        return Some((vec![star.clone()], fixed + 1));
    }
    let end = end_of_brackets(condition).filter(|_| is_word(first, Keyword::IF))?;
    let mut lambda = vec![keyword(Keyword::LAMBDA, open.span), name.clone()];
    lambda.push(TokenWithSpan { token: Token::Colon, span: open.span });
    lambda.extend_from_slice(condition.get(..end)?);
    Some((lambda, fixed + end + 2))
}

/// Where the bracket closes in which the tokens stand.
fn end_of_brackets(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::RBracket if depth == 0 => return Some(index),
            Token::RParen | Token::RBracket | Token::RBrace => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
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
