//! Regular expressions with options, and replacements in their syntax.

use super::{Compiled, compile_within};
use regex::{Regex, RegexBuilder};
use volley_error::{Error, Result};

/// What the options argument asks for.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct Options {
    ignores_case: bool,
    literal: bool,
    multi_line: bool,
    dot_matches_newline: bool,
    /// Replace every match.
    pub(super) global: bool,
}

impl Options {
    /// Reads letters: `i` ignore case, `c` do not, `l` literal, `m`, `n` or `p` lines apart, `s`
    /// the dot matches line ends, `g` every match (only where `allows_global`).
    pub(super) fn parse(letters: &str, allows_global: bool) -> Result<Options> {
        let mut options = Options::default();
        for letter in letters.chars() {
            match letter {
                'i' => options.ignores_case = true,
                'c' => options.ignores_case = false,
                'l' => options.literal = true,
                'm' | 'n' | 'p' => options.multi_line = true,
                's' => options.dot_matches_newline = true,
                'g' if allows_global => options.global = true,
                ' ' | '\t' | '\n' => {}
                _ => {
                    let message = format!("unknown regular expression option: '{letter}'");
                    return Err(
                        Error::invalid_value(message).hint("options are c, i, l, m, s and g")
                    );
                }
            }
        }
        Ok(options)
    }

    /// Compiles a pattern.
    pub(super) fn compile(self, pattern: &str) -> Result<Compiled<Regex>> {
        let escaped = self.literal.then(|| regex::escape(pattern));
        let mut builder = RegexBuilder::new(escaped.as_deref().unwrap_or(pattern));
        builder
            .case_insensitive(self.ignores_case)
            .multi_line(self.multi_line)
            .dot_matches_new_line(self.dot_matches_newline);
        build(&builder, pattern)
    }

    /// Compiles a pattern that must match all of a text.
    pub(super) fn compile_full(self, pattern: &str) -> Result<Compiled<Regex>> {
        let inner = if self.literal { regex::escape(pattern) } else { pattern.to_owned() };
        // Compiled alone first: `a)(b` must not become well formed within the parentheses.
        self.compile(pattern)?;
        let anchored = format!(r"\A(?:{inner})\z");
        Options { literal: false, ..self }.compile(&anchored)
    }
}

/// Compiles an expression of ours.
pub(super) fn compile(source: &str) -> Result<Regex> {
    build(&RegexBuilder::new(source), source).map(|it| it.pattern)
}

fn build(builder: &RegexBuilder, pattern: &str) -> Result<Compiled<Regex>> {
    let within = |bytes: usize| builder.clone().size_limit(bytes).build();
    compile_within(within).map_err(|error| {
        let reason = match error {
            regex::Error::CompiledTooBig(_) => "it is too large".to_owned(),
            other => last_line(&other.to_string()),
        };
        Error::invalid_value(format!("invalid regular expression: '{pattern}'")).hint(reason)
    })
}

/// The reason in the last line of the parser's drawing.
fn last_line(message: &str) -> String {
    let line = message.lines().next_back().unwrap_or(message);
    line.trim().trim_start_matches("error: ").to_owned()
}

/// A replacement such as `[\1]` in the syntax of the `regex` crate, whose groups are `${1}`.
pub(super) fn replacement(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '$' => out.push_str("$$"),
            '\\' => match characters.next() {
                Some(digit @ '0'..='9') => out.push_str(&format!("${{{digit}}}")),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            _ => out.push(character),
        }
    }
    out
}
