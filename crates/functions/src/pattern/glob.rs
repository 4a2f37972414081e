//! Patterns of GLOB, as file names are matched: `*`, `?`, `[a-c]`, `[!x]`, `\*`.

use super::matcher::Token;

/// The parts of a pattern. One that ends within brackets, or with a backslash, matches nothing.
pub(super) fn tokens(pattern: &str) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    while let Some(character) = rest.next() {
        tokens.push(match character {
            '*' => Token::Any,
            '?' => Token::One,
            '\\' => rest.next().map_or(Token::Never, Token::Literal),
            '[' => match set(rest.as_str()) {
                Some((set, behind)) => {
                    rest = behind.chars();
                    set
                }
                None => return vec![Token::Never],
            },
            _ => Token::Literal(character),
        });
    }
    tokens
}

/// The set whose text begins after the opening bracket, and what follows the closing one.
fn set(text: &str) -> Option<(Token, &str)> {
    let (is_negated, text) = match text.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut ranges = Vec::new();
    let mut rest = text;
    loop {
        let mut characters = rest.chars();
        let first = characters.next()?;
        // A bracket at the beginning is one of the characters.
        if first == ']' && !ranges.is_empty() {
            return Some((Token::Set { ranges, is_negated }, characters.as_str()));
        }
        let mut behind = characters.clone();
        let is_range = behind.next() == Some('-');
        match behind.next() {
            Some(last) if is_range && last != ']' => {
                ranges.push((first, last));
                rest = behind.as_str();
            }
            _ => {
                ranges.push((first, first));
                rest = characters.as_str();
            }
        }
    }
}
