//! Presto's options of EXPLAIN.
//!
//! ```text
//! EXPLAIN (TYPE LOGICAL, FORMAT TEXT) statement     the plan
//! EXPLAIN (TYPE VALIDATE) statement                 whether it can be bound
//! ```

use super::command::Parsed;
use sqlparser::{
    parser::{Parser, ParserError},
    tokenizer::Token,
};

/// Reads the options, if there are any; whether the statement is only to be checked.
pub(super) fn explain_options(parser: &mut Parser<'_>) -> Parsed<bool> {
    // What else begins with a parenthesis is a query.
    let is_option = |token: &Token| match token {
        Token::Word(word) => {
            ["TYPE", "FORMAT"].iter().any(|it| word.value.eq_ignore_ascii_case(it))
        }
        _ => false,
    };
    let has_options = parser.peek_token_ref().token == Token::LParen
        && is_option(&parser.peek_nth_token_ref(1).token);
    if !has_options {
        return Ok(false);
    }
    parser.expect_token(&Token::LParen)?;
    let options = parser.parse_comma_separated(option)?;
    parser.expect_token(&Token::RParen)?;
    Ok(options.contains(&true))
}

/// `TYPE kind` or `FORMAT name`; whether it is TYPE VALIDATE.
fn option(parser: &mut Parser<'_>) -> Parsed<bool> {
    let name = parser.parse_identifier()?.value.to_ascii_uppercase();
    let token = parser.peek_token();
    let value = parser.parse_identifier()?.value.to_ascii_uppercase();
    let refused = |why: &str| {
        let place = token.span.start;
        let message = format!("EXPLAIN ({name} {value}) {why}{place}");
        Err(ParserError::ParserError(message))
    };
    match (name.as_str(), value.as_str()) {
        ("TYPE", "VALIDATE") => Ok(true),
        ("TYPE", "LOGICAL") | ("FORMAT", "TEXT") => Ok(false),
        ("TYPE", "DISTRIBUTED") => refused("has no meaning: plans run in one process"),
        ("TYPE", "IO") => refused("is not supported; EXPLAIN shows the tables that are read"),
        ("FORMAT", "JSON" | "GRAPHVIZ") => refused("is not supported; plans are shown as text"),
        ("TYPE", _) => parser.expected("LOGICAL or VALIDATE", token),
        ("FORMAT", _) => parser.expected("TEXT", token),
        _ => parser.expected("TYPE or FORMAT", token),
    }
}
