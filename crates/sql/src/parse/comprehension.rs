//! List comprehensions, which the parser does not know, as calls with lambdas.
//!
//! ```text
//! [e FOR x IN l]              list_transform(l, lambda x: e)
//! [e FOR x IN l IF c]         list_transform(list_filter(l, lambda x: c), lambda x: e)
//! [e FOR x, i IN l IF c]      list_transform(list_filter(
//!                                 list_transform(l, lambda x, i: {'keep': c, 'value': e}),
//!                                 lambda x: x.keep), lambda x: x.value)
//! ```

use super::tokens::{is_word, keyword};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Span, Token, TokenWithSpan},
};

/// The most comprehensions within one another: each moves those in it. Expressions of fewer levels
/// than these make are not run.
const LEVELS_MAX: usize = 400;

/// An open parenthesis, bracket or brace.
struct Open {
    /// Where its token is in the list.
    at: usize,
    /// Where its first FOR stands.
    for_at: Option<usize>,
    /// How many comprehensions are within one another in it.
    levels: usize,
}

/// The parts of a comprehension.
struct Parts {
    element: Vec<TokenWithSpan>,
    /// A name, or two with a comma.
    names: Vec<TokenWithSpan>,
    list: Vec<TokenWithSpan>,
    condition: Option<Vec<TokenWithSpan>>,
}

/// Rewrites them.
pub(super) fn with_comprehensions(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|it| is_word(it, Keyword::FOR)) {
        return tokens;
    }
    let mut list: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut open: Vec<Open> = Vec::new();
    for token in tokens {
        match token.token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                open.push(Open { at: list.len(), for_at: None, levels: 0 });
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                let opened = open.pop();
                let levels = opened.as_ref().map_or(0, |it| it.levels);
                if token.token == Token::RBracket
                    && levels < LEVELS_MAX
                    && let Some(Open { at, for_at: Some(for_at), .. }) = opened
                    && let Some(parts) = parts(&list[at..], for_at - at)
                {
                    let begin = list[at].span;
                    list.truncate(at);
                    list.extend(call(parts, begin, token.span));
                    note_levels(&mut open, levels + 1);
                    continue;
                }
                note_levels(&mut open, levels);
            }
            _ if is_word(&token, Keyword::FOR) => {
                if let Some(innermost) = open.last_mut() {
                    innermost.for_at = innermost.for_at.or(Some(list.len()));
                }
            }
            _ => {}
        }
        list.push(token);
    }
    list
}

/// Notes how many levels there are in the innermost that is open.
fn note_levels(open: &mut [Open], levels: usize) {
    if let Some(innermost) = open.last_mut() {
        innermost.levels = innermost.levels.max(levels);
    }
}

/// The parts of `[element FOR name [, name] IN list [IF condition]` (the bracket at its end apart).
fn parts(tokens: &[TokenWithSpan], for_at: usize) -> Option<Parts> {
    let element = tokens.get(1..for_at).filter(|it| !it.is_empty())?;
    let rest = tokens.get(for_at + 1..)?;
    let names = rest.iter().position(|it| is_word(it, Keyword::IN)).filter(|it| *it <= 3)?;
    let (names, rest) = (&rest[..names], &rest[names + 1..]);
    let is_name = |it: &TokenWithSpan| matches!(it.token, Token::Word(_));
    let is_names = match names {
        [name] => is_name(name),
        [name, comma, index] => is_name(name) && comma.token == Token::Comma && is_name(index),
        _ => false,
    };
    // A list may begin with a call of the function IF.
    let end = first_if(rest);
    let list = rest.get(..end.unwrap_or(rest.len())).filter(|it| !it.is_empty())?;
    let condition = end.map(|it| rest[it + 1..].to_vec());
    is_names.then(|| Parts {
        element: element.to_vec(),
        names: names.to_vec(),
        list: list.to_vec(),
        condition,
    })
}

/// The position of the first IF outside of parentheses, brackets and braces, except one at the
/// begin.
fn first_if(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0_usize;
    tokens.iter().enumerate().find_map(|(index, token)| {
        match token.token {
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::RParen | Token::RBracket | Token::RBrace => depth = depth.saturating_sub(1),
            _ => {}
        }
        (index > 0 && depth == 0 && is_word(token, Keyword::IF)).then_some(index)
    })
}

fn call(parts: Parts, begin: Span, end: Span) -> Vec<TokenWithSpan> {
    let Parts { element, names, list, condition } = parts;
    let names_only = names.clone();
    let lambda = |names: Vec<TokenWithSpan>, body| lambda(names, body, begin);
    match condition {
        None => function("list_transform", list, lambda(names, element), (begin, end)),
        Some(condition) if names.len() == 1 => {
            let filtered = lambda(names, condition);
            let kept = function("list_filter", list, filtered, (begin, end));
            function("list_transform", kept, lambda(names_only, element), (begin, end))
        }
        Some(condition) => {
            let field = |name: &str| {
                let name = Token::SingleQuotedString(name.to_owned());
                [name, Token::Colon].map(|token| TokenWithSpan { token, span: begin })
            };
            let mut both = vec![TokenWithSpan { token: Token::LBrace, span: begin }];
            both.extend(field("keep"));
            both.extend(condition);
            both.push(TokenWithSpan { token: Token::Comma, span: begin });
            both.extend(field("value"));
            both.extend(element);
            both.push(TokenWithSpan { token: Token::RBrace, span: end });
            let first = names_only.first().cloned();
            let part = |name: &str| {
                let part = [Token::Period, Token::make_word(name, None)];
                let part = part.map(|token| TokenWithSpan { token, span: begin });
                let name: Vec<TokenWithSpan> = first.iter().cloned().collect();
                lambda(name.clone(), name.into_iter().chain(part).collect())
            };
            let made = function("list_transform", list, lambda(names, both), (begin, end));
            let kept = function("list_filter", made, part("keep"), (begin, end));
            function("list_transform", kept, part("value"), (begin, end))
        }
    }
}

/// `name(list, lambda)`.
fn function(
    name: &str,
    list: Vec<TokenWithSpan>,
    lambda: Vec<TokenWithSpan>,
    (begin, end): (Span, Span),
) -> Vec<TokenWithSpan> {
    let name = TokenWithSpan { token: Token::make_word(name, None), span: begin };
    let mut call = vec![name, TokenWithSpan { token: Token::LParen, span: begin }];
    call.extend(list);
    call.push(TokenWithSpan { token: Token::Comma, span: begin });
    call.extend(lambda);
    call.push(TokenWithSpan { token: Token::RParen, span: end });
    call
}

fn lambda(names: Vec<TokenWithSpan>, body: Vec<TokenWithSpan>, begin: Span) -> Vec<TokenWithSpan> {
    let mut lambda = vec![keyword(Keyword::LAMBDA, begin)];
    lambda.extend(names);
    lambda.push(TokenWithSpan { token: Token::Colon, span: begin });
    lambda.extend(body);
    lambda
}
