//! `CALL f(x)`, which the parser reads as a call of a procedure, as `SELECT * FROM f(x)`.

use super::tokens::{is_word, keyword};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

/// Rewrites statements that begin with CALL, also behind EXPLAIN.
pub(super) fn with_calls_of_tables(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|it| is_word(it, Keyword::CALL)) {
        return tokens;
    }
    let mut list: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 2);
    for (index, token) in tokens.iter().enumerate() {
        let begins = list.last().is_none_or(|it| {
            it.token == Token::SemiColon
                || is_word(it, Keyword::EXPLAIN)
                || is_word(it, Keyword::ANALYZE)
        });
        let is_called = || {
            let after = tokens.get(index + 1..).unwrap_or_default().iter();
            let mut after =
                after.skip_while(|it| matches!(it.token, Token::Word(_) | Token::Period));
            after.next().is_some_and(|it| it.token == Token::LParen)
        };
        if begins && is_word(token, Keyword::CALL) && is_called() {
            list.push(keyword(Keyword::SELECT, token.span));
            list.push(TokenWithSpan { token: Token::Mul, span: token.span });
            list.push(keyword(Keyword::FROM, token.span));
        } else {
            list.push(token.clone());
        }
    }
    list
}
