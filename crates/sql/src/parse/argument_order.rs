//! `f(ORDER BY x)`, which the parser only accepts with an argument: an empty one represents none.

use super::tokens::{is_name, is_word};
use sqlparser::{
    ast::{Expr, FunctionArg, FunctionArgExpr},
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

/// Adds the arguments.
pub(super) fn with_no_arguments(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let lacks_argument = |before: &[TokenWithSpan], rest: &[TokenWithSpan]| match (before, rest) {
        ([.., name, open], [order, by, ..]) => {
            open.token == Token::LParen
                && is_name(name)
                && is_word(order, Keyword::ORDER)
                && is_word(by, Keyword::BY)
                && !is_word(name, Keyword::OVER)
        }
        _ => false,
    };
    let lacking: Vec<usize> = (2..tokens.len())
        .filter(|it| {
            let (before, rest) = tokens.split_at(*it);
            lacks_argument(before, rest)
        })
        .collect();
    if lacking.is_empty() {
        return tokens;
    }
    let mut list = Vec::with_capacity(tokens.len() + lacking.len());
    let mut lacking = lacking.into_iter().peekable();
    for (index, token) in tokens.into_iter().enumerate() {
        if lacking.next_if_eq(&index).is_some() {
            list.push(TokenWithSpan { token: Token::make_word("", None), span: token.span });
        }
        list.push(token);
    }
    list
}

/// Whether an argument represents none.
pub(crate) fn is_no_argument(arg: &FunctionArg) -> bool {
    matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(name)))
        if name.value.is_empty() && name.quote_style.is_none())
}
