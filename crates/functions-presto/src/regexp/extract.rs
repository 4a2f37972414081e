//! `regexp_like`, `regexp_extract`, `regexp_extract_all` and `regexp_split`.

use super::{add, doc, each_capture, each_match, group};
use regex::{CaptureLocations, Regex};
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{
        Array, ArrayWriter, Boolean, PartOf, PartWriter, SqlType, Varchar, map_written, map2,
    },
};

/// Parts of the first argument, whose buffers they share.
type Parts = ArrayWriter<PartOf<0>>;

type Text = (Varchar, Varchar);
type Group = (Varchar, Varchar, i64);

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let (text, number) = (Varchar::pattern, i64::pattern);
    let parts = Array::<PartOf<0>>::pattern;
    let like = doc(
        "regexp_like(varchar, pattern) -> boolean",
        "Whether the pattern matches somewhere in the text.",
        &[(r"regexp_like('1a 2b 14m', '\d+b')", "true")],
    );
    let args = || vec![text(), text()];
    add(registry, "regexp_like", like, args(), bool::pattern(), |patterns, rows, args, to, ctx| {
        let is_match = |text: &str, pattern: &str| -> Result<bool> {
            Ok(patterns.get(pattern)?.is_match(text))
        };
        map2::<Varchar, Varchar, Boolean, _>(rows, args, to, ctx, is_match)
    });
    let extract = doc(
        "regexp_extract(varchar, pattern[, group]) -> varchar",
        "The first match, or a group of it; null if there is none.",
        &[
            (r"regexp_extract('1a 2b 14m', '\d+')", "1"),
            (r"regexp_extract('1a 2b 14m', '(\d+)([a-z]+)', 2)", "a"),
        ],
    );
    add(registry, "regexp_extract", extract, args(), text(), |patterns, rows, args, to, ctx| {
        map_written::<Text, PartWriter<0>, _>(rows, args, to, ctx, |(text, pattern), out| {
            let regex = patterns.get(pattern)?;
            Ok::<_, Error>(regex.find(text).map(|it| out.set(it.as_str())))
        })
    });
    let args = || vec![text(), text(), number()];
    let none = FunctionDoc::default;
    add(registry, "regexp_extract", none(), args(), text(), |patterns, rows, args, to, ctx| {
        map_written::<Group, PartWriter<0>, _>(rows, args, to, ctx, |(text, pattern, it), out| {
            let found = extract_group(&*patterns.get(pattern)?, text, it)?;
            Ok::<_, Error>(found.map(|it| out.set(it)))
        })
    });
    let all = doc(
        "regexp_extract_all(varchar, pattern[, group]) -> array(varchar)",
        "All matches, or a group of each, null where it takes no part.",
        &[
            (r"regexp_extract_all('1a 2b 14m', '\d+')", "[1, 2, 14]"),
            (r"regexp_extract_all('1a 2b 14m', '(\d+)([a-z]+)', 2)", "[a, b, m]"),
        ],
    );
    let name = "regexp_extract_all";
    add(registry, name, all, vec![text(), text()], parts(), |patterns, rows, args, to, ctx| {
        map_written::<Text, Parts, _>(rows, args, to, ctx, |(text, pattern), out| {
            let push = |start, end| out.push(text.get(start..end));
            each_match(&*patterns.get(pattern)?, text, push);
            Ok::<_, Error>(())
        })
    });
    add(registry, name, none(), args(), parts(), |patterns, rows, args, to, ctx| {
        map_written::<Group, Parts, _>(rows, args, to, ctx, |(text, pattern, index), out| {
            each_capture(&*patterns.get(pattern)?, text, |groups| {
                out.push(group(text, groups, checked(index, groups)?));
                Ok(())
            })
        })
    });
    register_split(registry);
}

fn register_split(registry: &mut Registry) {
    let split = doc(
        "regexp_split(varchar, pattern) -> array(varchar)",
        "The parts between matches.",
        &[(r"regexp_split('1a 2b 14m', '\s*[a-z]+\s*')", "[1, 2, 14, '']")],
    );
    let args = vec![Varchar::pattern(), Varchar::pattern()];
    let parts = Array::<PartOf<0>>::pattern();
    add(registry, "regexp_split", split, args, parts, |patterns, rows, args, to, ctx| {
        map_written::<Text, Parts, _>(rows, args, to, ctx, |(text, pattern), out| {
            let mut last = 0;
            each_match(&*patterns.get(pattern)?, text, |start, end| {
                out.push(text.get(last..start));
                last = end;
            });
            out.push(text.get(last..));
            Ok::<_, Error>(())
        })
    });
}

fn extract_group<'a>(regex: &Regex, text: &'a str, index: i64) -> Result<Option<&'a str>> {
    let mut groups = regex.capture_locations();
    match regex.captures_read(&mut groups, text) {
        Some(_) => Ok(group(text, &groups, checked(index, &groups)?)),
        None => Ok(None),
    }
}

/// The number of a group that the pattern has.
fn checked(index: i64, groups: &CaptureLocations) -> Result<usize> {
    let valid = usize::try_from(index).ok().filter(|it| *it < groups.len());
    valid.ok_or_else(|| {
        let last = groups.len() - 1;
        Error::invalid_value(format!("pattern has {last} groups, and no group {index}"))
    })
}
