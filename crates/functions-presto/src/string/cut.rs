//! Parts of texts: `substr`, `trail`, `longest_common_prefix`.

use super::{byte_of, code_points, doc, nth_byte};
use std::ops::Range;
use volley_function::{
    FunctionDoc, Registry,
    simple::{BigInt, PartWriter, ascii_slice_binary, ascii_slice_ternary},
};

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let substr_doc = doc(
        "substr(x, start[, length]) -> as x",
        "The text from position `start`, from 1, or from the end when it is negative. Empty if \
         there is no such position, such as 0.",
        &[
            ("substr('hello', 2, 3)", "ell"),
            ("substr('hello', -3)", "llo"),
            ("substr('hello', -9)", ""),
        ],
    );
    for name in ["presto.substr", "presto.substring"] {
        let from = ascii_slice_binary::<BigInt>(
            |text, start| substr(text, start, i64::MAX),
            |len, start| range(len, start, i64::MAX),
        );
        registry.add_scalar(name, substr_doc.clone(), from);
        let part = ascii_slice_ternary::<BigInt, BigInt>(substr, range);
        registry.add_scalar(name, FunctionDoc::default(), part);
    }
    let trail_doc = doc(
        "trail(varchar, count) -> varchar",
        "The last `count` code points, or all when there are fewer.",
        &[("trail('hello', 3)", "llo")],
    );
    let last = ascii_slice_binary::<BigInt>(trail, |len, count| {
        len - usize::try_from(count).unwrap_or(0).min(len)..len
    });
    registry.add_scalar("presto.trail", trail_doc, last);
    let prefix_doc = doc(
        "longest_common_prefix(varchar, varchar) -> varchar",
        "The longest text that both begin with.",
        &[("longest_common_prefix('hello', 'help')", "hel")],
    );
    let prefix = |left: &str, right: &str, out: &mut PartWriter<0>| {
        let pairs = left.chars().zip(right.chars());
        let same = pairs.take_while(|(a, b)| a == b);
        let len: usize = same.map(|it| it.0.len_utf8()).sum();
        out.set(left.get(..len).unwrap_or(left));
    };
    registry.simple("presto.longest_common_prefix", prefix_doc, prefix);
}

fn substr(text: &str, start: i64, length: i64) -> &str {
    let skip = match usize::try_from(start.saturating_sub(1)) {
        Ok(skip) => Some(skip),
        Err(_) if start == 0 => None,
        Err(_) => {
            let back = usize::try_from(start.unsigned_abs()).unwrap_or(usize::MAX);
            code_points(text).checked_sub(back)
        }
    };
    let first = skip.and_then(|it| nth_byte(text, it));
    let Some(rest) = first.and_then(|it| text.get(it..)) else { return "" };
    rest.get(..byte_of(rest, usize::try_from(length).unwrap_or(0))).unwrap_or(rest)
}

/// [`substr`] of `len` bytes, each of which counts.
pub(super) fn range(len: usize, start: i64, length: i64) -> Range<usize> {
    let len = len as i64;
    let first = if start < 0 { start.saturating_add(len) } else { start - 1 };
    if first < 0 || first >= len || length <= 0 {
        return 0..0;
    }
    first as usize..first.saturating_add(length).min(len) as usize
}

fn trail(text: &str, count: i64) -> &str {
    let Some(last) = usize::try_from(count).ok().and_then(|it| it.checked_sub(1)) else {
        return "";
    };
    let first = text.char_indices().nth_back(last).map_or(0, |it| it.0);
    text.get(first..).unwrap_or(text)
}
