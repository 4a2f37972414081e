//! Statements with rows that are no queries, where a query is expected:
//!
//! ```text
//! FROM (DESCRIBE t)          as   FROM (SELECT * FROM "rows of"('DESCRIBE t'))
//! WITH s AS (SUMMARIZE t)    likewise
//! ```

use super::{
    nested_types::Text,
    tokens::{is_word, keyword},
};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Span, Token, TokenWithSpan},
};

/// The function in FROM that makes the rows of a statement.
pub(crate) const STATEMENT_ROWS: &str = "rows of";

/// What a parenthesis around such a statement follows.
const BEFORE: [Keyword; 3] = [Keyword::FROM, Keyword::JOIN, Keyword::AS];

/// What such statements begin with.
const STATEMENTS: [&str; 4] = ["DESCRIBE", "DESC", "SUMMARIZE", "SHOW"];

/// Rewrites them.
pub(super) fn with_statement_rows(
    tokens: Vec<TokenWithSpan>,
    text: &Text<'_>,
) -> Vec<TokenWithSpan> {
    if !tokens.windows(4).any(begins) {
        return tokens;
    }
    let (mut list, mut index) = (Vec::with_capacity(tokens.len() + 8), 0);
    while let Some(token) = tokens.get(index) {
        list.push(token.clone());
        index += 1;
        if !tokens.get(index - 1..index + 3).is_some_and(begins) {
            continue;
        }
        let Some(end) = closing(&tokens, index) else { continue };
        let (first, last) = (&tokens[index + 1], &tokens[end - 1]);
        let Some(written) = text.slice(first, last) else { continue };
        let span = Span { start: first.span.start, end: last.span.end };
        let of = |token| TokenWithSpan { token, span };
        list.push(tokens[index].clone());
        list.extend([keyword(Keyword::SELECT, span), of(Token::Mul), keyword(Keyword::FROM, span)]);
        list.push(of(Token::make_word(STATEMENT_ROWS, Some('"'))));
        let written = Token::SingleQuotedString(written.to_owned());
        list.extend([Token::LParen, written, Token::RParen].map(of));
        index = end;
    }
    list
}

/// Whether a statement in parentheses follows the first token.
fn begins(tokens: &[TokenWithSpan]) -> bool {
    let [before, open, first, second] = tokens else { return false };
    let is_statement = matches!(&first.token, Token::Word(word)
        if word.quote_style.is_none()
            && STATEMENTS.iter().any(|it| word.value.eq_ignore_ascii_case(it)));
    let goes_on =
        matches!(second.token, Token::Word(_) | Token::SingleQuotedString(_) | Token::LParen);
    let may_follow = BEFORE.iter().any(|it| is_word(before, *it));
    may_follow && open.token == Token::LParen && is_statement && goes_on
}

/// Where the parenthesis that opens at `open` is closed.
fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(index);
        }
    }
    None
}
