//! Bloom filters of row groups.
//!
//! ```text
//! stream   a message per row group: 1 number of hashes, 2 words of bits, or 3 their bytes
//! bits     hash i of a value sets bit (low + i * high) modulo the number of bits, where low and
//!          high are the halves of its 64-bit hash, and a negative sum is flipped
//! hash     of integers and floats: Thomas Wang's; of texts: 64 bits of Murmur3
//! ```
//!
//! Source: ORC specification, "Bloom Filter Index"; the hashes are those of Hive's `BloomFilter`.

use crate::{
    error::corrupt,
    proto::Message,
    schema::{Node, NodeKind},
};
use volley_connector::LookupKey;
use volley_error::Result;
use volley_types::{Type, Value};

/// More hashes than any writer uses.
const HASHES_MAX: u64 = 100;

/// The seed of Murmur3.
const MURMUR_SEED: u64 = 104_729;

/// Which stream filters are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BloomKind {
    /// The older one: texts are hashed in the writer's character set.
    Legacy,
    Utf8,
}

/// The filters of a column.
pub(crate) struct BloomFilters {
    kind: BloomKind,
    groups: Vec<Filter>,
}

struct Filter {
    hashes: u32,
    words: Vec<u64>,
}

impl BloomFilters {
    /// The filters that `bytes`, decompressed, hold.
    pub fn read(bytes: &[u8], kind: BloomKind) -> Result<BloomFilters> {
        let (mut groups, mut message) = (Vec::new(), Message::new(bytes));
        while let Some((number, field)) = message.next()? {
            if number == 1 {
                groups.push(Filter::read(field.message()?)?);
            }
        }
        Ok(BloomFilters { kind, groups })
    }

    /// Whether a value of `node` may be in a row group.
    pub fn may_have(&self, group: usize, node: &Node, key: LookupKey) -> bool {
        match (self.groups.get(group), hash_of(node, self.kind, key)) {
            (Some(filter), Some(hash)) => filter.may_have(hash),
            _ => true,
        }
    }

    /// The number of row groups.
    pub fn len(&self) -> usize {
        self.groups.len()
    }
}

impl Filter {
    fn read(mut message: Message) -> Result<Filter> {
        let (mut hashes, mut words) = (0, Vec::new());
        while let Some((number, field)) = message.next()? {
            match number {
                1 => hashes = field.integer()?,
                2 | 3 => field.fixed_integers(&mut words)?,
                _ => {}
            }
        }
        if hashes > HASHES_MAX {
            return Err(corrupt("Bloom filter with too many hashes"));
        }
        Ok(Filter { hashes: hashes as u32, words })
    }

    fn may_have(&self, hash: u64) -> bool {
        let bits = self.words.len().saturating_mul(64) as u64;
        if bits == 0 || bits > i32::MAX as u64 {
            return true;
        }
        let (low, high) = (hash as i32, (hash >> 32) as i32);
        (1..=self.hashes as i32).all(|it| {
            let sum = low.wrapping_add(it.wrapping_mul(high));
            let bit = u64::from(if sum < 0 { !sum } else { sum } as u32) % bits;
            self.words.get((bit / 64) as usize).is_some_and(|it| it >> (bit % 64) & 1 == 1)
        })
    }
}

/// The hash of a value of `node`; `None` where writers may hash another form of it.
pub(crate) fn hash_of(node: &Node, kind: BloomKind, key: LookupKey) -> Option<u64> {
    match (node.kind, key) {
        (NodeKind::Byte | NodeKind::Integer, LookupKey::Integer(key)) => Some(hash_integer(key)),
        (_, LookupKey::Constant(data_type, _)) if *data_type != node.data_type => None,
        (NodeKind::Byte | NodeKind::Integer, LookupKey::Constant(_, value)) => {
            Some(hash_integer(i64::try_from(value.as_i128()?).ok()?))
        }
        (NodeKind::Float, LookupKey::Constant(_, Value::Real(value))) => {
            hash_float(f64::from(*value))
        }
        (NodeKind::Double, LookupKey::Constant(_, Value::Double(value))) => hash_float(*value),
        (NodeKind::Text, LookupKey::Constant(Type::Varchar, value)) => {
            let text = value.as_str()?;
            let is_known = kind == BloomKind::Utf8 || text.is_ascii();
            is_known.then(|| hash_bytes(text.as_bytes()))
        }
        _ => None,
    }
}

/// Not of zero, which there are two of, nor of NaN.
fn hash_float(value: f64) -> Option<u64> {
    (value != 0.0 && !value.is_nan()).then(|| hash_integer(value.to_bits() as i64))
}

/// Thomas Wang's hash of 64-bit integers.
pub(crate) fn hash_integer(key: i64) -> u64 {
    let key = (!key).wrapping_add(key << 21);
    let key = key ^ key >> 24;
    let key = key.wrapping_add(key << 3).wrapping_add(key << 8);
    let key = key ^ key >> 14;
    let key = key.wrapping_add(key << 2).wrapping_add(key << 4);
    let key = key ^ key >> 28;
    key.wrapping_add(key << 31) as u64
}

/// The 64-bit form of Murmur3 that Hive has.
pub(crate) fn hash_bytes(bytes: &[u8]) -> u64 {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let mixed = |word: u64| word.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = MURMUR_SEED;
    for word in words {
        hash ^= mixed(u64::from_le_bytes(*word));
        hash = hash.rotate_left(27).wrapping_mul(5).wrapping_add(0x52dc_e729);
    }
    if !rest.is_empty() {
        let word = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        hash ^= mixed(word);
    }
    hash ^= bytes.len() as u64;
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}
