//! ATTACH and DETACH.
//!
//! ```text
//! ATTACH [DATABASE] [IF NOT EXISTS] 'path' [AS name] [(option [value], ...)]
//! DETACH [DATABASE] [IF EXISTS] name
//! ```

use super::command::{Command, Parsed, options};
use sqlparser::{
    ast::Ident,
    keywords::Keyword,
    parser::Parser,
    tokenizer::{Span, Token},
};

/// The parts of ATTACH.
#[derive(Debug)]
pub(crate) struct Attach {
    pub(crate) path: String,
    /// Where the path is written.
    pub(crate) span: Span,
    pub(crate) name: Option<Ident>,
    pub(crate) if_not_exists: bool,
    pub(crate) options: Vec<(Ident, Option<String>)>,
}

/// Whether ATTACH is next, or DETACH.
pub(super) fn is_word(parser: &Parser<'_>, word: &str) -> bool {
    matches!(&parser.peek_token_ref().token, Token::Word(it)
        if it.quote_style.is_none() && it.value.eq_ignore_ascii_case(word))
}

pub(super) fn attach(parser: &mut Parser<'_>) -> Parsed<Command> {
    parser.advance_token();
    let _ = parser.parse_keyword(Keyword::DATABASE);
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let span = parser.peek_token_ref().span;
    let path = parser.parse_literal_string()?;
    let name = match parser.parse_keyword(Keyword::AS) {
        true => Some(parser.parse_identifier()?),
        false => None,
    };
    let options = options(parser)?;
    Ok(Command::Attach(Box::new(Attach { path, span, name, if_not_exists, options })))
}

pub(super) fn detach(parser: &mut Parser<'_>) -> Parsed<Command> {
    parser.advance_token();
    let _ = parser.parse_keyword(Keyword::DATABASE);
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    Ok(Command::Detach { name: parser.parse_identifier()?, if_exists })
}
