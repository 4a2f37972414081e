//! Options of EXPLAIN: Presto's, and a short form.
//!
//! ```text
//! EXPLAIN (TYPE LOGICAL, FORMAT TEXT) statement     the plan
//! EXPLAIN (TYPE VALIDATE) statement                 whether it can be bound
//! EXPLAIN (TYPE DISTRIBUTED) statement              the fragments of the plan
//! EXPLAIN (DISTRIBUTED) statement                   the same
//! ```

use super::command::Parsed;
use sqlparser::{
    parser::{Parser, ParserError},
    tokenizer::Token,
};

/// What the options ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExplainOption {
    /// The plan.
    Plan,
    /// The fragments of the plan.
    Distributed,
    /// Whether the statement can be bound.
    Validate,
}

/// Reads the options, if there are any.
pub(super) fn explain_options(parser: &mut Parser<'_>) -> Parsed<ExplainOption> {
    // What else begins with a parenthesis is a query.
    let is_option = |token: &Token| match token {
        Token::Word(word) => {
            ["TYPE", "FORMAT", "DISTRIBUTED"].iter().any(|it| word.value.eq_ignore_ascii_case(it))
        }
        _ => false,
    };
    let has_options = parser.peek_token_ref().token == Token::LParen
        && is_option(&parser.peek_nth_token_ref(1).token);
    if !has_options {
        return Ok(ExplainOption::Plan);
    }
    parser.expect_token(&Token::LParen)?;
    let options = parser.parse_comma_separated(option)?;
    parser.expect_token(&Token::RParen)?;
    let asked = options.into_iter().rev().find(|it| *it != ExplainOption::Plan);
    Ok(asked.unwrap_or(ExplainOption::Plan))
}

/// `TYPE kind`, `FORMAT name` or `DISTRIBUTED`.
fn option(parser: &mut Parser<'_>) -> Parsed<ExplainOption> {
    let name = parser.parse_identifier()?.value.to_ascii_uppercase();
    if name == "DISTRIBUTED" {
        return Ok(ExplainOption::Distributed);
    }
    let token = parser.peek_token();
    let value = parser.parse_identifier()?.value.to_ascii_uppercase();
    let refused = |why: &str| {
        let place = token.span.start;
        let message = format!("EXPLAIN ({name} {value}) {why}{place}");
        Err(ParserError::ParserError(message))
    };
    match (name.as_str(), value.as_str()) {
        ("TYPE", "VALIDATE") => Ok(ExplainOption::Validate),
        ("TYPE", "DISTRIBUTED") => Ok(ExplainOption::Distributed),
        ("TYPE", "LOGICAL") | ("FORMAT", "TEXT") => Ok(ExplainOption::Plan),
        ("TYPE", "IO") => refused("is not supported; EXPLAIN shows the tables that are read"),
        ("FORMAT", "JSON" | "GRAPHVIZ") => refused("is not supported; plans are shown as text"),
        ("TYPE", _) => parser.expected("LOGICAL, DISTRIBUTED or VALIDATE", token),
        ("FORMAT", _) => parser.expected("TEXT", token),
        _ => parser.expected("TYPE, FORMAT or DISTRIBUTED", token),
    }
}
