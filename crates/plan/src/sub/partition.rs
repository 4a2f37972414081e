//! Partitions of rows by their keys.

use super::{collection_type, field, only};
use crate::{RangeRouting, Routing};
use std::fmt;
use volley_error::{Error, Result};
use volley_types::{Field, Schema, Type};

/// More bits than this make partitions that are smaller than their headers.
const BITS_MAX: u8 = 16;

/// More partitions than this would be smaller than their headers.
const PARTITIONS_MAX: usize = 1 << BITS_MAX;

/// Which partition a row is in.
#[derive(Clone, Debug, PartialEq)]
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
    /// By the hash of the keys, as exchanges between this number of tasks: equal keys are in the
    /// same partition.
    Hash {
        /// The key columns.
        keys: Vec<usize>,
        /// The number of partitions.
        partitions: u32,
    },
    /// By ranges of sort keys: partitions are in the order of the keys, and equal keys are in the
    /// same one.
    Range(RangeRouting),
}

/// Counts the rows of each partition. Returns the number of the partition and of its rows, both
/// BIGINT; partitions without rows are missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// The partitions.
    pub function: PartitionFunction,
}

/// Collects the rows of each partition. Returns the number of the partition, a BIGINT, and the
/// collection of its rows; partitions without rows are missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Partition {
    /// The partitions.
    pub function: PartitionFunction,
}

impl PartitionFunction {
    /// The number of partitions.
    pub fn partitions(&self) -> usize {
        match self {
            PartitionFunction::Radix { bits, .. } => 1 << (*bits).min(BITS_MAX),
            PartitionFunction::Hash { partitions, .. } => *partitions as usize,
            PartitionFunction::Range(range) => range.bounds.len() + 1,
        }
    }

    /// The columns that decide.
    pub fn keys(&self) -> Vec<usize> {
        match self {
            PartitionFunction::Radix { keys, .. } | PartitionFunction::Hash { keys, .. } => {
                keys.clone()
            }
            PartitionFunction::Range(range) => range.keys.iter().map(|it| it.column).collect(),
        }
    }

    fn check(&self, input: &Schema) -> Result<()> {
        match self {
            PartitionFunction::Radix { skipped_bits, bits, .. } => {
                if *bits > BITS_MAX || u32::from(*skipped_bits) + u32::from(*bits) > u64::BITS {
                    let message = format!("{bits} bits after {skipped_bits} of a hash");
                    return Err(Error::invalid_query(message));
                }
            }
            PartitionFunction::Hash { .. } => {}
            PartitionFunction::Range(range) => Routing::Range(range.clone()).check(input)?,
        }
        let partitions = self.partitions();
        if !(1..=PARTITIONS_MAX).contains(&partitions) {
            return Err(Error::invalid_query(format!("{partitions} partitions")));
        }
        if matches!(self, PartitionFunction::Range(_)) {
            return Ok(());
        }
        for key in self.keys() {
            crate::check::group_key(&field(input, key)?.data_type)?;
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
        match self {
            PartitionFunction::Radix { keys, skipped_bits, bits } => {
                let end = u32::from(*skipped_bits) + u32::from(*bits);
                write!(f, "radix({}, bits {skipped_bits}..{end})", super::columns(keys))
            }
            PartitionFunction::Hash { keys, partitions } => {
                write!(f, "hash({}, {partitions})", super::columns(keys))
            }
            PartitionFunction::Range(range) => write!(f, "{}", Routing::Range(range.clone())),
        }
    }
}
