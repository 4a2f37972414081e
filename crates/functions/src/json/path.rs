//! Ways into JSON values: a member's name, `$.a[0]."b c"`, `/a/0/b`.

use super::document::{Document, Kind};
use volley_error::{Error, Result};

/// A way to one value at most.
#[derive(Debug, PartialEq)]
pub(super) struct Path {
    steps: Vec<Step>,
}

#[derive(Debug, PartialEq)]
enum Step {
    /// The member of an object.
    Member(String),
    /// The element of an array, from 0, or from -1 backwards.
    Element(i64),
    /// Of a pointer: a member, or the element with this number.
    Either(String),
}

impl Path {
    /// What a text means: behind `$` a path, behind `/` a pointer (RFC 6901), else the name of a
    /// member; the whole value, when it is empty.
    pub fn parse(text: &str) -> Result<Path> {
        let steps = match text.chars().next() {
            None => Vec::new(),
            Some('$') => steps(text)?,
            Some('/') => {
                let parts = text.split('/').skip(1);
                parts.map(|it| Step::Either(it.replace("~1", "/").replace("~0", "~"))).collect()
            }
            Some(_) => vec![Step::Member(text.to_owned())],
        };
        Ok(Path { steps })
    }

    /// The way to an element of an array.
    pub fn of_element(index: i64) -> Path {
        Path { steps: vec![Step::Element(index)] }
    }

    /// The position of the value that it leads to.
    pub fn find(&self, document: &Document<'_>) -> Option<usize> {
        let mut steps = self.steps.iter();
        steps.try_fold(document.root(), |at, step| step.apply(document, at))
    }
}

impl Step {
    /// Of members with one name, the first is found.
    fn apply(&self, document: &Document<'_>, at: usize) -> Option<usize> {
        match self {
            Step::Member(name) => document.members_called(at, name).next(),
            Step::Element(index) => element(document, at, *index),
            Step::Either(name) if document.kind(at) == Kind::Array => {
                element(document, at, i64::from(name.parse::<u32>().ok()?))
            }
            Step::Either(name) => document.members_called(at, name).next(),
        }
    }
}

fn element(document: &Document<'_>, at: usize, index: i64) -> Option<usize> {
    let from_start = match index {
        0.. => index,
        _ => i64::try_from(document.elements(at).count()).ok()?.checked_add(index)?,
    };
    document.elements(at).nth(usize::try_from(from_start).ok()?)
}

/// The steps of a path that begins with `$`.
fn steps(text: &str) -> Result<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = text.get(1..).unwrap_or_default();
    while !rest.is_empty() {
        if rest.contains('*') && (rest.starts_with(".*") || rest.starts_with("[*]")) {
            let error = Error::unsupported(format!("wildcards in a JSON path: '{text}'"));
            return Err(error.hint("unnest the array"));
        }
        let step = match rest.strip_prefix('[') {
            Some(inner) => element_step(inner),
            None => rest.strip_prefix('.').and_then(member_step),
        };
        let invalid = || {
            Error::invalid_value(format!("invalid JSON path: '{text}'"))
                .hint("paths look like $.store.book[0].\"the title\"")
        };
        let (step, behind) = step.ok_or_else(invalid)?;
        steps.push(step);
        rest = behind;
    }
    Ok(steps)
}

/// `n]`, `-n]` or `#-n]`.
fn element_step(inner: &str) -> Option<(Step, &str)> {
    let (index, rest) = inner.split_once(']')?;
    let (from_end, digits) = match index.strip_prefix('#').unwrap_or(index).strip_prefix('-') {
        Some(digits) => (true, digits),
        None if index.starts_with('#') => return None,
        None => (false, index),
    };
    if digits.is_empty() || !digits.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    let number: i64 = digits.parse().ok()?;
    Some((Step::Element(if from_end { -number } else { number }), rest))
}

/// A name up to the next step, or one in quotes.
fn member_step(text: &str) -> Option<(Step, &str)> {
    let (name, rest) = match text.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"')?,
        None => text.split_at(text.find(['.', '[']).unwrap_or(text.len())),
    };
    (!name.is_empty()).then(|| (Step::Member(name.to_owned()), rest))
}
