//! Paths into JSON values: `$.store.book[0]["title"]`, `$..price`, `$.book[*]`.

use super::{Document, Kind};
use volley_error::{Error, Result};

/// The maximum number of values that a path leads to on its way.
const FOUND_MAX: usize = 1_000_000;

/// A path.
#[derive(Debug)]
pub(super) struct Path {
    steps: Vec<Step>,
}

#[derive(Debug, PartialEq)]
enum Step {
    /// `.name`, `["name"]`, `[0]`, `[-1]`: a member of an object; of an array, the element.
    Child { name: String, index: Option<i64> },
    /// `[*]` and `.*`: all elements, or the values of all members.
    All,
    /// `..`: the value and all within it.
    Within,
}

impl Path {
    /// The path that a text is; `$.` may be left out.
    pub(super) fn parse(text: &str) -> Result<Path> {
        let invalid = || {
            Error::invalid_value(format!("invalid JSON path: '{text}'"))
                .hint("paths look like $.store.book[0][\"title\"]")
        };
        let mut steps = Vec::new();
        let mut rest = match text.strip_prefix('$') {
            Some(rest) => rest,
            None => steps_of_name(text, &mut steps).ok_or_else(invalid)?,
        };
        while !rest.is_empty() {
            rest = next_step(rest, &mut steps).ok_or_else(invalid)?;
        }
        Ok(Path { steps })
    }

    /// Whether it leads to one value at most.
    pub(super) fn is_definite(&self) -> bool {
        self.steps.iter().all(|it| matches!(it, Step::Child { .. }))
    }

    /// The positions of the values that it leads to.
    ///
    /// # Errors
    ///
    /// More values than [`FOUND_MAX`]: several `..` find the same ones again and again.
    pub(super) fn find(&self, document: &Document<'_>) -> Result<Vec<usize>> {
        let mut found = vec![document.root()];
        for step in &self.steps {
            let mut next = Vec::new();
            for at in found {
                step.apply(document, at, &mut next);
                if next.len() > FOUND_MAX {
                    let message = format!("a JSON path leads to more than {FOUND_MAX} values");
                    return Err(Error::invalid_value(message));
                }
            }
            found = next;
        }
        Ok(found)
    }
}

impl Step {
    fn apply(&self, document: &Document<'_>, at: usize, out: &mut Vec<usize>) {
        match self {
            Step::Child { name, index } => out.extend(match (document.kind(at), index) {
                (Kind::Object, _) => document.members_called(at, name).last(),
                (Kind::Array, Some(index)) => element(document, at, *index),
                _ => None,
            }),
            Step::All => {
                out.extend(document.elements(at));
                out.extend(document.members(at).map(|it| it.1));
            }
            Step::Within => out.extend(document.within(at)),
        }
    }
}

/// The element at a position from 0; negative ones count from the end.
pub(super) fn element(document: &Document<'_>, at: usize, index: i64) -> Option<usize> {
    let from_end = || {
        let count = document.elements(at).count();
        count.checked_sub(usize::try_from(index.unsigned_abs()).ok()?)
    };
    let index = usize::try_from(index).ok().or_else(from_end)?;
    document.elements(at).nth(index)
}

/// Reads one step; gives the rest.
fn next_step<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    if let Some(rest) = text.strip_prefix("..") {
        steps.push(Step::Within);
        return if rest.starts_with('[') { Some(rest) } else { steps_of_name(rest, steps) };
    }
    if let Some(rest) = text.strip_prefix('.') {
        return if rest.starts_with('[') {
            next_step(rest, steps)
        } else {
            steps_of_name(rest, steps)
        };
    }
    let inner = text.strip_prefix('[')?.trim_ascii_start();
    let (step, rest) = match inner.chars().next()? {
        quote @ ('"' | '\'') => {
            let (name, rest) = quoted(&inner[1..], quote)?;
            (child(name), rest)
        }
        '*' => (Step::All, &inner[1..]),
        _ => {
            let end = inner.find([']', ' '])?;
            let name = inner.get(..end).filter(|it| is_subscript(it))?;
            (child(name.to_owned()), &inner[end..])
        }
    };
    steps.push(step);
    rest.trim_ascii_start().strip_prefix(']')
}

/// Reads a name without quotes, or `*`.
fn steps_of_name<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let is_plain = |it: char| !it.is_whitespace() && !it.is_control() && !"]\"'()?*".contains(it);
    match name {
        "*" => steps.push(Step::All),
        "" => return None,
        name if name.chars().all(is_plain) => steps.push(child(name.to_owned())),
        _ => return None,
    }
    Some(rest)
}

/// A word, or a number that may be negative.
fn is_subscript(text: &str) -> bool {
    let word = text.strip_prefix('-').filter(|it| it.parse::<u32>().is_ok()).unwrap_or(text);
    !word.is_empty() && word.chars().all(|it| it.is_alphanumeric() || it == '_')
}

/// Reads up to the closing quote; a backslash makes the next character one of the name.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => name.push(characters.next()?.1),
            it if it == quote => return Some((name, &text[at + it.len_utf8()..])),
            other => name.push(other),
        }
    }
    None
}

fn child(name: String) -> Step {
    Step::Child { index: name.parse().ok(), name }
}
