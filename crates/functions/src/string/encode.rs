//! Bytes and numbers as text: hexadecimal, binary, base 64.

use crate::documentation::doc;
use volley_error::Error;
use volley_function::{
    Registry,
    simple::{BigInt, HugeInt, StringWriter, Varbinary, Varchar, text_unary},
};

const HEX_DIGITS: [u8; 16] = *b"0123456789ABCDEF";
const BASE64_DIGITS: [u8; 64] =
    *b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Registers `hex`, `unhex`, `bin`, `to_base64`, `from_base64`, `encode` and `decode`.
pub(super) fn register(registry: &mut Registry) {
    let hex = doc(
        "hex(varchar, varbinary or integer) -> varchar",
        "The bytes, or the number in two's complement, in hexadecimal digits.",
        "string",
        &[("hex('abc')", "616263"), ("hex(255)", "FF")],
    );
    for name in ["hex", "to_hex"] {
        let of_text =
            text_unary::<Varchar, Varchar, _>(|text: &str, out| write_hex(text.as_bytes(), out));
        let of_bytes = text_unary::<Varbinary, Varchar, _>(write_hex);
        let of_bigint = text_unary::<BigInt, Varchar, _>(|value: i64, out| {
            write_radix(value as u64 as u128, 4, out)
        });
        let of_hugeint = text_unary::<HugeInt, Varchar, _>(|value: i128, out| {
            write_radix(value as u128, 4, out)
        });
        for bind in [of_text, of_bytes, of_bigint, of_hugeint] {
            registry.add_scalar(name, hex.clone(), bind);
        }
    }
    let unhex_doc = doc(
        "unhex(varchar) -> varbinary",
        "The bytes that hexadecimal digits mean.",
        "string",
        &[("unhex('4142')", "AB")],
    );
    for name in ["unhex", "from_hex"] {
        registry.add_scalar(name, unhex_doc.clone(), text_unary::<Varchar, Varbinary, _>(unhex));
    }
    let bin = doc(
        "bin(varchar, varbinary or integer) -> varchar",
        "The bytes, or the number in two's complement, in binary digits.",
        "string",
        &[("bin(5)", "101")],
    );
    for name in ["bin", "to_binary"] {
        let bind = text_unary::<BigInt, Varchar, _>(|value: i64, out| {
            write_radix(value as u64 as u128, 1, out)
        });
        registry.add_scalar(name, bin.clone(), bind);
        let of_text =
            text_unary::<Varchar, Varchar, _>(|text: &str, out| write_bits(text.as_bytes(), out));
        let of_bytes = text_unary::<Varbinary, Varchar, _>(write_bits);
        let of_hugeint = text_unary::<HugeInt, Varchar, _>(|value: i128, out| {
            write_radix(value as u128, 1, out)
        });
        for bind in [of_text, of_bytes, of_hugeint] {
            registry.add_scalar(name, bin.clone(), bind);
        }
    }
    register_base64(registry);
}

fn write_bits(bytes: &[u8], out: &mut StringWriter) {
    for byte in bytes {
        // The highest bit first.
        let digits: [u8; 8] = std::array::from_fn(|at| b'0' + (byte >> (7 - at) & 1));
        out.push_bytes(&digits);
    }
}

fn register_base64(registry: &mut Registry) {
    let to_doc = doc(
        "to_base64(varbinary) -> varchar",
        "The bytes in base 64.",
        "string",
        &[("to_base64('abc'::varbinary)", "YWJj")],
    );
    for name in ["to_base64", "base64"] {
        registry.add_scalar(
            name,
            to_doc.clone(),
            text_unary::<Varbinary, Varchar, _>(write_base64),
        );
    }
    let from_doc = doc(
        "from_base64(varchar) -> varbinary",
        "The bytes that a text in base 64 means.",
        "string",
        &[("from_base64('YWJj')", "abc")],
    );
    registry.add_scalar("from_base64", from_doc, text_unary::<Varchar, Varbinary, _>(read_base64));
    let encode = doc(
        "encode(varchar) -> varbinary",
        "The UTF-8 bytes of a text.",
        "string",
        &[("encode('ab')", "ab")],
    );
    let bytes = |text: &str, out: &mut StringWriter| out.push_str(text);
    registry.add_scalar("encode", encode, text_unary::<Varchar, Varbinary, _>(bytes));
    let decode_doc = doc(
        "decode(varbinary) -> varchar",
        "The text whose UTF-8 bytes are given.",
        "string",
        &[("decode('ab'::varbinary)", "ab")],
    );
    registry.add_scalar("decode", decode_doc, text_unary::<Varbinary, Varchar, _>(decode));
}

fn write_hex(bytes: &[u8], out: &mut StringWriter) {
    out.reserve(bytes.len() * 2);
    for byte in bytes {
        let digits = [HEX_DIGITS[usize::from(byte >> 4)], HEX_DIGITS[usize::from(byte & 15)]];
        out.push_bytes(&digits);
    }
}

/// Digits of `bits` bits each, without leading zeros.
fn write_radix(value: u128, bits: u32, out: &mut StringWriter) {
    let digits = (128 - value.leading_zeros()).div_ceil(bits).max(1);
    for digit in (0..digits).rev() {
        let digit = value >> (digit * bits) & ((1 << bits) - 1);
        out.push_bytes(&[HEX_DIGITS[digit as usize]]);
    }
}

fn unhex(text: &str, out: &mut StringWriter) -> Result<(), Error> {
    let invalid = || Error::invalid_value(format!("not hexadecimal: '{text}'"));
    let digit = |byte: u8| char::from(byte).to_digit(16).ok_or_else(invalid);
    let bytes = text.as_bytes();
    // An odd number of digits has half a byte in front.
    let (first, pairs) = bytes.split_at(bytes.len() % 2);
    for byte in first {
        out.push_bytes(&[digit(*byte)? as u8]);
    }
    for pair in pairs.chunks_exact(2) {
        out.push_bytes(&[(digit(pair[0])? << 4 | digit(pair[1])?) as u8]);
    }
    Ok(())
}

fn write_base64(bytes: &[u8], out: &mut StringWriter) {
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let mut digits = [b'='; 4];
        for (index, digit) in digits.iter_mut().enumerate().take(chunk.len() + 1) {
            *digit = BASE64_DIGITS[(bits >> (18 - 6 * index) & 63) as usize];
        }
        out.push_bytes(&digits);
    }
}

fn read_base64(text: &str, out: &mut StringWriter) -> Result<(), Error> {
    let invalid = || Error::invalid_value(format!("not base 64: '{text}'"));
    let bytes = text.as_bytes();
    if !bytes.len().is_multiple_of(4) {
        return Err(invalid());
    }
    for (index, chunk) in bytes.chunks_exact(4).enumerate() {
        let is_last = (index + 1) * 4 == bytes.len();
        let padding = chunk.iter().rev().take_while(|it| **it == b'=').count();
        if padding > 2 || (padding > 0 && !is_last) {
            return Err(invalid());
        }
        let mut bits = 0u32;
        for byte in &chunk[..4 - padding] {
            let digit = BASE64_DIGITS.iter().position(|it| it == byte).ok_or_else(invalid)?;
            bits = bits << 6 | digit as u32;
        }
        bits <<= 6 * padding;
        out.push_bytes(&bits.to_be_bytes()[1..4 - padding]);
    }
    Ok(())
}

fn decode(bytes: &[u8], out: &mut StringWriter) -> Result<(), Error> {
    let text = simdutf8::basic::from_utf8(bytes)
        .map_err(|_| Error::invalid_value("cannot decode bytes that are not UTF-8"))?;
    out.push_str(text);
    Ok(())
}
