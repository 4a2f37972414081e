//! `LIMIT 10 PERCENT`, `LIMIT 10%` and `LIMIT 3 WITH TIES`, which the parser does not know, as
//! calls of functions that SQL cannot name.

use super::tokens::is_word;
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Span, Token, TokenWithSpan, Word},
};

/// The call that represents a share of all rows.
pub(crate) const LIMIT_PERCENT: &str = " percent";

/// The call that represents WITH TIES.
pub(crate) const LIMIT_WITH_TIES: &str = " with ties";

/// The most tokens of an amount in parentheses that is PERCENT or WITH TIES: each LIMIT inspects as
/// many, also those within one another.
const AMOUNT_TOKENS_MAX: usize = 2000;

/// Puts calls around amounts of LIMIT.
pub(super) fn with_limit_calls(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|it| is_word(it, Keyword::LIMIT)) {
        return tokens;
    }
    let mut list = Vec::with_capacity(tokens.len());
    let mut rest = tokens.as_slice();
    while let [token, after @ ..] = rest {
        list.push(token.clone());
        rest = after;
        if !is_word(token, Keyword::LIMIT) {
            continue;
        }
        let amount = amount_len(after);
        let (written, behind) = after.split_at(amount);
        let percent = percent_len(behind);
        let is_percent = percent > 0;
        let ties = behind.get(percent..).unwrap_or_default();
        let has_ties = matches!(ties, [with, ties, ..]
            if is_word(with, Keyword::WITH) && is_word(ties, Keyword::TIES));
        if amount == 0 || !(is_percent || has_ties) {
            continue;
        }
        let calls = [(has_ties, LIMIT_WITH_TIES), (is_percent, LIMIT_PERCENT)];
        let calls = calls.into_iter().filter(|it| it.0);
        for (_, name) in calls.clone() {
            list.extend([called(name, token.span), at(Token::LParen, token.span)]);
        }
        list.extend_from_slice(written);
        list.extend(calls.map(|_| at(Token::RParen, token.span)));
        rest = ties.get(if has_ties { 2 } else { 0 }..).unwrap_or_default();
    }
    list
}

/// How many tokens an amount takes: a number, or something in parentheses.
fn amount_len(tokens: &[TokenWithSpan]) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().take(AMOUNT_TOKENS_MAX) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth == 0 => return 0,
            Token::RParen => depth -= 1,
            Token::Number(..) => {}
            _ if depth > 0 => {}
            _ => return 0,
        }
        if depth == 0 {
            return index + 1;
        }
    }
    0
}

/// How many tokens say PERCENT: one, or none. `10 % 3` is an expression.
fn percent_len(tokens: &[TokenWithSpan]) -> usize {
    let is_percent = match tokens {
        [sign, next, ..] if sign.token == Token::Mod => {
            let ends = matches!(next.token, Token::RParen | Token::SemiColon | Token::EOF);
            ends || is_word(next, Keyword::OFFSET) || is_word(next, Keyword::WITH)
        }
        [sign] => sign.token == Token::Mod || is_word(sign, Keyword::PERCENT),
        [word, ..] => is_word(word, Keyword::PERCENT),
        [] => false,
    };
    usize::from(is_percent)
}

fn called(name: &str, span: Span) -> TokenWithSpan {
    let value = name.to_owned();
    at(Token::Word(Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword }), span)
}

fn at(token: Token, span: Span) -> TokenWithSpan {
    TokenWithSpan { token, span }
}
