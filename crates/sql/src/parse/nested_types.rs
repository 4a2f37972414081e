//! Nested types as they are shown: `ARRAY(T)`, `ARRAY(T, n)`, `MAP(K, V)`, `ROW(a T, ...)`; and
//! `MAP<K, V>`.
//!
//! The parser knows only some of these words as types, and takes words and strings, but no types,
//! within the parentheses of types that it does not know. Where a type is expected, the parts
//! within the parentheses therefore become strings, which the binder reads as types again:
//!
//! ```text
//! CAST(x AS ARRAY(ROW(a BIGINT), 2))   as   CAST(x AS ARRAY('ROW(a BIGINT)', '2'))
//! ```

use super::tokens::is_word;
use crate::position::Positions;
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan, Word},
};
use std::{collections::BTreeSet, ops::Range};

/// Types nested more deeply are left as they are.
const NESTING_MAX: usize = 100;

/// What an open parenthesis belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Parenthesis {
    Cast,
    /// The columns of a new table.
    Columns,
    Other,
}

/// The text that tokens come from.
pub(super) struct Text<'a> {
    pub(super) sql: &'a str,
    pub(super) positions: &'a Positions,
}

impl Text<'_> {
    /// What is written from one token to the end of another.
    pub(super) fn slice(&self, first: &TokenWithSpan, last: &TokenWithSpan) -> Option<&str> {
        let start = self.positions.offset(first.span.start)? as usize;
        let end = self.positions.offset(last.span.end)? as usize;
        self.sql.get(start..end)
    }
}

/// Makes strings of the parts of nested types in a statement.
pub(super) fn with_nested_types(tokens: Vec<TokenWithSpan>, text: &Text<'_>) -> Vec<TokenWithSpan> {
    if !(0..tokens.len()).any(|it| is_angled_map(&tokens, it) || is_nested_type(&tokens, it)) {
        return tokens;
    }
    let starts = type_starts(&tokens);
    replaced(&tokens, &starts, text)
}

/// Makes strings of the parts of a nested type.
pub(super) fn with_nested_type(tokens: &[TokenWithSpan], text: &Text<'_>) -> Vec<TokenWithSpan> {
    replaced(tokens, &BTreeSet::from([0]), text)
}

/// The tokens, with types that begin at `starts` changed.
fn replaced(
    tokens: &[TokenWithSpan],
    starts: &BTreeSet<usize>,
    text: &Text<'_>,
) -> Vec<TokenWithSpan> {
    let mut list = Vec::with_capacity(tokens.len());
    let mut at = 0;
    // Whether a type begins within the angle brackets of another one.
    let mut is_within = false;
    while let Some(token) = tokens.get(at) {
        let begins = std::mem::take(&mut is_within) || starts.contains(&at);
        if begins && is_at(tokens, at, Keyword::ARRAY) && is_token(tokens, at + 1, &Token::Lt) {
            list.extend_from_slice(&tokens[at..at + 2]);
            at += 2;
            is_within = true;
        } else if let Some((new, end)) = begins.then(|| angled_map(tokens, at, text)).flatten() {
            list.extend(new);
            at = end;
        } else if let Some((new, end)) = begins.then(|| nested_type(tokens, at, text)).flatten() {
            list.extend(new);
            at = end;
        } else {
            list.push(token.clone());
            at += 1;
        }
    }
    list
}

/// The nested type at `at`, with strings as its parts, and where it ends.
fn nested_type(
    tokens: &[TokenWithSpan],
    at: usize,
    text: &Text<'_>,
) -> Option<(Vec<TokenWithSpan>, usize)> {
    if !is_nested_type(tokens, at) {
        return None;
    }
    let (parts, end) = parts(tokens, at + 2)?;
    let (name, open) = (&tokens[at], &tokens[at + 1]);
    let Token::Word(word) = &name.token else { return None };
    // Not a keyword: the parser takes it for the name of a type.
    let word = Word { keyword: Keyword::NoKeyword, ..word.clone() };
    let mut list = vec![TokenWithSpan { token: Token::Word(word), span: name.span }, open.clone()];
    for part in parts {
        let (first, last) = (tokens.get(part.start)?, tokens.get(part.end.checked_sub(1)?)?);
        let written = text.slice(first, last)?.to_owned();
        list.push(TokenWithSpan { token: Token::SingleQuotedString(written), span: first.span });
        list.push(TokenWithSpan { token: Token::Comma, span: last.span });
    }
    list.pop();
    list.push(tokens.get(end.checked_sub(1)?)?.clone());
    Some((list, end))
}

/// `MAP<K, V>` at `at`, with strings as its parts, and where it ends. Where `>>` ends it and the
/// type around it, a `>` is left for that one.
fn angled_map(
    tokens: &[TokenWithSpan],
    at: usize,
    text: &Text<'_>,
) -> Option<(Vec<TokenWithSpan>, usize)> {
    if !is_angled_map(tokens, at) {
        return None;
    }
    let (name, first) = (tokens.get(at)?, at + 2);
    let AngleEnd { comma, end, is_shared, is_halved } = angle_end(tokens, first)?;
    let key = text.slice(tokens.get(first)?, tokens.get(comma - 1)?)?;
    let last = if is_halved { end } else { end - 1 };
    let value = text.slice(tokens.get(comma + 1)?, tokens.get(last)?)?;
    let value = if is_halved { value.strip_suffix('>')? } else { value };
    let string = |it: &str| Token::SingleQuotedString(it.to_owned());
    let word = Word { value: "MAP".into(), quote_style: None, keyword: Keyword::NoKeyword };
    let mut new = vec![Token::Word(word), Token::LParen, string(key), Token::Comma];
    new.extend([string(value), Token::RParen]);
    new.extend(is_shared.then_some(Token::Gt));
    let placed = |token: Token| TokenWithSpan { token, span: name.span };
    Some((new.into_iter().map(placed).collect(), end + 1))
}

/// Where `K, V>` ends.
struct AngleEnd {
    comma: usize,
    end: usize,
    /// The end is a `>>` whose second half ends the type around.
    is_shared: bool,
    /// The end is a `>>` whose first half ends a type within.
    is_halved: bool,
}

fn angle_end(tokens: &[TokenWithSpan], first: usize) -> Option<AngleEnd> {
    let (mut depth, mut comma) = (0_usize, None);
    for (end, token) in tokens.iter().enumerate().skip(first) {
        let mut closed = 0;
        match token.token {
            Token::LParen | Token::Lt => depth += 1,
            Token::Comma if depth == 0 && comma.is_none() => comma = Some(end),
            Token::RParen => depth = depth.checked_sub(1)?,
            Token::Gt => closed = 1,
            Token::ShiftRight => closed = 2,
            Token::SemiColon => return None,
            _ => {}
        }
        if closed > depth {
            let (is_shared, is_halved) = (closed == 2 && depth == 0, depth == 1);
            return Some(AngleEnd { comma: comma?, end, is_shared, is_halved });
        }
        depth -= closed;
        if depth > NESTING_MAX {
            return None;
        }
    }
    None
}

/// Whether `MAP<` begins here.
fn is_angled_map(tokens: &[TokenWithSpan], at: usize) -> bool {
    is_at(tokens, at, Keyword::MAP) && is_token(tokens, at + 1, &Token::Lt)
}

/// The parts between commas from `first` to the closing parenthesis, and where that ends. `None`
/// for an empty part, and if there is no such parenthesis.
fn parts(tokens: &[TokenWithSpan], first: usize) -> Option<(Vec<Range<usize>>, usize)> {
    let (mut parts, mut start, mut depth) = (Vec::new(), first, 0_usize);
    for (at, token) in tokens.iter().enumerate().skip(first) {
        match token.token {
            Token::LParen | Token::Lt => depth += 1,
            Token::ShiftRight => depth = depth.checked_sub(2)?,
            Token::Gt => depth = depth.checked_sub(1)?,
            Token::Comma | Token::RParen if depth == 0 => {
                if start == at {
                    return None;
                }
                parts.push(start..at);
                start = at + 1;
                if token.token == Token::RParen {
                    return Some((parts, start));
                }
            }
            Token::RParen => depth -= 1,
            Token::SemiColon => return None,
            _ => {}
        }
        if depth > NESTING_MAX {
            return None;
        }
    }
    None
}

/// Whether a type of this kind would begin here: its name and a parenthesis.
fn is_nested_type(tokens: &[TokenWithSpan], at: usize) -> bool {
    const NAMES: [&str; 3] = ["ARRAY", "MAP", "ROW"];
    let is_name = tokens.get(at).is_some_and(|it| {
        matches!(&it.token, Token::Word(word) if word.quote_style.is_none()
            && NAMES.iter().any(|name| word.value.eq_ignore_ascii_case(name)))
    });
    is_name && is_token(tokens, at + 1, &Token::LParen)
}

/// Where types begin: after `::`, after the AS of a cast, and after the names of new columns.
fn type_starts(tokens: &[TokenWithSpan]) -> BTreeSet<usize> {
    let mut starts = BTreeSet::new();
    let mut open = Vec::new();
    let mut columns_at = None;
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::DoubleColon => _ = starts.insert(at + 1),
            Token::LParen => {
                let is_cast = at.checked_sub(1).is_some_and(|before| {
                    [Keyword::CAST, Keyword::TRY_CAST].iter().any(|it| is_at(tokens, before, *it))
                });
                open.push(match columns_at == Some(at) {
                    true => Parenthesis::Columns,
                    false if is_cast => Parenthesis::Cast,
                    false => Parenthesis::Other,
                });
            }
            Token::RParen => _ = open.pop(),
            Token::SemiColon => open.clear(),
            Token::Word(word) if word.quote_style.is_none() => match word.keyword {
                Keyword::AS if open.last() == Some(&Parenthesis::Cast) => {
                    starts.insert(at + 1);
                }
                Keyword::TABLE => columns_at = columns_of_table(tokens, at),
                _ => {}
            },
            _ => {}
        }
        let begins_column = matches!(token.token, Token::LParen | Token::Comma);
        if begins_column && open.last() == Some(&Parenthesis::Columns) {
            starts.insert(at + 2);
        }
    }
    starts
}

/// The position of the parenthesis of the columns, after a TABLE that is created.
fn columns_of_table(tokens: &[TokenWithSpan], table: usize) -> Option<usize> {
    const BEFORE: [Keyword; 4] =
        [Keyword::CREATE, Keyword::REPLACE, Keyword::TEMP, Keyword::TEMPORARY];
    let before = table.checked_sub(1)?;
    if !BEFORE.iter().any(|it| is_at(tokens, before, *it)) {
        return None;
    }
    let mut at = table + 1;
    for word in [Keyword::IF, Keyword::NOT, Keyword::EXISTS] {
        at += usize::from(is_at(tokens, at, word));
    }
    while is_token(tokens, at + 1, &Token::Period) {
        at += 2;
    }
    Some(at + 1)
}

fn is_at(tokens: &[TokenWithSpan], at: usize, keyword: Keyword) -> bool {
    tokens.get(at).is_some_and(|it| is_word(it, keyword))
}

fn is_token(tokens: &[TokenWithSpan], at: usize, wanted: &Token) -> bool {
    tokens.get(at).is_some_and(|it| it.token == *wanted)
}
