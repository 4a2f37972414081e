//! Options of EXPLAIN, also Presto's.
//!
//! ```text
//! EXPLAIN (ANALYZE, FORMAT HTML) statement          runs it and shows what happened
//! EXPLAIN ANALYZE (FORMAT JSON) statement           the same
//! EXPLAIN (TYPE LOGICAL, FORMAT TEXT) statement     the plan
//! EXPLAIN (TYPE VALIDATE) statement                 whether it can be bound
//! EXPLAIN (TYPE DISTRIBUTED) statement              the fragments of the plan
//! EXPLAIN (DISTRIBUTED) statement                   the same
//! EXPLAIN (SUBOPERATORS, FORMAT SVG) statement      the plan as sub-operators
//! EXPLAIN (TYPE IO) statement                       the tables that it reads and writes
//! ```

use super::command::Parsed;
use crate::ExplainFormat;
use sqlparser::{
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::Token,
};

/// What the options say.
#[derive(Default)]
pub(super) struct ExplainOptions {
    /// ANALYZE.
    pub(super) analyze: bool,
    /// TYPE VALIDATE.
    pub(super) validates: bool,
    /// DISTRIBUTED.
    pub(super) distributed: bool,
    /// SUBOPERATORS.
    pub(super) sub_operators: bool,
    /// TYPE IO.
    pub(super) io: bool,
    /// FORMAT.
    pub(super) format: ExplainFormat,
}

/// Reads the options, if there are any.
pub(super) fn explain_options(parser: &mut Parser<'_>) -> Parsed<ExplainOptions> {
    let mut options = ExplainOptions::default();
    // What else begins with a parenthesis is a query.
    let is_option = |token: &Token| match token {
        Token::Word(word) => {
            let names = ["ANALYZE", "DISTRIBUTED", "SUBOPERATORS", "TYPE", "FORMAT"];
            names.iter().any(|it| word.value.eq_ignore_ascii_case(it))
        }
        _ => false,
    };
    let has_options = parser.peek_token_ref().token == Token::LParen
        && is_option(&parser.peek_nth_token_ref(1).token);
    if !has_options {
        return Ok(options);
    }
    parser.expect_token(&Token::LParen)?;
    parser.parse_comma_separated(|it| option(it, &mut options))?;
    parser.expect_token(&Token::RParen)?;
    Ok(options)
}

/// `ANALYZE [TRUE | FALSE]`, `DISTRIBUTED`, `SUBOPERATORS`, `TYPE kind` or `FORMAT name`.
fn option(parser: &mut Parser<'_>, options: &mut ExplainOptions) -> Parsed<()> {
    let name = parser.parse_identifier()?.value.to_ascii_uppercase();
    if name == "ANALYZE" {
        options.analyze = !parser.parse_keyword(Keyword::FALSE);
        let _ = parser.parse_keyword(Keyword::TRUE);
        return Ok(());
    }
    if name == "SUBOPERATORS" {
        options.sub_operators = true;
        return Ok(());
    }
    if name == "DISTRIBUTED" {
        options.distributed = true;
        return Ok(());
    }
    let token = parser.peek_token();
    let value = parser.parse_identifier()?.value.to_ascii_uppercase();
    let refused = |why: &str| {
        let message = format!("EXPLAIN ({name} {value}) {why}{}", token.span.start);
        Err(ParserError::ParserError(message))
    };
    match (name.as_str(), value.as_str()) {
        ("TYPE", "VALIDATE") => options.validates = true,
        ("TYPE", "DISTRIBUTED") => options.distributed = true,
        ("TYPE", "LOGICAL") => {}
        ("TYPE", "IO") => options.io = true,
        ("FORMAT", "TEXT") => options.format = ExplainFormat::Text,
        ("FORMAT", "JSON") => options.format = ExplainFormat::Json,
        ("FORMAT", "HTML") => options.format = ExplainFormat::Html,
        ("FORMAT", "DOT" | "GRAPHVIZ") => options.format = ExplainFormat::Dot,
        ("FORMAT", "SVG") => options.format = ExplainFormat::Svg,
        ("FORMAT", "TRACE") => options.format = ExplainFormat::Trace,
        ("TYPE", _) => return parser.expected("LOGICAL, DISTRIBUTED, IO or VALIDATE", token),
        ("FORMAT", _) => return refused("is no format: use TEXT, JSON, HTML, DOT, SVG or TRACE"),
        _ => return parser.expected("ANALYZE, DISTRIBUTED, SUBOPERATORS, TYPE or FORMAT", token),
    }
    Ok(())
}
