//! `parse_presto_data_size`.

use super::doc;
use volley_error::{Error, Result};
use volley_function::{
    Registry,
    simple::{Decimal, scalar},
};
use volley_types::{DECIMAL_PRECISION_MAX, Type};

/// Units and the exponents of their powers of 2.
const UNITS: [(&str, u32); 9] = [
    ("B", 0),
    ("kB", 10),
    ("MB", 20),
    ("GB", 30),
    ("TB", 40),
    ("PB", 50),
    ("EB", 60),
    ("ZB", 70),
    ("YB", 80),
];

/// Registers the function.
pub(super) fn register(registry: &mut Registry) {
    let size = doc(
        "parse_presto_data_size(varchar) -> decimal(38,0)",
        "The bytes that a number and a unit (B, kB, MB, GB, TB, PB, EB, ZB, YB) mean; fractions of \
         a byte are dropped.",
        &[("parse_presto_data_size('2.3MB')", "2411724"), ("parse_presto_data_size('1B')", "1")],
    );
    let parse = scalar(|text: &str| parse(text).map(|unscaled| Decimal { unscaled, scale: 0 }));
    let parse = parse.returning(|_| Some(Type::decimal(DECIMAL_PRECISION_MAX, 0)));
    registry.simple("presto.parse_presto_data_size", size, parse);
}

fn parse(text: &str) -> Result<i128> {
    let invalid = || Error::invalid_value(format!("invalid data size: '{text}'"));
    let end = text.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let (_, bits) = UNITS.into_iter().find(|it| it.0 == unit).ok_or_else(invalid)?;
    if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) {
        return Err(invalid());
    }
    let out_of_range = || Error::invalid_value(format!("data size out of range: '{text}'"));
    let whole = whole
        .bytes()
        .try_fold(0i128, |sum, digit| sum.checked_mul(10)?.checked_add(i128::from(digit - b'0')));
    let whole = whole.and_then(|it| it.checked_mul(1 << bits)).ok_or_else(out_of_range)?;
    let bytes = whole.checked_add(shifted_fraction(fraction, bits)).ok_or_else(out_of_range)?;
    if bytes < 10i128.pow(DECIMAL_PRECISION_MAX.into()) { Ok(bytes) } else { Err(out_of_range()) }
}

/// The whole part of `0.fraction` times `2^bits`, of any number of digits.
fn shifted_fraction(fraction: &str, bits: u32) -> i128 {
    let mut digits: Vec<u8> = fraction.bytes().map(|it| it - b'0').collect();
    let mut whole = 0;
    for _ in 0..bits {
        let mut carry = 0;
        for digit in digits.iter_mut().rev() {
            let doubled = *digit * 2 + carry;
            (*digit, carry) = (doubled % 10, doubled / 10);
        }
        whole = whole * 2 + i128::from(carry);
    }
    whole
}
