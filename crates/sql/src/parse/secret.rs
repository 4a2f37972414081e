//! CREATE SECRET and DROP SECRET, in DuckDB's syntax:
//!
//! ```text
//! CREATE [OR REPLACE] [TEMPORARY] SECRET [IF NOT EXISTS] [name] (TYPE type, parameter value, ...)
//! DROP [TEMPORARY] SECRET [IF EXISTS] name
//! ```

use super::command::{Command, Parsed};
use crate::SecretDefinition;
use sqlparser::{
    keywords::Keyword,
    parser::{Parser, ParserError},
    tokenizer::Token,
};

/// A statement about secrets.
#[derive(Debug)]
pub(crate) enum SecretCommand {
    /// CREATE SECRET.
    Create(Box<SecretDefinition>),
    /// DROP SECRET.
    Drop { name: String, if_exists: bool },
    /// SHOW SECRETS.
    Show,
}

/// The name of a secret without one begins with this; the type follows.
const DEFAULT_NAME: &str = "__default_";

/// Words that may stand between CREATE or DROP and SECRET.
pub(super) const MODIFIERS: [&str; 5] = ["or", "replace", "temp", "temporary", "persistent"];

/// Whether CREATE or DROP, which is next, is of a secret.
pub(super) fn is_secret(parser: &Parser<'_>) -> bool {
    let word = |at: usize| match &parser.peek_nth_token_ref(at).token {
        Token::Word(word) if word.quote_style.is_none() => word.value.to_ascii_lowercase(),
        _ => String::new(),
    };
    let skipped = (1..5).take_while(|at| MODIFIERS.contains(&word(*at).as_str())).count();
    word(skipped + 1) == "secret"
}

/// Parses the statement at the parser's place.
pub(super) fn create_secret(parser: &mut Parser<'_>) -> Parsed<Command> {
    parser.expect_keyword(Keyword::CREATE)?;
    let or_replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    temporary(parser)?;
    parser.advance_token();
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = match parser.peek_token_ref().token {
        Token::LParen => None,
        _ => Some(parser.parse_identifier()?.value),
    };
    parser.expect_token(&Token::LParen)?;
    let mut secret = SecretDefinition { or_replace, if_not_exists, ..SecretDefinition::default() };
    for (parameter, values) in parser.parse_comma_separated(parameter)? {
        let is_list = values.len() != 1;
        let first = values.first().cloned().unwrap_or_default();
        match parameter.as_str() {
            "scope" => secret.scopes = values,
            _ if is_list => {
                let message = format!("the parameter {parameter} has one value, not a list");
                return Err(ParserError::ParserError(message));
            }
            "type" => secret.kind = first,
            "provider" => secret.provider = Some(first),
            _ => secret.values.push((parameter, first)),
        }
    }
    parser.expect_token(&Token::RParen)?;
    if secret.kind.is_empty() {
        return parser.expected("TYPE and the type of the secret", parser.peek_token());
    }
    secret.name =
        name.unwrap_or_else(|| format!("{DEFAULT_NAME}{}", secret.kind.to_ascii_lowercase()));
    Ok(Command::Secret(SecretCommand::Create(Box::new(secret))))
}

/// Parses the statement at the parser's place.
pub(super) fn drop_secret(parser: &mut Parser<'_>) -> Parsed<Command> {
    parser.expect_keyword(Keyword::DROP)?;
    temporary(parser)?;
    parser.advance_token();
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = parser.parse_identifier()?.value;
    Ok(Command::Secret(SecretCommand::Drop { name, if_exists }))
}

/// Reads TEMPORARY: secrets are never written to disk.
fn temporary(parser: &mut Parser<'_>) -> Parsed<()> {
    let _ = parser.parse_one_of_keywords(&[Keyword::TEMP, Keyword::TEMPORARY]);
    match &parser.peek_token_ref().token {
        Token::Word(word) if word.value.eq_ignore_ascii_case("persistent") => {
            parser.expected("SECRET: secrets are not written to disk", parser.peek_token())
        }
        _ => Ok(()),
    }
}

/// A name and its value: a text, a word, a number or a list of these.
fn parameter(parser: &mut Parser<'_>) -> Parsed<(String, Vec<String>)> {
    let name = parser.parse_identifier()?.value.to_ascii_lowercase();
    let _ = parser.consume_token(&Token::Eq);
    let values = if parser.consume_token(&Token::LBracket) {
        let values = parser.parse_comma_separated(value)?;
        parser.expect_token(&Token::RBracket)?;
        values
    } else if parser.consume_token(&Token::LParen) {
        let values = parser.parse_comma_separated(value)?;
        parser.expect_token(&Token::RParen)?;
        values
    } else {
        vec![value(parser)?]
    };
    Ok((name, values))
}

fn value(parser: &mut Parser<'_>) -> Parsed<String> {
    let token = parser.next_token();
    match token.token {
        Token::Word(word) => Ok(word.value),
        Token::Number(text, _) => Ok(text),
        Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => Ok(text),
        // The token may be part of a secret: it is not shown.
        _ => Err(ParserError::ParserError("expected a text, a word or a number".to_owned())),
    }
}
