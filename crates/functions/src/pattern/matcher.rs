//! Compiled LIKE and GLOB patterns.
//!
//! ```text
//! pattern        kind          work per text
//! abc            exact         one comparison
//! abc%           segments      starts with, ends with, and a substring search for what stands
//! %abc           segments      between two %, leftmost first: linear in the text
//! %a%b%c         segments
//! with _, sets   expression    the regular expression engine, linear as well
//! ```

use super::glob;
use crate::string::Part;
use regex::Regex;
use volley_error::{Error, Result};
use volley_vector::{StringValues, Vector};

/// How patterns are written.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Syntax {
    Like,
    ILike,
    Glob,
}

/// A LIKE or GLOB pattern, ready to match.
pub(super) struct Matcher {
    kind: Kind,
    /// ILIKE: the pattern is in lower case, texts are brought there.
    ignores_case: bool,
}

enum Kind {
    Exact(String),
    Segments(Segments),
    Expression(Box<Regex>),
}

/// The parts between `%`.
struct Segments {
    start: String,
    middle: Vec<Part>,
    end: String,
}

/// A part of a pattern.
pub(super) enum Token {
    Literal(char),
    /// `_`
    One,
    /// `%`
    Any,
    /// One of the characters from the first to the last of a range, or one of none of them.
    Set {
        ranges: Vec<(char, char)>,
        is_negated: bool,
    },
    /// Matches nothing.
    Never,
}

impl Matcher {
    /// Compiles a pattern; the character after `escape` is taken literally.
    pub(super) fn new(pattern: &str, escape: Option<char>, syntax: Syntax) -> Result<Matcher> {
        let ignores_case = syntax == Syntax::ILike;
        let tokens = match syntax {
            Syntax::Like => tokens(pattern, escape)?,
            Syntax::ILike => tokens(&lower(pattern), escape)?,
            Syntax::Glob => glob::tokens(pattern),
        };
        let has_one = tokens.iter().any(|it| !matches!(it, Token::Literal(_) | Token::Any));
        let has_any = tokens.iter().any(|it| matches!(it, Token::Any));
        let kind = match (has_one, has_any) {
            (true, _) => Kind::Expression(Box::new(expression(&tokens)?)),
            (false, true) => Kind::Segments(Segments::new(&tokens)),
            (false, false) => Kind::Exact(literals(&tokens)),
        };
        Ok(Matcher { kind, ignores_case })
    }

    /// For patterns that begin with `%` and a part: which of `texts` match.
    pub(super) fn select(&self, texts: &StringValues) -> Option<Vector> {
        let Kind::Segments(segments) = &self.kind else { return None };
        let first = segments.middle.first()?;
        if self.ignores_case || !segments.start.is_empty() {
            return None;
        }
        Some(
            first.select(texts, |row, at| {
                segments.match_from(1, &texts.bytes(row)[at + first.len()..])
            }),
        )
    }

    /// Whether all of `text` matches.
    #[inline]
    pub(super) fn matches(&self, text: &str) -> bool {
        if self.ignores_case {
            return self.kind.matches(&lower(text));
        }
        self.kind.matches(text)
    }
}

impl Kind {
    #[inline]
    fn matches(&self, text: &str) -> bool {
        match self {
            Kind::Exact(exact) => text == exact,
            Kind::Segments(segments) => segments.match_bytes(text.as_bytes()),
            Kind::Expression(expression) => expression.is_match(text),
        }
    }
}

impl Segments {
    fn new(tokens: &[Token]) -> Segments {
        let mut parts: Vec<String> =
            tokens.split(|it| matches!(it, Token::Any)).map(literals).collect();
        // A pattern with one % at least has two parts at least.
        let end = parts.pop().unwrap_or_default();
        let mut parts = parts.into_iter();
        let start = parts.next().unwrap_or_default();
        Segments { start, middle: parts.filter_map(|it| Part::new(&it)).collect(), end }
    }

    #[inline]
    fn match_bytes(&self, text: &[u8]) -> bool {
        without_start(text, self.start.as_bytes()).is_some_and(|it| self.match_from(0, it))
    }

    /// Whether the parts from number `first` on and the end match all of `text`.
    #[inline]
    fn match_from(&self, first: usize, text: &[u8]) -> bool {
        let Some(mut rest) = without_end(text, self.end.as_bytes()) else { return false };
        // Taking the leftmost place of each part leaves the most for the others.
        for part in &self.middle[first..] {
            let Some(at) = part.find(rest) else { return false };
            rest = &rest[at + part.len()..];
        }
        true
    }
}

/// The text after `start`. Comparing no bytes is not free: a load that is masked out from an
/// address without memory after it, as that of an empty string, takes about 20 ns.
#[inline]
fn without_start<'t>(text: &'t [u8], start: &[u8]) -> Option<&'t [u8]> {
    if start.is_empty() { Some(text) } else { text.strip_prefix(start) }
}

/// The text before `end`.
#[inline]
fn without_end<'t>(text: &'t [u8], end: &[u8]) -> Option<&'t [u8]> {
    if end.is_empty() { Some(text) } else { text.strip_suffix(end) }
}

fn tokens(pattern: &str, escape: Option<char>) -> Result<Vec<Token>> {
    let mut tokens = Vec::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        tokens.push(match character {
            _ if Some(character) == escape => {
                let escaped = characters.next().ok_or_else(|| {
                    Error::invalid_value(format!(
                        "LIKE pattern ends with its escape character: '{pattern}'"
                    ))
                })?;
                Token::Literal(escaped)
            }
            '%' => Token::Any,
            '_' => Token::One,
            _ => Token::Literal(character),
        });
    }
    Ok(tokens)
}

fn literals(tokens: &[Token]) -> String {
    let literal = |it: &Token| match it {
        Token::Literal(character) => Some(*character),
        _ => None,
    };
    tokens.iter().filter_map(literal).collect()
}

/// The same pattern as a regular expression, where `.` matches every character.
fn expression(tokens: &[Token]) -> Result<Regex> {
    let mut source = "(?s)^".to_owned();
    for token in tokens {
        match token {
            Token::Literal(character) => source.push_str(&escaped(*character)),
            Token::One => source.push('.'),
            Token::Any => source.push_str(".*"),
            Token::Set { ranges, is_negated } => source.push_str(&class(ranges, *is_negated)),
            Token::Never => source.push_str(NEVER),
        }
    }
    source.push('$');
    super::expression::compile(&source)
}

/// Matches nothing.
const NEVER: &str = r"[^\s\S]";

/// A class of characters; a range from a character to a lesser one has none.
fn class(ranges: &[(char, char)], is_negated: bool) -> String {
    let ranges = ranges.iter().filter(|it| it.0 <= it.1);
    let ranges: Vec<String> =
        ranges.map(|it| format!("{}-{}", escaped(it.0), escaped(it.1))).collect();
    match (ranges.is_empty(), is_negated) {
        (true, true) => ".".to_owned(),
        (true, false) => NEVER.to_owned(),
        (false, true) => format!("[^{}]", ranges.concat()),
        (false, false) => format!("[{}]", ranges.concat()),
    }
}

fn escaped(character: char) -> String {
    regex::escape(character.encode_utf8(&mut [0; 4]))
}

/// Lower case by code point, so that `_` still matches one of them.
fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().map(crate::string::lower_of).collect()
}
