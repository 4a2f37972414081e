//! CREATE MACRO and CREATE FUNCTION: a name for an expression or a query with parameters.
//!
//! ```text
//! CREATE MACRO f(x, y := 1) AS x + y
//! CREATE MACRO f(x) AS TABLE SELECT ... WHERE a = x
//! CREATE FUNCTION f(x double) RETURNS double RETURN x + 1      Presto's
//! ```

use super::{Source, command::Parsed};
use crate::{MacroDefinition, MacroParameter};
use sqlparser::{ast::ObjectName, keywords::Keyword, parser::Parser, tokenizer::Token};
use volley_error::Span;

/// The parts of CREATE MACRO.
#[derive(Debug)]
pub(crate) struct CreateMacro {
    pub(crate) name: ObjectName,
    pub(crate) or_replace: bool,
    pub(crate) if_not_exists: bool,
    pub(crate) definition: MacroDefinition,
}

/// Whether MACRO or FUNCTION follows after this number of words.
pub(super) fn is_macro(parser: &Parser<'_>, words: usize) -> bool {
    matches!(&parser.peek_nth_token_ref(words).token, Token::Word(word)
        if matches!(word.keyword, Keyword::MACRO | Keyword::FUNCTION))
}

/// Parses the statement at the parser's place.
pub(super) fn create_macro(parser: &mut Parser<'_>, source: &Source) -> Parsed<CreateMacro> {
    parser.expect_keyword(Keyword::CREATE)?;
    let or_replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    let _ = parser.parse_one_of_keywords(&[Keyword::TEMP, Keyword::TEMPORARY]);
    parser.advance_token();
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    parser.expect_token(&Token::LParen)?;
    let mut parameters = Vec::new();
    if !parser.consume_token(&Token::RParen) {
        parameters = parser.parse_comma_separated(|it| parameter(it, source))?;
        parser.expect_token(&Token::RParen)?;
    }
    let (body, is_table) = match parser.parse_keyword(Keyword::RETURNS) {
        true => (returned(parser, source)?, false),
        false => {
            parser.expect_keyword(Keyword::AS)?;
            let is_table = parser.parse_keyword(Keyword::TABLE);
            (body(parser, source, is_table)?, is_table)
        }
    };
    let definition = MacroDefinition { parameters, body, is_table };
    Ok(CreateMacro { name, or_replace, if_not_exists, definition })
}

/// `name [type] [:= default]`.
fn parameter(parser: &mut Parser<'_>, source: &Source) -> Parsed<MacroParameter> {
    let name = parser.parse_identifier()?.value;
    let ends = |parser: &Parser<'_>| {
        matches!(
            parser.peek_token_ref().token,
            Token::Comma | Token::RParen | Token::Assignment | Token::EOF
        )
    };
    let data_type = match ends(parser) {
        true => None,
        false => Some(text_of(parser, source, |it| it.parse_data_type().map(drop))?),
    };
    let default = match parser.consume_token(&Token::Assignment) {
        true => Some(text_of(parser, source, |it| it.parse_expr().map(drop))?),
        false => None,
    };
    Ok(MacroParameter { name, data_type, default })
}

/// `type [DETERMINISTIC ...] RETURN expression`, as a cast of the expression.
fn returned(parser: &mut Parser<'_>, source: &Source) -> Parsed<String> {
    let data_type = text_of(parser, source, |it| it.parse_data_type().map(drop))?;
    while !parser.parse_keyword(Keyword::RETURN) {
        let token = parser.next_token();
        if !matches!(token.token, Token::Word(_)) {
            return parser.expected("RETURN", token);
        }
    }
    let body = body(parser, source, false)?;
    Ok(format!("CAST(({body}) AS {data_type})"))
}

fn body(parser: &mut Parser<'_>, source: &Source, is_table: bool) -> Parsed<String> {
    text_of(parser, source, |it| match is_table {
        true => it.parse_query().map(drop),
        false => it.parse_expr().map(drop),
    })
}

/// The text of what is parsed.
fn text_of(
    parser: &mut Parser<'_>,
    source: &Source,
    parse: impl FnOnce(&mut Parser<'_>) -> Parsed<()>,
) -> Parsed<String> {
    let start = source.positions.offset(parser.peek_token_ref().span.start);
    parse(parser)?;
    let span = Span { start: start.unwrap_or_default(), end: source.end_of_read(parser) };
    Ok(source.slice(span).to_owned())
}
