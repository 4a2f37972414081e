//! `regexp_replace` by a text.

use super::{add, doc, each_capture, each_match};
use regex::{CaptureLocations, Regex};
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{SqlType, StringWriter, Varchar, map_text},
};

/// Registers the function without a replacement, and with one.
pub(super) fn register(registry: &mut Registry) {
    let text = Varchar::pattern;
    let remove = doc(
        "regexp_replace(varchar, pattern[, replacement]) -> varchar",
        "The text without matches, or with each replaced: $1 is its first group, ${name} one with \
         a name, and \\$ a dollar sign.",
        &[
            (r"regexp_replace('1a 2b 14m', '\d+[ab] ')", "14m"),
            (r"regexp_replace('1a 2b 14m', '(\d+)([ab]) ', '3c$2 ')", "3ca 3cb 14m"),
        ],
    );
    let (name, args) = ("regexp_replace", vec![text(), text()]);
    add(registry, name, remove, args, text(), |patterns, rows, args, to, ctx| {
        map_text::<(Varchar, Varchar), _>(rows, args, to, ctx, |(text, pattern), out| {
            let mut last = 0;
            each_match(&*patterns.get(pattern)?, text, |start, end| {
                out.push_str(text.get(last..start).unwrap_or(""));
                last = end;
            });
            out.push_str(text.get(last..).unwrap_or(""));
            Ok::<_, Error>(())
        })
    });
    let (none, args) = (FunctionDoc::default(), vec![text(), text(), text()]);
    add(registry, name, none, args, text(), |patterns, rows, args, to, ctx| {
        map_text::<(Varchar, Varchar, Varchar), _>(
            rows,
            args,
            to,
            ctx,
            |(text, pattern, new), out| replace(&*patterns.get(pattern)?, text, new, out),
        )
    });
}

fn replace(regex: &Regex, text: &str, new: &str, out: &mut StringWriter) -> Result<()> {
    let mut last = 0;
    each_capture(regex, text, |groups| {
        let (start, end) = groups.get(0).unwrap_or((last, last));
        out.push_str(text.get(last..start).unwrap_or(""));
        last = end;
        write_replacement(regex, text, groups, new, out)
    })?;
    out.push_str(text.get(last..).unwrap_or(""));
    Ok(())
}

/// Writes the replacement of a match.
fn write_replacement(
    regex: &Regex,
    text: &str,
    groups: &CaptureLocations,
    new: &str,
    out: &mut StringWriter,
) -> Result<()> {
    let mut rest = new;
    while let Some(at) = rest.find(['$', '\\']) {
        let (plain, special) = rest.split_at(at);
        out.push_str(plain);
        let mut characters = special.chars();
        let is_escape = characters.next() == Some('\\');
        rest = if is_escape {
            out.push(characters.next().ok_or_else(|| illegal(new))?);
            characters.as_str()
        } else {
            let (group, after) = reference(regex, characters.as_str(), new)?;
            out.push_str(super::group(text, groups, group).unwrap_or(""));
            after
        };
    }
    out.push_str(rest);
    Ok(())
}

fn illegal(new: &str) -> Error {
    Error::invalid_value(format!("illegal replacement: '{new}'")).hint(
        "$1 is a group, ${name} one with a name; $ and \\ themselves are written \\$ and \\\\",
    )
}

/// The group that a reference names, of which `$` is read, and what follows it.
fn reference<'a>(regex: &Regex, after: &'a str, new: &str) -> Result<(usize, &'a str)> {
    if let Some(named) = after.strip_prefix('{') {
        let (name, rest) = named.split_once('}').ok_or_else(|| illegal(new))?;
        let found = regex.capture_names().position(|it| it == Some(name));
        let unknown =
            || Error::invalid_value(format!("replacement names an unknown group: '{name}'"));
        return Ok((found.ok_or_else(unknown)?, rest));
    }
    let (mut group, mut rest) = digit(after).ok_or_else(|| illegal(new))?;
    if group >= regex.captures_len() {
        let message = format!("replacement names group {group}, which the pattern lacks: '{new}'");
        return Err(Error::invalid_value(message));
    }
    // As many digits as there are groups for.
    while let Some((next, after)) =
        digit(rest).filter(|it| group * 10 + it.0 < regex.captures_len())
    {
        (group, rest) = (group * 10 + next, after);
    }
    Ok((group, rest))
}

/// The digit that the text begins with, and the rest.
fn digit(text: &str) -> Option<(usize, &str)> {
    Some((text.chars().next()?.to_digit(10)? as usize, text.get(1..)?))
}
