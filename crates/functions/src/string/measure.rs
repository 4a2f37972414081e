//! Lengths and single code points.

use super::code_points;
use crate::documentation::doc;
use volley_error::Error;
use volley_function::{
    Registry,
    simple::{BigInt, Integer, Varbinary, Varchar, ascii_unary, unary},
};

/// Registers `length` and its kin, `ascii` and `chr`.
pub(super) fn register(registry: &mut Registry) {
    let length = doc(
        "length(varchar) -> bigint",
        "The number of code points.",
        "string",
        &[("length('größe')", "5")],
    );
    for name in ["length", "char_length", "character_length", "len"] {
        let bind = ascii_unary::<Varchar, BigInt, _>(
            |text: &str| code_points(text) as i64,
            |text: &str| text.len() as i64,
        );
        registry.add_scalar(name, length.clone(), bind);
    }
    let octets = doc(
        "octet_length(varbinary or varchar) -> bigint",
        "The number of bytes.",
        "string",
        &[("octet_length('日')", "3")],
    );
    for name in ["octet_length", "strlen"] {
        let of_text = unary::<Varchar, BigInt, _>(|text: &str| text.len() as i64);
        let of_bytes = unary::<Varbinary, BigInt, _>(|bytes: &[u8]| bytes.len() as i64);
        registry.add_scalar(name, octets.clone(), of_text);
        registry.add_scalar(name, octets.clone(), of_bytes);
    }
    let bits = doc(
        "bit_length(varchar) -> bigint",
        "The number of bits.",
        "string",
        &[("bit_length('ab')", "16")],
    );
    let bit_length = unary::<Varchar, BigInt, _>(|text: &str| text.len() as i64 * 8);
    registry.add_scalar("bit_length", bits, bit_length);
    let ascii = doc(
        "ascii(varchar) -> integer",
        "The number of the first code point; 0 for an empty text.",
        "string",
        &[("ascii('A')", "65")],
    );
    for name in ["ascii", "unicode", "ord"] {
        let of_empty = if name == "ascii" { 0 } else { -1 };
        let first = move |text: &str| text.chars().next().map_or(of_empty, |it| it as i32);
        registry.add_scalar(name, ascii.clone(), unary::<Varchar, Integer, _>(first));
    }
    let chr = doc(
        "chr(integer) -> varchar",
        "The character with this code point.",
        "string",
        &[("chr(8364)", "€")],
    );
    registry.add_scalar("chr", chr, unary::<Integer, Varchar, _>(character));
}

fn character(code: i32) -> Result<String, Error> {
    let character = u32::try_from(code).ok().and_then(char::from_u32);
    let invalid = || Error::invalid_value(format!("not a code point: {code}"));
    character.map(String::from).ok_or_else(invalid)
}
