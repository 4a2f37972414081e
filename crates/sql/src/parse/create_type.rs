//! CREATE TYPE, of which the parser knows other forms.
//!
//! ```text
//! CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')
//! CREATE TYPE mood AS ENUM (SELECT ...)
//! CREATE TYPE price AS DECIMAL(10, 2)
//! ```

use super::{
    Source,
    command::{Parsed, starts_query},
};
use sqlparser::{
    ast::{DataType, ObjectName, Query},
    keywords::Keyword,
    parser::Parser,
    tokenizer::Token,
};

/// The parts of CREATE TYPE.
#[derive(Debug)]
pub(crate) struct CreateType {
    pub(crate) name: ObjectName,
    pub(crate) or_replace: bool,
    pub(crate) if_not_exists: bool,
    pub(crate) source: TypeSource,
}

/// What the type is made of.
#[derive(Debug)]
pub(crate) enum TypeSource {
    /// Another type.
    Written(DataType),
    /// The values of an ENUM.
    Labels(Box<Query>),
}

/// Parses the statement at the parser's place.
pub(super) fn create_type(parser: &mut Parser<'_>) -> Parsed<CreateType> {
    parser.expect_keyword(Keyword::CREATE)?;
    let or_replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    let _ = parser.parse_one_of_keywords(&[Keyword::TEMP, Keyword::TEMPORARY]);
    parser.expect_keyword(Keyword::TYPE)?;
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    parser.expect_keyword(Keyword::AS)?;
    Ok(CreateType { name, or_replace, if_not_exists, source: source(parser)? })
}

fn source(parser: &mut Parser<'_>) -> Parsed<TypeSource> {
    let [word, parenthesis, next] = parser.peek_tokens_ref().map(|it| &it.token);
    let is_list = matches!(word, Token::Word(word) if word.keyword == Keyword::ENUM)
        && *parenthesis == Token::LParen;
    if is_list && *next == Token::RParen {
        (0..3).for_each(|_| parser.advance_token());
        return Ok(TypeSource::Written(DataType::Enum(Vec::new(), None)));
    }
    if !is_list || matches!(next, Token::SingleQuotedString(_)) {
        return Ok(TypeSource::Written(parser.parse_data_type()?));
    }
    (0..2).for_each(|_| parser.advance_token());
    if !starts_query(parser) {
        return parser.expected("texts in quotes or a query", parser.peek_token());
    }
    let query = parser.parse_query()?;
    parser.expect_token(&Token::RParen)?;
    Ok(TypeSource::Labels(query))
}

/// Whether an expression has a cast to the type of this name, whose last part counts.
pub fn names_type(text: &str, name: &str) -> bool {
    let Ok((_, tokens)) = Source::new(text) else { return false };
    let name = name.rsplit('.').next().unwrap_or(name);
    let tokens: Vec<&Token> = tokens.iter().map(|it| &it.token).collect();
    let is_name =
        |it: &Token| matches!(it, Token::Word(word) if word.value.eq_ignore_ascii_case(name));
    let follows_cast = |at: usize| {
        let mut before = tokens.get(..at).unwrap_or_default();
        while let [rest @ .., Token::Word(_), Token::Period] = before {
            before = rest;
        }
        match before.last() {
            Some(Token::DoubleColon) => true,
            Some(Token::Word(word)) => word.keyword == Keyword::AS,
            _ => false,
        }
    };
    tokens.iter().enumerate().any(|(at, token)| is_name(token) && follows_cast(at))
}
