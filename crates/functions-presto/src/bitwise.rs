//! Bitwise functions, in two's complement.

use volley_error::{Error, Result};
use volley_function::{FunctionDoc, Registry, simple::scalar};

/// Registers the chapter.
pub(crate) fn register(registry: &mut Registry) {
    let operators: [(&str, &str, fn(i64, i64) -> i64, &str); 3] = [
        ("bitwise_and", "The bits that are set in both.", |x, y| x & y, "0"),
        ("bitwise_or", "The bits that are set in one of both, or in both.", |x, y| x | y, "27"),
        ("bitwise_xor", "The bits that are set in one of both only.", |x, y| x ^ y, "27"),
    ];
    for (name, description, f, result) in operators {
        let signature = format!("{name}(bigint, bigint) -> bigint");
        let doc = doc(&signature, description, &[(&format!("{name}(19, 8)"), result)]);
        registry.simple(&format!("presto.{name}"), doc, move |x: i64, y: i64| f(x, y));
    }
    let not = doc(
        "bitwise_not(bigint) -> bigint",
        "The bits that are not set.",
        &[("bitwise_not(5)", "-6")],
    );
    registry.simple("presto.bitwise_not", not, |x: i64| !x);
    let count = doc(
        "bit_count(x, bits) -> bigint",
        "The number of bits set in x, as an integer of `bits` bits, 2 to 64.",
        &[("bit_count(9, 64)", "2"), ("bit_count(-7, 8)", "6")],
    );
    registry.simple("presto.bit_count", count, bit_count);
    register_sized_shifts(registry);
    register_shifts(registry);
}

fn doc(signature: &str, description: &str, examples: &[(&str, &str)]) -> FunctionDoc {
    FunctionDoc::new(signature, description, "bitwise", examples)
}

/// Shifts of 64-bit integers, which use only this number of bits.
fn register_sized_shifts(registry: &mut Registry) {
    let left = doc(
        "bitwise_shift_left(x, shift, bits) -> bigint",
        "x, as an integer of `bits` bits, shifted to the left.",
        &[("bitwise_shift_left(7, 2, 4)", "12"), ("bitwise_shift_left(7, 2, 64)", "28")],
    );
    registry.simple("presto.bitwise_shift_left", left, |x: i64, shift: i64, bits: i64| {
        let (shift, mask) = (checked_shift(shift)?, mask(bits)?);
        Ok::<i64, Error>((x as u64).checked_shl(shift).unwrap_or(0) as i64 & mask)
    });
    let right = doc(
        "bitwise_logical_shift_right(x, shift, bits) -> bigint",
        "x, as an integer of `bits` bits, shifted to the right and filled with zeros.",
        &[
            ("bitwise_logical_shift_right(7, 2, 4)", "1"),
            ("bitwise_logical_shift_right(-8, 2, 5)", "6"),
        ],
    );
    let logical = |x: i64, shift: i64, bits: i64| {
        let (shift, mask) = (checked_shift(shift)?, mask(bits)?);
        Ok::<i64, Error>(((x & mask) as u64).checked_shr(shift).unwrap_or(0) as i64)
    };
    registry.simple("presto.bitwise_logical_shift_right", right, logical);
    let arithmetic = doc(
        "bitwise_arithmetic_shift_right(x, shift) -> bigint",
        "x shifted to the right; filled with copies of its sign.",
        &[
            ("bitwise_arithmetic_shift_right(-8, 2)", "-2"),
            ("bitwise_arithmetic_shift_right(7, 2)", "1"),
        ],
    );
    registry.simple("presto.bitwise_arithmetic_shift_right", arithmetic, |x: i64, shift: i64| {
        Ok::<i64, Error>(x >> checked_shift(shift)?.min(63))
    });
}

/// Shifts in the type of the integer.
fn register_shifts(registry: &mut Registry) {
    let left = doc(
        "bitwise_left_shift(integer, shift) -> as the integer",
        "The integer shifted to the left; bits beyond its type are lost.",
        &[
            ("bitwise_left_shift(TINYINT '7', 2)", "28"),
            ("bitwise_left_shift(TINYINT '127', 1)", "-2"),
        ],
    );
    let logical = doc(
        "bitwise_right_shift(integer, shift) -> as the integer",
        "The integer shifted to the right; filled with zeros.",
        &[
            ("bitwise_right_shift(TINYINT '7', 2)", "1"),
            ("bitwise_right_shift(SMALLINT '-8', 2)", "16382"),
        ],
    );
    let arithmetic = doc(
        "bitwise_right_shift_arithmetic(integer, shift) -> as the integer",
        "The integer shifted to the right; filled with copies of its sign.",
        &[
            ("bitwise_right_shift_arithmetic(BIGINT '-8', 2)", "-2"),
            ("bitwise_right_shift_arithmetic(SMALLINT '7', 2)", "1"),
        ],
    );
    let left_of = |x: i64, _bits: u32, shift: u32| x.checked_shl(shift).unwrap_or(0);
    let logical_of = |x: i64, bits: u32, shift: u32| {
        let unsigned = x as u64 & (u64::MAX >> (64 - bits));
        unsigned.checked_shr(shift).unwrap_or(0) as i64
    };
    let arithmetic_of = |x: i64, _bits: u32, shift: u32| x >> shift.min(63);
    add_shift(registry, "bitwise_left_shift", left, left_of);
    add_shift(registry, "bitwise_right_shift", logical, logical_of);
    add_shift(registry, "bitwise_right_shift_arithmetic", arithmetic, arithmetic_of);
}

/// A shift for every width; `shift` gets the sign-extended integer and the bits of its type.
fn add_shift(
    registry: &mut Registry,
    name: &str,
    doc: FunctionDoc,
    shift: fn(i64, u32, u32) -> i64,
) {
    let name = format!("presto.{name}");
    // As in Java, bits of the shift beyond the lowest six count only where it is positive.
    let amount = |by: i32| if by < 0 { by as u32 & 63 } else { by as u32 };
    registry.simple(&name, doc, move |x: i64, by: i32| shift(x, 64, amount(by)));
    let mut add = |bind| registry.add_scalar(&name, FunctionDoc::default(), bind);
    add(scalar(move |x: i8, by: i32| shift(x.into(), 8, amount(by)) as i8).into_bind());
    add(scalar(move |x: i16, by: i32| shift(x.into(), 16, amount(by)) as i16).into_bind());
    add(scalar(move |x: i32, by: i32| shift(x.into(), 32, amount(by)) as i32).into_bind());
}

/// Shifts of 64 and more move all bits out.
fn checked_shift(shift: i64) -> Result<u32> {
    if shift < 0 {
        return Err(Error::invalid_value(format!("shift must not be negative: {shift}")));
    }
    Ok(u32::try_from(shift).unwrap_or(u32::MAX))
}

/// The lowest `bits` bits.
fn mask(bits: i64) -> Result<i64> {
    if !(2..=64).contains(&bits) {
        return Err(Error::invalid_value(format!("bits must be between 2 and 64, not {bits}")));
    }
    Ok((u64::MAX >> (64 - bits)) as i64)
}

fn bit_count(x: i64, bits: i64) -> Result<i64> {
    let mask = mask(bits)?;
    // The greatest integer of this number of bits; its complement is the least.
    let greatest = (mask as u64 >> 1) as i64;
    if !(!greatest..=greatest).contains(&x) {
        return Err(Error::invalid_value(format!("{x} does not fit {bits} bits")));
    }
    Ok((x & mask).count_ones().into())
}
