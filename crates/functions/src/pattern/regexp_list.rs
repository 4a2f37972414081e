//! Functions on regular expressions, and on separators, that give arrays.

use super::{PatternCache, expression::Options};
use crate::documentation::doc;
use regex::Regex;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BindScalar, Registry, ScalarFunction, ScalarTraits,
    simple::{
        self, Array, ArrayWriter, CancelCheck, PartOf, Pattern, SqlType, Varchar, map_written,
    },
};

/// Parts of the first argument, whose buffers they share.
type Parts = ArrayWriter<PartOf<0>>;

/// Registers `regexp_extract_all`, `regexp_split_to_array` and `string_split`.
pub(super) fn register(registry: &mut Registry) {
    let extract = doc(
        "regexp_extract_all(text, pattern[, group]) -> array(varchar)",
        "All matches, or a group of each.",
        "string",
        &[("regexp_extract_all('a1b2', '[a-z]([0-9])', 1)", "[1, 2]")],
    );
    for bind in bind_extract() {
        registry.add_scalar("regexp_extract_all", extract.clone(), bind);
    }
    let split = doc(
        "regexp_split_to_array(text, pattern) -> array(varchar)",
        "The parts between matches.",
        "string",
        &[("regexp_split_to_array('a1b', '[0-9]')", "[a, b]")],
    );
    for name in ["regexp_split_to_array", "string_split_regex", "str_split_regex"] {
        let function = simple::vectorized(|rows, args, to, ctx| {
            let cache = PatternCache::default();
            map_written::<(Varchar, Varchar), Parts, _>(
                rows,
                args,
                to,
                ctx,
                |(text, pattern), out| -> Result<()> {
                    let mut start = 0;
                    let mut cancel = CancelCheck::default();
                    let expression = compiled(&cache, pattern)?;
                    for found in expression.find_iter(text).take_while(|_| cancel.go_on(1)) {
                        // An empty match splits between characters only.
                        let is_inside = found.start() > 0 && found.end() < text.len();
                        if is_inside || !found.is_empty() {
                            out.push(&text[start..found.start()]);
                            start = found.end();
                        }
                    }
                    out.push(&text[start..]);
                    Ok(())
                },
            )
        });
        registry.add_scalar(name, split.clone(), bind(vec![text(), text()], function));
    }
    let plain = doc(
        "string_split(text, separator) -> array(varchar)",
        "The parts between separators; the characters when the separator is empty.",
        "string",
        &[("string_split('a,b', ',')", "[a, b]")],
    );
    for name in ["string_split", "split", "str_split", "string_to_array"] {
        registry.simple(name, plain.clone(), |text: &str, separator: &str, out: &mut Parts| {
            if text.is_empty() {
                out.push(text);
            } else if separator.is_empty() {
                out.extend(text.char_indices().map(|(at, it)| &text[at..at + it.len_utf8()]));
            } else {
                out.extend(text.split(separator));
            }
        });
    }
}

fn bind_extract() -> [BindScalar; 2] {
    let whole = simple::vectorized(|rows, args, to, ctx| {
        let cache = PatternCache::default();
        map_written::<(Varchar, Varchar), Parts, _>(rows, args, to, ctx, |(text, pattern), out| {
            extract(&*compiled(&cache, pattern)?, text, 0, out)
        })
    });
    let group = simple::vectorized(|rows, args, to, ctx| {
        let cache = PatternCache::default();
        map_written::<(Varchar, Varchar, i64), Parts, _>(
            rows,
            args,
            to,
            ctx,
            |(text, pattern, group), out| extract(&*compiled(&cache, pattern)?, text, group, out),
        )
    });
    [bind(vec![text(), text()], whole), bind(vec![text(), text(), i64::pattern()], group)]
}

/// A group of each match, null where it took no part.
fn extract(expression: &Regex, text: &str, group: i64, out: &mut Parts) -> Result<()> {
    let group = usize::try_from(group).ok().filter(|it| *it < expression.captures_len());
    let group = group.ok_or_else(|| Error::invalid_value("the pattern has no such group"))?;
    let mut cancel = CancelCheck::default();
    for found in expression.captures_iter(text).take_while(|_| cancel.go_on(1)) {
        match found.get(group) {
            Some(part) => out.push(part.as_str()),
            None => out.push_null(),
        }
    }
    Ok(())
}

fn compiled(cache: &PatternCache<Regex>, pattern: &str) -> Result<Arc<Regex>> {
    cache.get(pattern, || Options::default().compile(pattern))
}

fn text() -> Pattern {
    Varchar::pattern()
}

fn bind(args: Vec<Pattern>, function: Arc<dyn ScalarFunction>) -> BindScalar {
    simple::bind(args, Array::<PartOf<0>>::pattern(), ScalarTraits::DEFAULT, function)
}
