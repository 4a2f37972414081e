//! SHOW of what `information_schema` lists, as queries.
//!
//! ```text
//! SHOW TABLES [FROM schema] [LIKE pattern]
//! SHOW SCHEMAS [LIKE pattern]
//! SHOW CATALOGS, SHOW DATABASES
//! ```

use super::command::{Command, Parsed};
use crate::{
    parse::{dotted, parse_query_at},
    statement::NamePattern,
};
use sqlparser::{
    ast::Statement,
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::{Span, Token},
};

const SCHEMAS: &str = r#"
    SELECT DISTINCT schema_name AS "Schema" FROM information_schema.schemata
    WHERE schema_name LIKE {pattern} ORDER BY 1"#;

const DATABASES: &str = "
    SELECT DISTINCT catalog_name AS database_name FROM information_schema.schemata
    WHERE catalog_name <> 'temp' ORDER BY 1";

const TABLES: &str = "
    SELECT table_name AS name, CASE table_type WHEN 'VIEW' THEN 'view' ELSE 'table' END AS kind
    FROM information_schema.tables
    WHERE lower(table_schema) = lower({schema}) AND table_name LIKE {pattern} ORDER BY 1";

/// Parses what follows SHOW, if it is one of these.
pub(super) fn listing(parser: &mut Parser<'_>) -> Parsed<Option<Command>> {
    let place = parser.peek_token_ref().span;
    let is_in = |it: &mut Parser<'_>| it.parse_one_of_keywords(&[Keyword::FROM, Keyword::IN]);
    let text = if parser.parse_keyword(Keyword::SCHEMAS) {
        SCHEMAS.replace("{pattern}", &pattern(parser)?)
    } else if parser.parse_one_of_keywords(&[Keyword::CATALOGS, Keyword::DATABASES]).is_some() {
        DATABASES.to_owned()
    } else if parser.parse_keyword(Keyword::TABLES) {
        let schema = match is_in(parser) {
            Some(_) => dotted(&parser.parse_object_name(false)?),
            None if !parser.peek_keyword(Keyword::LIKE) => return Ok(Some(Command::ShowTables)),
            None => "main".to_owned(),
        };
        let text = TABLES.replace("{schema}", &quoted(&schema));
        text.replace("{pattern}", &pattern(parser)?)
    } else {
        return Ok(None);
    };
    query(&text, place).map(Some)
}

/// The pattern of `[LIKE pattern]`, as a literal; one of all names without.
fn pattern(parser: &mut Parser<'_>) -> Parsed<String> {
    match parser.parse_keyword(Keyword::LIKE) {
        true => Ok(quoted(&parser.parse_literal_string()?)),
        false => Ok(quoted("%")),
    }
}

/// `[LIKE pattern [ESCAPE character]]`.
pub(super) fn name_pattern(parser: &mut Parser<'_>) -> Parsed<Option<NamePattern>> {
    if !parser.parse_keyword(Keyword::LIKE) {
        return Ok(None);
    }
    let pattern = parser.parse_literal_string()?;
    let mut escape = None;
    if parser.parse_keyword(Keyword::ESCAPE) {
        let text = parser.parse_literal_string()?;
        let mut characters = text.chars();
        escape = characters.next();
        if escape.is_none() || characters.next().is_some() {
            let message = format!("ESCAPE takes one character, not '{text}'");
            return Err(ParserError::ParserError(message));
        }
    }
    Ok(Some(NamePattern { pattern, escape }))
}

/// The columns of a table, after `PRAGMA table_info`.
pub(super) fn table_info(parser: &mut Parser<'_>, place: Span) -> Parsed<Command> {
    parser.expect_token(&Token::LParen)?;
    let table = match &parser.peek_token_ref().token {
        Token::SingleQuotedString(_) => parser.parse_literal_string()?,
        _ => dotted(&parser.parse_object_name(false)?),
    };
    parser.expect_token(&Token::RParen)?;
    query(&format!("SELECT * FROM pragma_table_info({})", quoted(&table)), place)
}

/// What databases take: `PRAGMA database_size`.
pub(super) fn database_size(place: Span) -> Parsed<Command> {
    query("SELECT * FROM pragma_database_size()", place)
}

/// A query that represents a statement at `place`.
fn query(text: &str, place: Span) -> Parsed<Command> {
    let query = parse_query_at(text, place);
    let query = query.map_err(|it| ParserError::ParserError(it.message().to_owned()))?;
    Ok(Command::Sql(Box::new(Statement::Query(query))))
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
