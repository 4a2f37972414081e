//! CREATE SEQUENCE, whose options the parser accepts in one order only.

use super::{Source, command::Parsed};
use crate::SequenceDefinition;
use sqlparser::{
    ast::ObjectName,
    keywords::Keyword,
    parser::Parser,
    tokenizer::{Token, TokenWithSpan},
};

/// The parts of CREATE SEQUENCE.
#[derive(Debug)]
pub(crate) struct CreateSequence {
    pub(crate) name: ObjectName,
    pub(crate) or_replace: bool,
    pub(crate) if_not_exists: bool,
    pub(crate) options: SequenceOptions,
}

/// What is written of a sequence.
#[derive(Debug, Default)]
pub(crate) struct SequenceOptions {
    pub(crate) start: Option<i64>,
    pub(crate) increment: Option<i64>,
    pub(crate) least: Option<i64>,
    pub(crate) greatest: Option<i64>,
    pub(crate) cycles: bool,
}

impl SequenceOptions {
    /// The sequence that they make; `None` when a value is out of its bounds or it does not
    /// continue.
    pub(crate) fn definition(&self) -> Option<SequenceDefinition> {
        let increment = self.increment.unwrap_or(1);
        let (least, greatest) = match increment > 0 {
            true => (1, i64::MAX),
            false => (i64::MIN, -1),
        };
        let least = self.least.unwrap_or(least);
        let greatest = self.greatest.unwrap_or(greatest);
        let start = self.start.unwrap_or(if increment > 0 { least } else { greatest });
        let is_valid = increment != 0 && (least..=greatest).contains(&start);
        let definition =
            SequenceDefinition { start, increment, least, greatest, cycles: self.cycles };
        is_valid.then_some(definition)
    }
}

/// The sequences whose numbers the text of an expression takes.
pub fn sequences_of(text: &str) -> Vec<String> {
    let Ok((_, tokens)) = Source::new(text) else { return Vec::new() };
    let sequence = |it: &[TokenWithSpan]| match it.first_chunk()?.each_ref().map(|it| &it.token) {
        [Token::Word(name), Token::LParen, Token::SingleQuotedString(sequence)]
            if name.value.eq_ignore_ascii_case("nextval") =>
        {
            Some(sequence.clone())
        }
        _ => None,
    };
    tokens.windows(3).filter_map(sequence).collect()
}

/// Parses the statement at the parser's place.
pub(super) fn create_sequence(parser: &mut Parser<'_>) -> Parsed<CreateSequence> {
    parser.expect_keyword(Keyword::CREATE)?;
    let or_replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    let _ = parser.parse_one_of_keywords(&[Keyword::TEMP, Keyword::TEMPORARY]);
    parser.expect_keyword(Keyword::SEQUENCE)?;
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let name = parser.parse_object_name(false)?;
    let mut options = SequenceOptions::default();
    while option(parser, &mut options)? {}
    Ok(CreateSequence { name, or_replace, if_not_exists, options })
}

/// Reads an option; false where none begins.
fn option(parser: &mut Parser<'_>, options: &mut SequenceOptions) -> Parsed<bool> {
    const OPTIONS: [Keyword; 6] = [
        Keyword::START,
        Keyword::INCREMENT,
        Keyword::MINVALUE,
        Keyword::MAXVALUE,
        Keyword::CYCLE,
        Keyword::CACHE,
    ];
    if parser.parse_keyword(Keyword::NO) {
        let bounds = [Keyword::MINVALUE, Keyword::MAXVALUE, Keyword::CYCLE];
        match parser.expect_one_of_keywords(&bounds)? {
            Keyword::MINVALUE => options.least = None,
            Keyword::MAXVALUE => options.greatest = None,
            _ => options.cycles = false,
        }
        return Ok(true);
    }
    let Some(keyword) = parser.parse_one_of_keywords(&OPTIONS) else { return Ok(false) };
    let _ = match keyword {
        Keyword::START => parser.parse_keyword(Keyword::WITH),
        Keyword::INCREMENT => parser.parse_keyword(Keyword::BY),
        _ => false,
    };
    match keyword {
        Keyword::START => options.start = Some(number(parser)?),
        Keyword::INCREMENT => options.increment = Some(number(parser)?),
        Keyword::MINVALUE => options.least = Some(number(parser)?),
        Keyword::MAXVALUE => options.greatest = Some(number(parser)?),
        Keyword::CYCLE => options.cycles = true,
        // All values are in memory.
        _ => drop(number(parser)?),
    }
    Ok(true)
}

/// A whole number, maybe with a sign.
fn number(parser: &mut Parser<'_>) -> Parsed<i64> {
    let sign = if parser.consume_token(&Token::Minus) { "-" } else { "" };
    let token = parser.next_token();
    let number = match &token.token {
        Token::Number(digits, _) => format!("{sign}{digits}").parse().ok(),
        _ => None,
    };
    match number {
        Some(number) => Ok(number),
        None => parser.expected("a whole number of 64 bits", token),
    }
}
