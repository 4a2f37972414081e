//! `lpad` and `rpad`.

use super::{byte_of, code_points, doc};
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{StringWriter, scalar},
};
use volley_types::Type;

/// The longest padding, in bytes.
const PADDING_BYTES_MAX: usize = 256 << 20;

/// Registers the functions for texts and for bytes.
pub(super) fn register(registry: &mut Registry) {
    let left = doc(
        "lpad(x, size, padding) -> as x",
        "The text, or the bytes, brought to the size by padding the start, or cutting the end.",
        &[("lpad('7', 3, '0')", "007"), ("lpad('hello', 3, 'x')", "hel")],
    );
    let right = doc(
        "rpad(x, size, padding) -> as x",
        "The text, or the bytes, brought to the size by padding or cutting the end.",
        &[("rpad('7', 3, '0')", "700"), ("rpad('x', 4, 'ab')", "xaba")],
    );
    registry.simple("presto.lpad", left, |text: &str, size: i64, padding: &str, out: &mut _| {
        pad_text(text, size, padding, Side::Left, out)
    });
    registry.simple("presto.rpad", right, |text: &str, size: i64, padding: &str, out: &mut _| {
        pad_text(text, size, padding, Side::Right, out)
    });
    for (name, side) in [("presto.lpad", Side::Left), ("presto.rpad", Side::Right)] {
        let pad = move |bytes: &[u8], size: i64, padding: &[u8], out: &mut StringWriter| {
            pad_bytes(bytes, size, padding, side, out)
        };
        let pad = scalar(pad).returning(|_| Some(Type::Varbinary));
        registry.simple(name, FunctionDoc::default(), pad);
    }
}

#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

fn checked(size: i64, has_padding: bool) -> Result<usize> {
    if !has_padding {
        return Err(Error::invalid_value("padding must not be empty"));
    }
    let valid = i32::try_from(size).ok().and_then(|it| usize::try_from(it).ok());
    valid.ok_or_else(|| {
        Error::invalid_value(format!("size must be between 0 and 2147483647, not {size}"))
    })
}

fn check_bytes(bytes: usize) -> Result<()> {
    let too_long = || Error::invalid_value("padding would be longer than 256 MiB");
    if bytes <= PADDING_BYTES_MAX { Ok(()) } else { Err(too_long()) }
}

fn pad_text(
    text: &str,
    size: i64,
    padding: &str,
    side: Side,
    out: &mut StringWriter,
) -> Result<()> {
    let size = checked(size, !padding.is_empty())?;
    let Some(missing) = size.checked_sub(code_points(text)) else {
        out.push_str(text.get(..byte_of(text, size)).unwrap_or(text));
        return Ok(());
    };
    let padding_len = code_points(padding);
    check_bytes((missing / padding_len + 1).saturating_mul(padding.len()))?;
    let rest = padding.get(..byte_of(padding, missing % padding_len)).unwrap_or("");
    write(text.as_bytes(), [padding.as_bytes(), rest.as_bytes()], missing / padding_len, side, out);
    Ok(())
}

fn pad_bytes(
    bytes: &[u8],
    size: i64,
    padding: &[u8],
    side: Side,
    out: &mut StringWriter,
) -> Result<()> {
    let size = checked(size, !padding.is_empty())?;
    let Some(missing) = size.checked_sub(bytes.len()) else {
        out.push_bytes(bytes.get(..size).unwrap_or(bytes));
        return Ok(());
    };
    check_bytes(missing)?;
    let rest = padding.get(..missing % padding.len()).unwrap_or_default();
    write(bytes, [padding, rest], missing / padding.len(), side, out);
    Ok(())
}

/// `count` times the padding and then a part of it, before or after the bytes.
fn write(
    bytes: &[u8],
    [padding, rest]: [&[u8]; 2],
    count: usize,
    side: Side,
    out: &mut StringWriter,
) {
    out.reserve(bytes.len() + count * padding.len() + rest.len());
    if matches!(side, Side::Right) {
        out.push_bytes(bytes);
    }
    out.push_repeated(padding, count);
    out.push_bytes(rest);
    if matches!(side, Side::Left) {
        out.push_bytes(bytes);
    }
}
