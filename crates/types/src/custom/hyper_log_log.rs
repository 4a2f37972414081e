//! HYPERLOGLOG: a sketch of a set, from which the number of its elements can be estimated.
//!
//! ```text
//! byte 0      0: the set itself          1: only what HyperLogLog keeps
//! byte 1      b, 4 to 16: bits of a hash that choose one of 2^b registers
//! from 2      the elements' hashes,      2^b registers of one byte: the largest position, from 1,
//!             8 bytes each, the most     of the first set bit among the 64-b other bits of the
//!             significant first; at      hashes that chose the register; 0 when there is none
//!             most 2^b/8 of them
//! ```

use super::{Custom, CustomOrder, CustomType};
use crate::{Type, Value, text};

/// The type HYPERLOGLOG. Stored as VARBINARY.
#[derive(Debug)]
pub struct HyperLogLog;

impl HyperLogLog {
    /// The fewest bits that choose a register.
    pub const INDEX_BITS_MIN: u32 = 4;

    /// The most bits that choose a register.
    pub const INDEX_BITS_MAX: u32 = 16;

    /// The type.
    pub fn data_type() -> Type {
        Type::Custom(Custom::new(HyperLogLog))
    }

    /// Whether bytes are a sketch.
    pub fn is_valid(bytes: &[u8]) -> bool {
        let [tag, bits, rest @ ..] = bytes else { return false };
        let bits = u32::from(*bits);
        if !(HyperLogLog::INDEX_BITS_MIN..=HyperLogLog::INDEX_BITS_MAX).contains(&bits) {
            return false;
        }
        let registers = 1usize << bits;
        match tag {
            0 => rest.len() % 8 == 0 && rest.len() <= registers,
            1 => rest.len() == registers && rest.iter().all(|it| u32::from(*it) <= 65 - bits),
            _ => false,
        }
    }
}

impl CustomType for HyperLogLog {
    fn name(&self) -> &str {
        "HYPERLOGLOG"
    }

    fn storage(&self) -> &Type {
        &Type::Varbinary
    }

    fn push(&self, out: &mut String, stored: &Value) {
        if let Value::Varbinary(bytes) = stored {
            text::push_binary(out, bytes);
        }
    }

    fn parse(&self, text: &str) -> Option<Value> {
        let mut bytes = Vec::new();
        text::parse_binary(text, &mut bytes)?;
        HyperLogLog::is_valid(&bytes).then(|| Value::Varbinary(bytes.into()))
    }

    /// Sketches of one set may differ.
    fn order(&self) -> CustomOrder {
        CustomOrder::None
    }
}
