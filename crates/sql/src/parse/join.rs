//! Joins that the parser does not know, rewritten to joins that it knows.

use super::tokens::{ends_operand, is_at, is_word, keyword};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Span, Token, TokenWithSpan},
};
use std::collections::HashSet;

/// `POSITIONAL JOIN` as `GLOBAL STRAIGHT_JOIN`, which the parser knows and which is not otherwise
/// used.
pub(super) fn with_positional(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let begins = |it: &usize| is_positional(&tokens, *it);
    let begins: HashSet<usize> = (0..tokens.len()).filter(begins).collect();
    if begins.is_empty() {
        return tokens;
    }
    let tokens = tokens.into_iter().enumerate();
    let word = |(index, token): (usize, TokenWithSpan)| {
        if begins.contains(&index) {
            keyword(Keyword::GLOBAL, token.span)
        } else if index.checked_sub(1).is_some_and(|it| begins.contains(&it)) {
            keyword(Keyword::STRAIGHT_JOIN, token.span)
        } else {
            token
        }
    };
    tokens.map(word).collect()
}

/// Whether POSITIONAL JOIN is at the token, after a table.
fn is_positional(tokens: &[TokenWithSpan], at: usize) -> bool {
    let is_word_here = matches!(&tokens[at].token, Token::Word(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("positional"));
    let is_join = is_word_here && is_at(tokens, at + 1, Keyword::JOIN);
    let before = at.checked_sub(1).and_then(|it| tokens.get(it)).filter(|_| is_join);
    before.is_some_and(|it| ends_operand(it) && !is_word(it, Keyword::JOIN))
}

/// `ASOF LEFT JOIN t ON ...` as `ASOF JOIN t MATCH_CONDITION ('left') ON ...`, which the parser
/// knows; a condition that is a string is none that anybody would write.
pub(super) fn with_asof(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|it| is_word(it, Keyword::ASOF)) {
        return tokens;
    }
    let mut list: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // The joins whose ON has not come: how many parentheses they are in, and their kind.
    let mut open: Vec<(usize, String, Span)> = Vec::new();
    let (mut depth, mut skip) = (0_usize, 0_usize);
    for (index, token) in tokens.iter().enumerate() {
        if skip > 0 {
            skip -= 1;
            continue;
        }
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::SemiColon => open.clear(),
            _ => {}
        }
        // Inner ones come after outer ones.
        while open.pop_if(|it| it.0 > depth).is_some() {}
        let is_of_join = open.last().is_some_and(|it| it.0 == depth);
        if is_of_join && is_word(token, Keyword::MATCH_CONDITION) {
            open.pop();
        } else if is_of_join
            && (is_word(token, Keyword::ON) || is_word(token, Keyword::USING))
            && let Some((_, kind, span)) = open.pop()
        {
            let at = |token: Token| TokenWithSpan { token, span };
            list.push(keyword(Keyword::MATCH_CONDITION, span));
            list.extend([Token::LParen, Token::SingleQuotedString(kind), Token::RParen].map(at));
        }
        list.push(token.clone());
        if is_word(token, Keyword::ASOF)
            && let Some((kind, words)) = asof_kind(&tokens[index + 1..])
        {
            open.push((depth, kind, token.span));
            skip = words;
        }
    }
    list
}

/// The kind of an ASOF join before the word JOIN, and how many words say so.
fn asof_kind(tokens: &[TokenWithSpan]) -> Option<(String, usize)> {
    const KINDS: [Keyword; 6] = [
        Keyword::INNER,
        Keyword::LEFT,
        Keyword::RIGHT,
        Keyword::FULL,
        Keyword::SEMI,
        Keyword::ANTI,
    ];
    let kind = KINDS.iter().find(|it| is_at(tokens, 0, **it));
    let words = match kind {
        Some(_) if is_at(tokens, 1, Keyword::OUTER) => 2,
        Some(_) => 1,
        None => 0,
    };
    let kind = kind.map_or("inner".to_owned(), |it| format!("{it:?}").to_ascii_lowercase());
    is_at(tokens, words, Keyword::JOIN).then_some((kind, words))
}
