//! Converts syntax errors of the parser.

use super::{Positions, construct, lower_first, secret::MODIFIERS as SECRET_MODIFIERS};
use crate::dialect::RESERVED;
use sqlparser::{
    keywords::Keyword,
    parser::ParserError,
    tokenizer::{Location, Token, TokenWithSpan},
};
use volley_error::{Error, ErrorKind, Span};
use volley_memory::check_cancelled;

/// Words before which lists of expressions end.
const BEGINS_CLAUSE: [Keyword; 8] = [
    Keyword::FROM,
    Keyword::WHERE,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::ORDER,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::UNION,
];

/// The parser's error with the token that it speaks of.
pub(super) fn syntax(error: ParserError, tokens: &[TokenWithSpan], positions: &Positions) -> Error {
    if let Err(error) = check_cancelled() {
        return error;
    }
    let text = match error {
        ParserError::RecursionLimitExceeded => {
            return Error::new(ErrorKind::Syntax, "statement nested too deeply");
        }
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text,
    };
    let (message, location) = split_location(&text);
    let (span, before) = match location {
        Some(location) => token_at(location, tokens, positions),
        None => (positions.end(), tokens.last()),
    };
    let found = location.and_then(|it| token_from(it, tokens));
    let index = location.map_or(tokens.len(), |it| index_at(it, tokens));
    if is_of_secret(index, tokens) {
        return secret_syntax();
    }
    if let Some(error) = unsupported(index, tokens, positions) {
        return error;
    }
    if let Some(token) = found.filter(|_| message.starts_with("No infix parser for token")) {
        let message = format!("not supported: the operator {}", token.token);
        return Error::new(ErrorKind::Syntax, message).span(Some(span));
    }
    let error = Error::new(ErrorKind::Syntax, plain_message(message, before)).span(Some(span));
    match hint(message, before, found) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// Words of a statement among which CREATE SECRET stands, behind EXPLAIN or PREPARE.
const FIRST_WORDS: usize = 12;

/// Whether token `index` belongs to a statement that creates a secret.
fn is_of_secret(index: usize, tokens: &[TokenWithSpan]) -> bool {
    let before = tokens.get(..index).unwrap_or(tokens);
    let start = before.iter().rposition(|it| it.token == Token::SemiColon).map_or(0, |it| it + 1);
    let words = tokens.get(start..).unwrap_or_default().iter().map_while(|it| match &it.token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_ascii_lowercase()),
        _ => None,
    });
    let words: Vec<String> = words.take(FIRST_WORDS).collect();
    let Some(create) = words.iter().position(|it| it == "create") else { return false };
    let mut words = words.iter().skip(create + 1);
    words.find(|it| !SECRET_MODIFIERS.contains(&it.as_str())).is_some_and(|it| it == "secret")
}

/// The error of such a statement: it shows neither tokens nor a place in the text, which has
/// values.
fn secret_syntax() -> Error {
    Error::new(ErrorKind::Syntax, "this CREATE SECRET statement is not valid")
        .hint("write CREATE SECRET name (TYPE s3, KEY_ID '...', SECRET '...', SCOPE 's3://bucket')")
}

/// The error that names a construct which the parser does not read, if one stands there.
fn unsupported(index: usize, tokens: &[TokenWithSpan], positions: &Positions) -> Option<Error> {
    let (what, ends) = construct::at(tokens, index)?;
    let spans = ends.into_iter().filter_map(|it| positions.span(tokens.get(it)?.span));
    Some(Error::unsupported(format!("not supported: {what}")).span(spans.reduce(Span::to)))
}

/// What to do about a comma before a clause, or a reserved word as a name.
fn hint(
    message: &str,
    before: Option<&TokenWithSpan>,
    found: Option<&TokenWithSpan>,
) -> Option<String> {
    let word = match &found?.token {
        Token::Word(word) if word.quote_style.is_none() => word,
        _ => return None,
    };
    if before.is_some_and(|it| it.token == Token::Comma) && BEGINS_CLAUSE.contains(&word.keyword) {
        return Some(format!("remove the comma before {}", word.value));
    }
    let wants_name = message.contains("an identifier") || message.contains("an expression");
    // FROM rather means that the list before it is missing.
    let is_reserved = RESERVED.contains(&word.keyword) && word.keyword != Keyword::FROM;
    (wants_name && is_reserved).then(|| {
        let word = &word.value;
        format!("{word} is a reserved word: as a name it is written \"{word}\"")
    })
}

/// The token that begins at `location`.
fn token_from(location: Location, tokens: &[TokenWithSpan]) -> Option<&TokenWithSpan> {
    tokens.get(index_at(location, tokens)).filter(|it| it.span.start == location)
}

/// The first token that begins at `location` or after it.
fn index_at(location: Location, tokens: &[TokenWithSpan]) -> usize {
    let key = |it: &TokenWithSpan| (it.span.start.line, it.span.start.column);
    tokens.partition_point(|it| key(it) < (location.line, location.column))
}

/// The error that a statement is followed by something that does not belong to it.
pub(super) fn unexpected(
    token: &TokenWithSpan,
    tokens: &[TokenWithSpan],
    positions: &Positions,
) -> Error {
    let index = index_at(token.span.start, tokens);
    if is_of_secret(index, tokens) {
        return secret_syntax();
    }
    if let Some(error) = unsupported(index, tokens, positions) {
        return error;
    }
    let message = format!("expected end of statement, found {}", token.token);
    Error::new(ErrorKind::Syntax, message).span(positions.span(token.span))
}

/// Cuts ` at Line: 1, Column: 2` off.
fn split_location(text: &str) -> (&str, Option<Location>) {
    let Some((message, place)) = text.rsplit_once(" at Line: ") else { return (text, None) };
    let Some((line, column)) = place.split_once(", Column: ") else { return (text, None) };
    match (line.trim().parse(), column.trim().parse()) {
        (Ok(line), Ok(column)) => (message, Some(Location { line, column })),
        _ => (text, None),
    }
}

/// The span of the token that begins at `location`, and the token before it.
fn token_at<'t>(
    location: Location,
    tokens: &'t [TokenWithSpan],
    positions: &Positions,
) -> (Span, Option<&'t TokenWithSpan>) {
    let index = index_at(location, tokens);
    let before = index.checked_sub(1).and_then(|it| tokens.get(it));
    let found = tokens.get(index).filter(|it| it.span.start == location);
    let span = found.and_then(|it| positions.span(it.span));
    let start = || positions.offset(location).map(|start| Span { start, end: start });
    (span.or_else(start).unwrap_or_else(|| positions.end()), before)
}

/// `Expected: X, found: Y` as `expected X after Z, found Y`.
fn plain_message(message: &str, before: Option<&TokenWithSpan>) -> String {
    let message = message.trim_end();
    let parts = message.strip_prefix("Expected: ").and_then(|it| it.rsplit_once(", found: "));
    let Some((expected, found)) = parts else { return lower_first(message) };
    let found = if found == "EOF" { "end of text" } else { found };
    match before {
        Some(_) if expected.contains(" after ") => format!("expected {expected}, found {found}"),
        Some(before) if before.token == Token::Comma => {
            format!("expected {expected} after the comma, found {found}")
        }
        Some(before) if !ends_statement(&before.token) => {
            format!("expected {expected} after {}, found {found}", before.token)
        }
        _ => format!("expected {expected}, found {found}"),
    }
}

/// Whether the token ends a statement.
pub(super) fn ends_statement(token: &Token) -> bool {
    matches!(token, Token::SemiColon | Token::EOF)
}
