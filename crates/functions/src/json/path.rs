//! Ways into JSON values: a member's name, `$.a[0]."b c"`, `/a/0/b`; with wildcards `$.a[*].b`, `$.*`
//! and `$..a`.

use super::{
    document::{Document, Kind},
    text::push_quoted,
};
use volley_error::{Error, Result};

/// The maximum number of values that a path leads to on its way.
const FOUND_MAX: usize = 1_000_000;

/// A way to values: to one at most, unless it has wildcards.
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
    /// `.*`: the values of all members of an object.
    Members,
    /// `[*]`: all elements of an array.
    Elements,
    /// `..` and `.**`: the value and all within it.
    Within,
}

impl Path {
    /// What a text means: after `$` a path, after `/` a pointer (RFC 6901), else the name of a
    /// member; the whole value, when it is empty.
    ///
    /// # Errors
    ///
    /// It is no path, or one with wildcards.
    pub fn parse(text: &str) -> Result<Path> {
        let path = Path::parse_any(text)?;
        if path.steps.iter().any(Step::is_wild) {
            let error = Error::invalid_value(format!("wildcards in a JSON path: '{text}'"));
            return Err(error.hint("they may be in a path that is a constant text"));
        }
        Ok(path)
    }

    /// Like [`Path::parse`], but the path may have wildcards.
    ///
    /// # Errors
    ///
    /// It is no path.
    pub fn parse_any(text: &str) -> Result<Path> {
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

    /// The position of the value that a path without wildcards leads to.
    pub fn find(&self, document: &Document<'_>) -> Option<usize> {
        let mut steps = self.steps.iter();
        steps.try_fold(document.root(), |at, step| step.apply(document, at))
    }

    /// The positions of all values that it leads to.
    ///
    /// # Errors
    ///
    /// More values than [`FOUND_MAX`]: several `..` find the same ones again and again.
    pub fn find_all(&self, document: &Document<'_>) -> Result<Vec<usize>> {
        let mut found = vec![document.root()];
        for (position, step) in self.steps.iter().enumerate() {
            let mut next = Vec::new();
            let before = position.checked_sub(1).and_then(|it| self.steps.get(it));
            let is_within = matches!(before, Some(Step::Within));
            for at in found {
                match step {
                    // `..*` leads to all values within, also the elements of arrays.
                    Step::Members if is_within && document.kind(at) == Kind::Array => {
                        next.extend(document.elements(at));
                    }
                    Step::Members => next.extend(document.members(at).map(|it| it.1)),
                    Step::Elements => next.extend(document.elements(at)),
                    Step::Within => next.extend(document.within(at)),
                    step => next.extend(step.apply(document, at)),
                }
                if next.len() > FOUND_MAX {
                    let message = format!("a JSON path leads to more than {FOUND_MAX} values");
                    return Err(Error::invalid_value(message));
                }
            }
            found = next;
        }
        Ok(found)
    }

    /// The path as it is written with `$`.
    pub fn text(&self) -> String {
        let mut text = "$".to_owned();
        for step in &self.steps {
            match step {
                Step::Member(name) | Step::Either(name) => push_member(name, &mut text),
                Step::Element(index) => text.push_str(&format!("[{index}]")),
                Step::Members => text.push_str(".*"),
                Step::Elements => text.push_str("[*]"),
                Step::Within => text.push_str(".**"),
            }
        }
        text
    }
}

/// Appends the step to a member.
pub(super) fn push_member(name: &str, path: &mut String) {
    path.push('.');
    match !name.is_empty() && name.chars().all(|it| it.is_alphanumeric() || it == '_') {
        true => path.push_str(name),
        false => push_quoted(name, path),
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
            Step::Members | Step::Elements | Step::Within => None,
        }
    }

    fn is_wild(&self) -> bool {
        matches!(self, Step::Members | Step::Elements | Step::Within)
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
        let wild = [(".**", Step::Within), (".*", Step::Members), ("[*]", Step::Elements)];
        let wild = wild.into_iter().find_map(|(text, step)| Some((step, rest.strip_prefix(text)?)));
        if let Some((step, behind)) = wild {
            steps.push(step);
            rest = behind;
            continue;
        }
        // After `..` is a name, or an index.
        if rest.starts_with("..") {
            steps.push(Step::Within);
            let behind = &rest[2..];
            rest = if behind.starts_with('[') { behind } else { &rest[1..] };
            continue;
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
