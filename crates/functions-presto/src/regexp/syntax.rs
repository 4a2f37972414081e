//! Java's patterns in the syntax of the engine.
//!
//! ```text
//! \d \w \s and \D \W \S    of ASCII, as in Java without flags
//! \Q...\E                  the characters between
//! - and ~ in a class       themselves, where two of them would be an operator
//! ```
//!
//! What the engine would read in another sense is an error: possessive quantifiers, and flags other
//! than i, m, s and x. The engine itself refuses atomic groups, lookaround and backreferences.

use std::{iter::Peekable, str::Chars};

const POSSESSIVE: &str = "possessive quantifiers are not supported";

/// The pattern, or why there is none.
pub(super) fn translate(pattern: &str) -> Result<String, &'static str> {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern.chars().peekable();
    // How many brackets of classes are open.
    let mut classes = 0usize;
    let mut after_quantifier = false;
    while let Some(character) = rest.next() {
        let is_quantifier = classes == 0 && matches!(character, '*' | '+' | '?' | '}');
        if is_quantifier && after_quantifier && character == '+' {
            return Err(POSSESSIVE);
        }
        after_quantifier = is_quantifier && (character == '}' || !after_quantifier);
        match character {
            '\\' => escape(&mut rest, classes > 0, &mut out),
            '[' => {
                classes += 1;
                open_class(&mut rest, &mut out);
            }
            ']' if classes > 0 => {
                classes -= 1;
                out.push(']');
            }
            '~' if classes > 0 => out.push_str(r"\~"),
            '-' if classes > 0 && out.ends_with('-') => out.push_str(r"\-"),
            '(' if classes == 0 => {
                out.push('(');
                check_flags(rest.clone())?;
                // The question mark of a group is no quantifier.
                if rest.peek() == Some(&'?') {
                    out.extend(rest.next());
                }
            }
            other => out.push(other),
        }
    }
    Ok(out)
}

/// A bracket, and what is taken literally after it.
fn open_class(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push('[');
    if rest.peek() == Some(&'^') {
        out.extend(rest.next());
    }
    if rest.peek() == Some(&']') {
        rest.next();
        out.push_str(r"\]");
    }
}

fn escape(rest: &mut Peekable<Chars<'_>>, in_class: bool, out: &mut String) {
    let (digit, word, space) = ("0-9", "0-9A-Za-z_", r" \t\n\x0B\f\r");
    match rest.next() {
        Some('d') => push_class(digit, false, in_class, out),
        Some('w') => push_class(word, false, in_class, out),
        Some('s') => push_class(space, false, in_class, out),
        Some('D') => push_class(digit, true, in_class, out),
        Some('W') => push_class(word, true, in_class, out),
        Some('S') => push_class(space, true, in_class, out),
        Some('Q') if !in_class => quoted(rest, out),
        Some(other) => {
            out.push('\\');
            out.push(other);
        }
        None => out.push('\\'),
    }
}

fn push_class(set: &str, is_negated: bool, in_class: bool, out: &mut String) {
    let (open, close) = match (is_negated, in_class) {
        (true, _) => ("[^", "]"),
        (false, true) => ("", ""),
        (false, false) => ("[", "]"),
    };
    out.push_str(open);
    out.push_str(set);
    out.push_str(close);
}

/// What is up to `\E`, or to the end.
fn quoted(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    let mut literal = String::new();
    while let Some(character) = rest.next() {
        if character == '\\' && rest.peek() == Some(&'E') {
            rest.next();
            break;
        }
        literal.push(character);
    }
    out.push_str(&regex::escape(&literal));
}

/// Refuses flags after an opening parenthesis that mean something else in Java.
fn check_flags(mut rest: Peekable<Chars<'_>>) -> Result<(), &'static str> {
    if rest.next() != Some('?') {
        return Ok(());
    }
    let mut letters = rest.take_while(|it| it.is_ascii_alphabetic() || *it == '-').peekable();
    // A name of a group begins with P.
    if letters.peek() == Some(&'P') {
        return Ok(());
    }
    let known = letters.all(|it| matches!(it, 'i' | 'm' | 's' | 'x' | '-'));
    if known { Ok(()) } else { Err("flags other than i, m, s and x are not supported") }
}

#[cfg(test)]
mod tests {
    use super::translate;

    #[test]
    fn classes_are_those_of_ascii() {
        let check = |pattern: &str, expected: &str| {
            assert_eq!(translate(pattern).as_deref(), Ok(expected), "{pattern}");
        };
        check(r"\d+", "[0-9]+");
        check(r"[\d-]", "[0-9-]");
        check(r"[^\W]", "[^[^0-9A-Za-z_]]");
        check(r"\\d", r"\\d");
        check(r"\Qa.b\E.", r"a\.b.");
        check("[a--b~~]", r"[a-\-b\~\~]");
        check("[]a]", r"[\]a]");
        check("(?i)a(?:b)??c", "(?i)a(?:b)??c");
        check("(?<name>a)+?", "(?<name>a)+?");
        check("a{2}b+", "a{2}b+");
    }

    #[test]
    fn other_meanings_are_refused() {
        for pattern in ["a*+", "a++", "a?+", "a{2}+", "(?u)a", "(?d)", "(?U:a)"] {
            assert!(translate(pattern).is_err(), "{pattern}");
        }
    }
}
