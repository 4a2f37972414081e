//! Bloom filters of column chunks, which rule out row groups for equality conditions.
//!
//! ```text
//! filter   header { 1 bytes  2 algorithm { 1 blocks }  3 hash { 1 XXH64 }  4 codec { 1 none } }
//!          bits, in blocks of 32 bytes
//! ```
//!
//! A filter holds hashes of values in PLAIN encoding (strings without length). A constant is looked
//! up only if it has a single stored form: not zero or NaN of floats, and not values that are
//! rounded when they are read. (parquet-format, `BloomFilter.md`.)

use crate::{
    file::ParquetFile,
    leaf::{Conversion, Leaf, Unit},
    page_pruning::file_range,
    schema::NodeKind,
    thrift::{I32, Reader, STRUCT},
};
use bytes::Bytes;
use parquet::bloom_filter::Sbbf;
use std::{collections::BTreeMap, ops::Range};
use volley_connector::{Conditions, LookupKey};
use volley_error::Result;
use volley_types::{
    Type, Value,
    custom::{TimestampTz, TimestampUnit, Uuid},
};

/// Larger filters are not read: the values of a row group of this many bytes are read as soon.
const FILTER_BYTES_MAX: u64 = 4 << 20;

/// The bytes of a block.
const BLOCK_BYTES: usize = 32;

/// What a byte of a filter takes: as it was read, and as it is inspected.
const BYTES_PER_BYTE: usize = 2;

/// The Bloom filters to read for a row group.
pub(crate) struct BloomReads {
    /// By position in the table: the leaf, and its filter's place in `ranges`.
    columns: BTreeMap<usize, (Leaf, usize)>,
    pub ranges: Vec<Range<u64>>,
}

impl BloomReads {
    /// What to read for the row group `group`; `None` without filters that may rule it out.
    /// `columns`: those that are read, by position in the table and in the file.
    pub fn new(
        conditions: &Conditions,
        file: &ParquetFile,
        group: usize,
        columns: impl Iterator<Item = (usize, usize)>,
    ) -> Result<Option<BloomReads>> {
        let mut reads = BloomReads { columns: BTreeMap::new(), ranges: Vec::new() };
        let file_bytes = file.file().size_bytes();
        for (column, place) in columns.filter(|it| conditions.looks_up(it.0)) {
            let leaf = match &file.node(place)?.kind {
                NodeKind::Leaf(leaf) if leaf.rep_max == 0 => leaf,
                _ => continue,
            };
            let chunk = file.chunk(group, leaf)?;
            let (offset, len) = (chunk.bloom_filter_offset(), chunk.bloom_filter_length());
            if let Some(range) = file_range(offset, len, FILTER_BYTES_MAX, file_bytes) {
                reads.columns.insert(column, (leaf.clone(), reads.ranges.len()));
                reads.ranges.push(range);
            }
        }
        // Whether it would help if all lookups failed.
        let lookup = |column: usize, key: LookupKey| match reads.columns.get(&column) {
            Some((leaf, _)) => stored_key(leaf, key).is_none(),
            None => true,
        };
        let may_help = !reads.ranges.is_empty() && !conditions.may_all_match(&lookup);
        Ok(Some(reads).filter(|_| may_help))
    }

    /// Bytes to read.
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(|it| it.end - it.start).sum()
    }

    /// The maximum memory for reading them.
    pub fn bytes_max(&self) -> usize {
        (self.bytes() as usize).saturating_mul(BYTES_PER_BYTE)
    }

    /// Whether some row may match according to the filters in `bytes`.
    pub fn may_match(&self, conditions: &Conditions, bytes: &[Bytes]) -> bool {
        let filter = |(column, (leaf, place)): (&usize, &(Leaf, usize))| {
            Some((*column, (leaf.clone(), read_filter(bytes.get(*place)?)?)))
        };
        let filters: BTreeMap<usize, (Leaf, Sbbf)> =
            self.columns.iter().filter_map(filter).collect();
        let lookup = |column: usize, key: LookupKey| {
            let Some((leaf, filter)) = filters.get(&column) else { return true };
            stored_key(leaf, key).is_none_or(|it| filter.check(it.as_slice()))
        };
        conditions.may_all_match(&lookup)
    }
}

/// A filter from its bytes, unless something about it is wrong, or not known here.
pub(crate) fn read_filter(bytes: &[u8]) -> Option<Sbbf> {
    let (mut reader, mut number) = (Reader { bytes, at: 0 }, 0);
    let (mut len, mut known) = (None, 0);
    while let Some(field) = reader.field(&mut number).ok()? {
        match (number, field) {
            (1, I32) => len = usize::try_from(reader.signed().ok()?).ok(),
            // Unions: the first alternative of each is the only one.
            (2..=4, STRUCT) => {
                let mut alternative = 0;
                while let Some(field) = reader.field(&mut alternative).ok()? {
                    known += usize::from(alternative == 1 && field == STRUCT);
                    reader.skip(field, 0).ok()?;
                }
            }
            _ => reader.skip(field, 0).ok()?,
        }
    }
    let bits = bytes.get(reader.at..)?;
    let is_right = len == Some(bits.len()) && known == 3;
    let has_blocks = !bits.is_empty() && bits.len().is_multiple_of(BLOCK_BYTES);
    (is_right && has_blocks).then(|| Sbbf::new(bits))
}

/// The bytes of a key as `leaf` stores it; `None` where there may be others.
fn stored_key(leaf: &Leaf, key: LookupKey) -> Option<Vec<u8>> {
    match key {
        LookupKey::Integer(key) => stored_integer(leaf, key.into()),
        LookupKey::Constant(data_type, _) if *data_type != leaf.data_type => None,
        LookupKey::Constant(_, value) => match (leaf.conversion, value) {
            (Conversion::Float, Value::Real(it)) => {
                is_plain((*it).into()).then(|| it.to_le_bytes().into())
            }
            (Conversion::Double, Value::Double(it)) => {
                is_plain(*it).then(|| it.to_le_bytes().into())
            }
            (Conversion::Bytes { .. }, Value::Varchar(it)) if leaf.data_type == Type::Varchar => {
                Some(it.as_bytes().into())
            }
            (Conversion::Bytes { .. }, Value::Varbinary(it)) => Some((**it).into()),
            (Conversion::Fixed { len }, Value::Varbinary(it)) => {
                (it.len() == len).then(|| (**it).into())
            }
            (_, value) => stored_integer(leaf, value.as_i128()?),
        },
    }
}

/// Whether a float is stored in one way only.
fn is_plain(value: f64) -> bool {
    value != 0.0 && !value.is_nan()
}

/// Like [`stored_key`], of what is an integer for us.
fn stored_integer(leaf: &Leaf, value: i128) -> Option<Vec<u8>> {
    let unsigned = leaf.data_type.unsigned();
    let value = match unsigned {
        Some(unsigned) => unsigned.number_of(value).try_into().ok()?,
        None => value,
    };
    let is_known = !matches!(leaf.data_type, Type::Custom(_))
        || unsigned.is_some()
        || TimestampUnit::of(&leaf.data_type).is_some()
        || [TimestampTz::data_type(), Uuid::data_type()].contains(&leaf.data_type);
    if !is_known {
        return None;
    }
    match leaf.conversion {
        Conversion::Int32 { unsigned, factor } => {
            let stored = exact_quotient(value, factor.into())?;
            Some(match unsigned {
                true => u32::try_from(stored).ok()?.to_le_bytes().into(),
                false => i32::try_from(stored).ok()?.to_le_bytes().into(),
            })
        }
        Conversion::Int64 { unsigned: true, unit: Unit::Same } => {
            Some(u64::try_from(value).ok()?.to_le_bytes().into())
        }
        Conversion::Int64 { unsigned: false, unit } => {
            let stored = match unit {
                Unit::Same => value,
                Unit::Thousands => exact_quotient(value, 1000)?,
                Unit::Thousandths => return None,
            };
            Some(i64::try_from(stored).ok()?.to_le_bytes().into())
        }
        Conversion::FixedDecimal { len } if len <= 16 => {
            let bytes = value.to_be_bytes();
            let (sign, digits) = bytes.split_at(16 - len);
            let is_negative = digits.first().is_some_and(|it| *it >= 0x80);
            let extension = if is_negative { 0xff } else { 0 };
            sign.iter().all(|it| *it == extension).then(|| digits.into())
        }
        Conversion::FixedUuid => Some((value ^ i128::MIN).to_be_bytes().into()),
        _ => None,
    }
}

fn exact_quotient(value: i128, factor: i128) -> Option<i128> {
    (factor != 0 && value % factor == 0).then(|| value / factor)
}
