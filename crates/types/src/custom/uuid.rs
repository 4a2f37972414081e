//! UUID: 128 bits, written in five groups of hexadecimal digits (RFC 9562).

use super::{Custom, CustomType, Exchange, bits_of, stored_bits};
use crate::{Type, Value};
use std::fmt::Write;

/// The type UUID. Stored as HUGEINT in the order of the bytes; see [`stored_bits`].
#[derive(Debug)]
pub struct Uuid;

impl Uuid {
    /// The type.
    pub fn data_type() -> Type {
        Type::Custom(Custom::new(Uuid))
    }
}

impl CustomType for Uuid {
    fn name(&self) -> &str {
        "UUID"
    }

    fn storage(&self) -> &Type {
        &Type::HugeInt
    }

    fn push(&self, out: &mut String, stored: &Value) {
        let Value::HugeInt(stored) = stored else { return };
        let bits = bits_of(*stored);
        let part = |shift: u32, digits: u32| (bits >> shift) & ((1 << (digits * 4)) - 1);
        let (a, b, c) = (part(96, 8), part(80, 4), part(64, 4));
        // Writing to a string does not fail.
        let _ = write!(out, "{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}", part(48, 4), part(0, 12));
    }

    /// 32 hexadecimal digits, with hyphens between groups and braces around, or without.
    fn parse(&self, text: &str) -> Option<Value> {
        let text = text.trim_ascii();
        let text = match text.strip_prefix('{') {
            Some(inner) => inner.strip_suffix('}')?,
            None => text,
        };
        let (mut bits, mut digits) = (0u128, 0);
        let mut after_hyphen = true;
        for char in text.chars() {
            if char == '-' {
                if after_hyphen || digits % 4 != 0 || digits == 32 {
                    return None;
                }
                after_hyphen = true;
                continue;
            }
            after_hyphen = false;
            digits += 1;
            if digits > 32 {
                return None;
            }
            bits = bits << 4 | u128::from(char.to_digit(16)?);
        }
        (digits == 32).then(|| Value::HugeInt(stored_bits(bits)))
    }

    fn exchange(&self) -> Exchange {
        Exchange::Uuids
    }
}
