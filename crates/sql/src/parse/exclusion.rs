//! `EXCLUDE ...` of frames, which the parser does not know: removed from the tokens, and stored by
//! the position of the window's name. A window without a name gets an empty one.

use super::tokens::{is_word, place};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan, Word},
};
use std::collections::HashMap;
use volley_function::Exclusion;

/// By the line and column of a window's name: what its frames exclude.
pub(super) type Exclusions = HashMap<(u64, u64), Exclusion>;

/// Takes `EXCLUDE CURRENT ROW`, `GROUP`, `TIES` and `NO OTHERS` at the end of windows out.
pub(super) fn take_out_exclusions(tokens: Vec<TokenWithSpan>) -> (Vec<TokenWithSpan>, Exclusions) {
    let mut exclusions = Exclusions::new();
    if !tokens.iter().any(|it| is_word(it, Keyword::EXCLUDE)) {
        return (tokens, exclusions);
    }
    let mut list: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut open: Vec<usize> = Vec::new();
    let mut rest = tokens.as_slice();
    while let [token, after @ ..] = rest {
        rest = after;
        match token.token {
            Token::LParen => open.push(list.len()),
            Token::RParen => {
                open.pop();
            }
            _ => {}
        }
        if list.last().is_some_and(ends_frame)
            && let Some((exclusion, words)) = exclusion(token, after)
            && let Some(start) = open.last()
        {
            let name = window_name(&mut list, *start, token);
            exclusions.insert(name, exclusion);
            rest = after.get(words..).unwrap_or_default();
            continue;
        }
        list.push(token.clone());
    }
    (list, exclusions)
}

/// Whether a frame may end with this token.
fn ends_frame(token: &TokenWithSpan) -> bool {
    [Keyword::ROW, Keyword::PRECEDING, Keyword::FOLLOWING].iter().any(|it| is_word(token, *it))
}

/// What is excluded by `token` and those after it, and by how many of those.
fn exclusion(token: &TokenWithSpan, after: &[TokenWithSpan]) -> Option<(Exclusion, usize)> {
    if !is_word(token, Keyword::EXCLUDE) {
        return None;
    }
    let text = |index: usize| match after.get(index).map(|it| &it.token) {
        Some(Token::Word(word)) => word.value.to_ascii_lowercase(),
        Some(Token::RParen) => ")".to_owned(),
        _ => String::new(),
    };
    match (text(0).as_str(), text(1).as_str(), text(2).as_str()) {
        ("group", ")", _) => Some((Exclusion::Group, 1)),
        ("ties", ")", _) => Some((Exclusion::Ties, 1)),
        ("current", "row", ")") => Some((Exclusion::CurrentRow, 2)),
        ("no", "others", ")") => Some((Exclusion::NoOthers, 2)),
        _ => None,
    }
}

/// The place of the name of the window that opens at `open`; where it has none, an empty one is
/// put in, at the place of `marker`.
fn window_name(list: &mut Vec<TokenWithSpan>, open: usize, marker: &TokenWithSpan) -> (u64, u64) {
    if let Some(TokenWithSpan { token: Token::Word(word), span }) = list.get(open + 1)
        && word.keyword == Keyword::NoKeyword
    {
        return place(span.start);
    }
    let empty = Word { value: String::new(), quote_style: Some('"'), keyword: Keyword::NoKeyword };
    list.insert(open + 1, TokenWithSpan { token: Token::Word(empty), span: marker.span });
    place(marker.span.start)
}
