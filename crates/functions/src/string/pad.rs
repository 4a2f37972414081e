//! Longer texts: `lpad`, `rpad`, `repeat`.

use super::{byte_of, code_points};
use crate::documentation::doc;
use volley_error::Error;
use volley_function::{
    FunctionDoc, Registry,
    simple::{BigInt, StringWriter, Varchar, scalar, text_binary, text_ternary},
};
use volley_types::Type;

/// The longest text that a function makes, in bytes.
const TEXT_BYTES_MAX: u64 = 256 << 20;

/// Registers `lpad`, `rpad` and `repeat`.
pub(super) fn register(registry: &mut Registry) {
    let lpad = doc(
        "lpad(varchar, length, padding) -> varchar",
        "The text brought to `length` code points by padding at its start, or by cutting its end.",
        "string",
        &[("lpad('7', 3, '0')", "007"), ("lpad('hello', 3, 'x')", "hel")],
    );
    let rpad = doc(
        "rpad(varchar, length, padding) -> varchar",
        "The text brought to `length` code points by padding or cutting its end.",
        "string",
        &[("rpad('7', 3, '0')", "700")],
    );
    let repeat_doc = doc(
        "repeat(varchar or varbinary, count) -> varchar or varbinary",
        "The text, `count` times.",
        "string",
        &[("repeat('ab', 3)", "ababab")],
    );
    let left =
        text_ternary::<Varchar, BigInt, Varchar, Varchar, _>(|text, length, padding, out| {
            let missing = missing(text, length, padding)?;
            write_padding(padding, missing, out);
            out.push_str(&text[..byte_of(text, length.max(0) as usize)]);
            Ok(())
        });
    registry.add_scalar("lpad", lpad, left);
    let right =
        text_ternary::<Varchar, BigInt, Varchar, Varchar, _>(|text, length, padding, out| {
            let missing = missing(text, length, padding)?;
            out.push_str(&text[..byte_of(text, length.max(0) as usize)]);
            write_padding(padding, missing, out);
            Ok(())
        });
    registry.add_scalar("rpad", rpad, right);
    let of_text = |text: &str, count, out: &mut _| repeat(text.as_bytes(), count, out);
    registry.add_scalar("repeat", repeat_doc, text_binary::<Varchar, BigInt, Varchar, _>(of_text));
    let of_bytes = |bytes: &[u8], count: i64, out: &mut StringWriter| repeat(bytes, count, out);
    let of_bytes = scalar(of_bytes).returning(|_| Some(Type::Varbinary));
    registry.simple("repeat", FunctionDoc::default(), of_bytes);
}

/// The number of code points to add.
fn missing(text: &str, length: i64, padding: &str) -> Result<usize, Error> {
    let missing = length.saturating_sub(code_points(text) as i64);
    if missing <= 0 {
        return Ok(0);
    }
    if padding.is_empty() {
        return Err(Error::invalid_value("cannot pad with an empty text"));
    }
    if missing.unsigned_abs() > TEXT_BYTES_MAX / 4 {
        return Err(too_long());
    }
    Ok(missing as usize)
}

fn too_long() -> Error {
    Error::invalid_value("text would be longer than 256 MiB")
}

fn write_padding(padding: &str, count: usize, out: &mut StringWriter) {
    let points = code_points(padding).max(1);
    out.push_repeated(padding.as_bytes(), count / points);
    out.push_str(&padding[..byte_of(padding, count % points)]);
}

fn repeat(bytes: &[u8], count: i64, out: &mut StringWriter) -> Result<(), Error> {
    let count = repeated(bytes.len(), count)?;
    out.reserve(bytes.len() * count);
    out.push_repeated(bytes, count);
    Ok(())
}

/// How often to repeat this number of bytes.
fn repeated(len: usize, count: i64) -> Result<usize, Error> {
    let count = if len == 0 { 0 } else { count.max(0) as u64 };
    let bytes = count.checked_mul(len as u64).filter(|it| *it <= TEXT_BYTES_MAX);
    bytes.map(|_| count as usize).ok_or_else(too_long)
}
