//! `split` and `split_part`.

use super::{doc, nth_byte};
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{ArrayWriter, PartOf, PartWriter},
};

/// Parts of the first argument, whose buffers they share.
type Parts = ArrayWriter<PartOf<0>>;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let split_doc = doc(
        "split(varchar, delimiter[, limit]) -> array(varchar)",
        "The parts between delimiters, at most `limit`, the last one is the rest. The delimiter \
         may not be empty.",
        &[("split('a,b,c', ',')", "[a, b, c]"), ("split('a,b,c', ',', 2)", "[a, 'b,c']")],
    );
    let all = |text: &str, delimiter: &str, out: &mut Parts| -> Result<()> {
        split(text, delimiter, usize::MAX, out)
    };
    registry.simple("presto.split", split_doc, all);
    let limited = |text: &str, delimiter: &str, limit: i64, out: &mut Parts| -> Result<()> {
        let valid = i32::try_from(limit).ok().filter(|it| *it > 0);
        let invalid =
            || Error::invalid_value(format!("limit must be 1 to 2147483647, not {limit}"));
        split(text, delimiter, valid.ok_or_else(invalid)? as usize, out)
    };
    registry.simple("presto.split", FunctionDoc::default(), limited);
    let part_doc = doc(
        "split_part(varchar, delimiter, index) -> varchar",
        "The part at `index` between delimiters, from 1; null if there is none.",
        &[("split_part('a,b,c', ',', 2)", "b"), ("split_part('a', ',', 2)", "NULL")],
    );
    registry.simple("presto.split_part", part_doc, split_part);
}

fn split(text: &str, delimiter: &str, limit: usize, out: &mut Parts) -> Result<()> {
    if delimiter.is_empty() {
        return Err(Error::invalid_value("the delimiter of split may not be empty"));
    }
    out.extend(text.splitn(limit, delimiter));
    Ok(())
}

fn split_part(
    text: &str,
    delimiter: &str,
    index: i64,
    out: &mut PartWriter<0>,
) -> Result<Option<()>> {
    if index <= 0 {
        let message = format!("index must be greater than 0, not {index}");
        return Err(Error::invalid_value(message));
    }
    let skip = usize::try_from(index - 1).unwrap_or(usize::MAX);
    let part = if delimiter.is_empty() {
        let rest = nth_byte(text, skip).and_then(|at| text.get(at..));
        rest.and_then(|it| it.get(..it.chars().next()?.len_utf8()))
    } else {
        text.split(delimiter).nth(skip)
    };
    Ok(part.map(|it| out.set(it)))
}
