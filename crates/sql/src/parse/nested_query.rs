//! Queries that begin with a query in parentheses and continue, where an expression is expected:
//!
//! ```text
//! x = ANY ((SELECT 1) UNION SELECT 2)   as   x = ANY (SELECT * FROM (SELECT 1) UNION SELECT 2)
//! ((SELECT a ...) ORDER BY a LIMIT 1)   as   (SELECT * FROM (SELECT a ...) ORDER BY a LIMIT 1)
//! ```

use super::tokens::{is_at, is_name, is_word, keyword};
use sqlparser::{
    keywords::Keyword,
    tokenizer::{Token, TokenWithSpan},
};

/// How a query continues after a query in parentheses.
const GOES_ON: [Keyword; 7] = [
    Keyword::UNION,
    Keyword::EXCEPT,
    Keyword::INTERSECT,
    Keyword::ORDER,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::FETCH,
];

/// What a parenthesis follows where the parser takes such a query.
const UNDERSTOOD: [Keyword; 7] = [
    Keyword::FROM,
    Keyword::JOIN,
    Keyword::IN,
    Keyword::UNION,
    Keyword::EXCEPT,
    Keyword::INTERSECT,
    Keyword::AS,
];

/// Words that may be names, but call nothing here.
const NO_CALLS: [Keyword; 7] = [
    Keyword::ALL,
    Keyword::ANY,
    Keyword::CASE,
    Keyword::DISTINCT,
    Keyword::LIKE,
    Keyword::NOT,
    Keyword::SOME,
];

/// Rewrites them.
pub(super) fn with_nested_queries(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_open = |index: usize| tokens.get(index).is_some_and(|it| it.token == Token::LParen);
    if !(1..tokens.len()).any(|it| is_open(it) && is_open(it + 1)) {
        return tokens;
    }
    let (closing, begins_query) = (closing_parentheses(&tokens), query_begins(&tokens));
    let is_rewritten = |index: usize| {
        is_open(index)
            && index.checked_sub(1).is_some_and(|it| comes_before(&tokens[it]))
            && is_open(index + 1)
            && begins_query[index + 1]
            && GOES_ON.iter().any(|it| is_at(&tokens, closing[index + 1] + 1, *it))
    };
    let rewritten: Vec<bool> = (0..tokens.len()).map(is_rewritten).collect();
    let mut list = Vec::with_capacity(tokens.len());
    for (token, is_rewritten) in tokens.into_iter().zip(rewritten) {
        let span = token.span;
        list.push(token);
        if is_rewritten {
            list.push(keyword(Keyword::SELECT, span));
            list.push(TokenWithSpan { token: Token::Mul, span });
            list.push(keyword(Keyword::FROM, span));
        }
    }
    list
}

/// Whether an expression may follow that the parser would not take for a query.
fn comes_before(token: &TokenWithSpan) -> bool {
    let is_one_of = |words: &[Keyword]| words.iter().any(|it| is_word(token, *it));
    let is_called = is_name(token) && !is_one_of(&NO_CALLS);
    token.token != Token::SemiColon && !is_called && !is_one_of(&UNDERSTOOD)
}

/// For each token whether it is SELECT or WITH, or an open parenthesis before one, perhaps after
/// others.
fn query_begins(tokens: &[TokenWithSpan]) -> Vec<bool> {
    let mut begins = vec![false; tokens.len()];
    let mut is_query = false;
    for (token, begins) in tokens.iter().zip(&mut begins).rev() {
        if token.token != Token::LParen {
            is_query = is_word(token, Keyword::SELECT) || is_word(token, Keyword::WITH);
        }
        *begins = is_query;
    }
    begins
}

/// For each open parenthesis, where it is closed; elsewhere and for others the number of tokens.
fn closing_parentheses(tokens: &[TokenWithSpan]) -> Vec<usize> {
    let (mut closing, mut open) = (vec![tokens.len(); tokens.len()], Vec::new());
    for (index, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen => open.push(index),
            Token::RParen => {
                if let Some(start) = open.pop() {
                    closing[start] = index;
                }
            }
            _ => {}
        }
    }
    closing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{dialect::VolleyDialect, parse::parse};
    use sqlparser::tokenizer::Tokenizer;
    use volley_error::ErrorKind;

    fn tokens(sql: &str) -> Vec<TokenWithSpan> {
        let mut tokens = Tokenizer::new(&VolleyDialect, sql).tokenize_with_location().unwrap();
        tokens.retain(|it| !matches!(it.token, Token::Whitespace(_)));
        tokens
    }

    #[track_caller]
    fn check(sql: &str, expected: &str) {
        let texts = |tokens: Vec<TokenWithSpan>| {
            tokens.iter().map(|it| it.token.to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(texts(with_nested_queries(tokens(sql))), texts(tokens(expected)));
    }

    #[test]
    fn queries_that_go_on_behind_parentheses_become_tables() {
        check(
            "x = ANY ((SELECT 1) UNION SELECT 2)",
            "x = ANY (SELECT * FROM (SELECT 1) UNION SELECT 2)",
        );
        check(
            "1 + ((((WITH t AS (SELECT 1) FROM t))) LIMIT 1)",
            "1 + (SELECT * FROM (((WITH t AS (SELECT 1) FROM t))) LIMIT 1)",
        );
        for same in ["1 + ((SELECT 1))", "1 + ((a) LIMIT 1)", "f((SELECT 1) LIMIT 1)", "1 + (("] {
            check(same, same);
        }
    }

    #[test]
    fn deep_parentheses_are_refused_fast() {
        // Each parenthesis looked at for each would take ten billion steps.
        let sql = format!("select {}", "(".repeat(200_000));
        assert_eq!(parse(&sql).unwrap_err().kind(), ErrorKind::Syntax);
        let list = tokens(&sql);
        assert_eq!(with_nested_queries(list).len(), 200_001);
    }
}
