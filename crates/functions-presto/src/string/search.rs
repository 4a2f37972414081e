//! `strpos` and `strrpos` of some instance.

use super::{code_points, doc};
use volley_error::{Error, Result};
use volley_function::{FunctionDoc, Registry};

/// Registers the functions; the first instance from the start is the core's `position`.
pub(super) fn register(registry: &mut Registry) {
    let from_start = doc(
        "strpos(varchar, part[, instance]) -> bigint",
        "Where the first, or some other, instance of `part` begins, from 1; 0 if there is none. \
         Instances may overlap. An empty part begins at 1.",
        &[("strpos('hello', 'l')", "3"), ("strpos('aaa', 'aa', 2)", "2")],
    );
    registry.simple("presto.strpos", from_start, |text: &str, part: &str, instance: i64| {
        position(text, part, instance, End::Start)
    });
    let from_end = doc(
        "strrpos(varchar, part[, instance]) -> bigint",
        "Where the last, or some other, instance of `part` from the end begins, from 1; 0 if \
         there is none. Instances may overlap. An empty part begins at 1.",
        &[("strrpos('hello', 'l')", "4"), ("strrpos('aaa', 'aa', 2)", "1")],
    );
    registry.simple("presto.strrpos", from_end, |text: &str, part: &str| {
        position(text, part, 1, End::Last)
    });
    let nth = |text: &str, part: &str, instance: i64| position(text, part, instance, End::Last);
    registry.simple("presto.strrpos", FunctionDoc::default(), nth);
}

/// The end of a text that instances are counted from.
enum End {
    Start,
    Last,
}

fn position(text: &str, part: &str, instance: i64, end: End) -> Result<i64> {
    if instance <= 0 {
        let message = format!("instance must be positive, not {instance}");
        return Err(Error::invalid_value(message));
    }
    if part.is_empty() {
        return Ok(1);
    }
    let skip = usize::try_from(instance - 1).unwrap_or(usize::MAX);
    let is_instance =
        |at: &usize| text.as_bytes().get(*at..).is_some_and(|it| it.starts_with(part.as_bytes()));
    let starts = || text.char_indices().map(|it| it.0);
    let found = match end {
        End::Start => starts().filter(is_instance).nth(skip),
        End::Last => starts().rev().filter(is_instance).nth(skip),
    };
    Ok(found.and_then(|at| text.get(..at)).map_or(0, |before| code_points(before) as i64 + 1))
}
