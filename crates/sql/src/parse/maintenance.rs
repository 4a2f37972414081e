//! Statements about whole databases.
//!
//! ```text
//! [FORCE] CHECKPOINT [database]
//! VACUUM [FULL] [ANALYZE] [table [(columns)]]
//! ANALYZE [table [(columns)]]
//! EXPORT DATABASE [database TO] 'folder' [(option [value], ...)]
//! IMPORT DATABASE 'folder'
//! ```

use super::{
    attach::is_word,
    command::{Command, Parsed, options},
    error::ends_statement,
};
use sqlparser::{
    ast::{Ident, ObjectName},
    keywords::Keyword,
    parser::Parser,
    tokenizer::Token,
};

/// A statement about a database or table as a whole.
#[derive(Debug)]
pub(crate) enum Maintenance {
    /// CHECKPOINT; of the current database without a name.
    Checkpoint(Option<Ident>),
    /// VACUUM; of all tables of the current database without a name.
    Vacuum(Option<ObjectName>),
    /// ANALYZE; of all tables without a name.
    Analyze(Option<ObjectName>),
    /// EXPORT DATABASE.
    Export { database: Option<Ident>, folder: String, options: Vec<(Ident, Option<String>)> },
    /// IMPORT DATABASE.
    Import { folder: String },
}

/// Parses the statement at the parser's place, if it is one of these.
pub(super) fn maintenance(parser: &mut Parser<'_>) -> Parsed<Option<Command>> {
    let second = &parser.peek_nth_token_ref(1).token;
    let is_database = matches!(second, Token::Word(it) if it.keyword == Keyword::DATABASE);
    let parsed = if is_word(parser, "checkpoint") {
        checkpoint(parser)?
    } else if is_word(parser, "force") {
        parser.advance_token();
        if !is_word(parser, "checkpoint") {
            return parser.expected("CHECKPOINT", parser.peek_token());
        }
        checkpoint(parser)?
    } else if is_word(parser, "vacuum") {
        parser.advance_token();
        let _ = parser.parse_keyword(Keyword::FULL);
        let _ = parser.parse_keyword(Keyword::ANALYZE);
        Maintenance::Vacuum(table(parser)?)
    } else if is_word(parser, "analyze") {
        parser.advance_token();
        Maintenance::Analyze(table(parser)?)
    } else if is_word(parser, "export") && is_database {
        export(parser)?
    } else if is_word(parser, "import") && is_database {
        (0..2).for_each(|_| parser.advance_token());
        Maintenance::Import { folder: parser.parse_literal_string()? }
    } else {
        return Ok(None);
    };
    Ok(Some(Command::Maintenance(Box::new(parsed))))
}

fn checkpoint(parser: &mut Parser<'_>) -> Parsed<Maintenance> {
    parser.advance_token();
    let has_name = !ends_statement(&parser.peek_token_ref().token);
    Ok(Maintenance::Checkpoint(has_name.then(|| parser.parse_identifier()).transpose()?))
}

/// A table with columns, which do not matter, if one is named.
fn table(parser: &mut Parser<'_>) -> Parsed<Option<ObjectName>> {
    if ends_statement(&parser.peek_token_ref().token) {
        return Ok(None);
    }
    let name = parser.parse_object_name(false)?;
    if parser.consume_token(&Token::LParen) {
        parser.parse_comma_separated(|it| it.parse_identifier())?;
        parser.expect_token(&Token::RParen)?;
    }
    Ok(Some(name))
}

fn export(parser: &mut Parser<'_>) -> Parsed<Maintenance> {
    (0..2).for_each(|_| parser.advance_token());
    let is_folder = matches!(parser.peek_token_ref().token, Token::SingleQuotedString(_));
    let database = (!is_folder).then(|| parser.parse_identifier()).transpose()?;
    if database.is_some() {
        parser.expect_keyword(Keyword::TO)?;
    }
    let folder = parser.parse_literal_string()?;
    Ok(Maintenance::Export { database, folder, options: options(parser)? })
}
