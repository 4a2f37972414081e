//! Numbers as bytes, the most significant first.

use super::doc;
use volley_error::{Error, Result};
use volley_function::{
    FunctionDoc, Registry,
    simple::{Simple, StringWriter, scalar},
};
use volley_types::Type;

/// Registers the functions.
pub(super) fn register(registry: &mut Registry) {
    let to = |name: &str, from: &str, what: &str, example: (&str, &str)| {
        let description = format!("The {what}, the most significant byte first.");
        doc(&format!("{name}({from}) -> varbinary"), &description, &[example])
    };
    let example = ("to_hex(to_big_endian_32(258))", "00000102");
    let integer = to("to_big_endian_32", "integer", "four bytes of the integer", example);
    let write = |x: i32, out: &mut StringWriter| out.push_bytes(&x.to_be_bytes());
    add_writer(registry, "to_big_endian_32", integer, scalar(write));
    let example = ("to_hex(to_big_endian_64(-1))", "FFFFFFFFFFFFFFFF");
    let bigint = to("to_big_endian_64", "bigint", "eight bytes of the integer", example);
    let write = |x: i64, out: &mut StringWriter| out.push_bytes(&x.to_be_bytes());
    add_writer(registry, "to_big_endian_64", bigint, scalar(write));
    let example = ("to_hex(to_ieee754_32(REAL '1'))", "3F800000");
    let real = to("to_ieee754_32", "real", "four bytes of the float by IEEE 754", example);
    let write = |x: f32, out: &mut StringWriter| {
        let x = if x.is_nan() { f32::NAN } else { x };
        out.push_bytes(&x.to_be_bytes());
    };
    add_writer(registry, "to_ieee754_32", real, scalar(write));
    let example = ("to_hex(to_ieee754_64(1e0))", "3FF0000000000000");
    let double = to("to_ieee754_64", "double", "eight bytes of the float by IEEE 754", example);
    let write = |x: f64, out: &mut StringWriter| {
        let x = if x.is_nan() { f64::NAN } else { x };
        out.push_bytes(&x.to_be_bytes());
    };
    add_writer(registry, "to_ieee754_64", double, scalar(write));
    register_readers(registry);
}

fn add_writer(registry: &mut Registry, name: &str, doc: FunctionDoc, function: Simple) {
    let function = function.returning(|_| Some(Type::Varbinary));
    registry.simple(&format!("presto.{name}"), doc, function);
}

fn register_readers(registry: &mut Registry) {
    let from = |name: &str, to: &str, example: (&str, &str)| {
        let description = format!("The {to} of which these are the bytes.");
        doc(&format!("{name}(varbinary) -> {to}"), &description, &[example])
    };
    let integer = from("from_big_endian_32", "integer", ("from_big_endian_32(X'00000102')", "258"));
    registry.simple("presto.from_big_endian_32", integer, |bytes: &[u8]| {
        exactly(bytes).map(i32::from_be_bytes)
    });
    let example = ("from_big_endian_64(X'FFFFFFFFFFFFFFFF')", "-1");
    let bigint = from("from_big_endian_64", "bigint", example);
    registry.simple("presto.from_big_endian_64", bigint, |bytes: &[u8]| {
        exactly(bytes).map(i64::from_be_bytes)
    });
    let real = from("from_ieee754_32", "real", ("from_ieee754_32(X'3F800000')", "1.0"));
    registry.simple("presto.from_ieee754_32", real, |bytes: &[u8]| {
        exactly(bytes).map(f32::from_be_bytes)
    });
    let double = from("from_ieee754_64", "double", ("from_ieee754_64(X'3FF0000000000000')", "1.0"));
    registry.simple("presto.from_ieee754_64", double, |bytes: &[u8]| {
        exactly(bytes).map(f64::from_be_bytes)
    });
}

fn exactly<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    let wrong = || Error::invalid_value(format!("expected {N} bytes, not {}", bytes.len()));
    bytes.try_into().map_err(|_| wrong())
}
