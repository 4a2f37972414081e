//! A checksum of rows that does not depend on their order.

use std::{fmt, fmt::Write};
use volley::{Batch, Result, Type, Value, Vector};

/// Significant digits of doubles that count: sums in another order differ in the last ones.
const DIGITS: usize = 9;

/// The sum of the rows' FNV-1a hashes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checksum(u64);

impl Checksum {
    /// Adds the rows of a batch.
    pub fn add(&mut self, batch: &Batch) -> Result<()> {
        let columns = batch.columns().iter().map(Vector::to_values).collect::<Result<Vec<_>>>()?;
        let types: Vec<&Type> = batch.columns().iter().map(Vector::data_type).collect();
        let mut text = String::new();
        for row in 0..batch.rows() {
            text.clear();
            for (column, data_type) in columns.iter().zip(&types) {
                // Writing to a String does not fail.
                let _ = match &column[row] {
                    Value::Double(value) => write!(text, "{value:.DIGITS$e}|"),
                    value => write!(text, "{}|", value.display(data_type)),
                };
            }
            self.0 = self.0.wrapping_add(hash(text.as_bytes()));
        }
        Ok(())
    }
}

/// FNV-1a (Fowler, Noll, Vo), 64 bits.
fn hash(bytes: &[u8]) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    bytes.iter().fold(BASIS, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
