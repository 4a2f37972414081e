//! Partitions of rows by bits of the hash of their keys.

use super::{collection_type, field, only};
use std::fmt;
use volley_error::{Error, Result};
use volley_types::{Field, Schema, Type};

/// More bits than this make partitions that are smaller than their headers.
const BITS_MAX: u8 = 16;

/// Which partition a row is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionFunction {
    /// By some bits of the hash of the keys: equal keys are in the same partition.
    Radix {
        /// The key columns.
        keys: Vec<usize>,
        /// How many of the highest bits are left out: those of partitions around these.
        skipped_bits: u8,
        /// How many bits count: there are 2 to the power of this many partitions.
        bits: u8,
    },
}

/// Counts the rows of each partition. Returns the number of the partition and of its rows, both
/// BIGINT; partitions without rows are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// The partitions.
    pub function: PartitionFunction,
}

/// Collects the rows of each partition. Returns the number of the partition, a BIGINT, and the
/// collection of its rows; partitions without rows are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The partitions.
    pub function: PartitionFunction,
}

impl PartitionFunction {
    /// The number of partitions.
    pub fn partitions(&self) -> usize {
        let PartitionFunction::Radix { bits, .. } = self;
        1 << (*bits).min(BITS_MAX)
    }

    /// The columns that decide.
    pub fn keys(&self) -> &[usize] {
        let PartitionFunction::Radix { keys, .. } = self;
        keys
    }

    fn check(&self, input: &Schema) -> Result<()> {
        let PartitionFunction::Radix { keys, skipped_bits, bits } = self;
        if *bits > BITS_MAX || u32::from(*skipped_bits) + u32::from(*bits) > u64::BITS {
            let message = format!("{bits} bits after {skipped_bits} of a hash");
            return Err(Error::invalid_query(message));
        }
        for key in keys {
            crate::check::group_key(&field(input, *key)?.data_type)?;
        }
        Ok(())
    }
}

impl Histogram {
    pub(super) fn schema(&self, inputs: &[&Schema]) -> Result<Schema> {
        self.function.check(only(inputs)?)?;
        Ok([Field::new("pid", Type::BigInt), Field::new("rows", Type::BigInt)]
            .into_iter()
            .collect())
    }
}

impl Partition {
    pub(super) fn schema(&self, inputs: &[&Schema]) -> Result<Schema> {
        let input = only(inputs)?;
        self.function.check(input)?;
        let rows = Field::new("partition", collection_type(input));
        Ok([Field::new("pid", Type::BigInt), rows].into_iter().collect())
    }
}

impl fmt::Display for PartitionFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PartitionFunction::Radix { keys, skipped_bits, bits } = self;
        let keys: Vec<String> = keys.iter().map(|it| format!("#{it}")).collect();
        let end = u32::from(*skipped_bits) + u32::from(*bits);
        write!(f, "radix({}, bits {skipped_bits}..{end})", keys.join(", "))
    }
}
