//! HyperLogLog sketches in the bytes of airlift's `HyperLogLog`, which Presto stores.
//!
//! ```text
//! sparse   2 | b | entries: i16 | entries: u32 each, ascending: the upper 26 bits of a hash,
//!          6 bits the number of zeros that follow them
//! dense    3 | b | baseline | 2^b buckets of 4 bits, the even one in the upper half of its byte |
//!          overflows: i16 | bucket of each: i16 | overflow of each: i8
//! ```
//!
//! `b` bits of a hash choose a bucket, which holds the largest position, from 1, of the first set
//! bit among the others: baseline plus 4 bits plus overflow. A sketch is sparse while that takes
//! less memory in Java. Numbers are little-endian.
//!
//! Heule, Nunkesser, Hall: "HyperLogLog in practice" (2013); `bias.txt` has the bias of raw
//! estimates that its appendix lists, lines `bits estimate bias`.

use std::sync::OnceLock;

const BIAS: &str = include_str!("bias.txt");

/// A sketch with more empty buckets than this share counts them.
const EMPTY_SHARE_MIN: f64 = 0.4;

/// Bits that choose a bucket.
const BITS: std::ops::RangeInclusive<u32> = 4..=16;

/// The bits that choose a bucket where nothing else is asked for: a standard error of 1.625 %.
pub const DEFAULT_BITS: u32 = 12;

/// The standard errors that sketches can be asked for.
pub const ERRORS: std::ops::RangeInclusive<f64> = 0.0040625..=0.26;

const SPARSE: u8 = 2;
const DENSE: u8 = 3;

/// Bits of a hash in a sparse entry, and those of the number of zeros after them.
const PREFIX_BITS: u32 = 26;
const VALUE_BITS: u32 = 6;

/// The largest number in the 4 bits of a bucket.
const DELTA_MAX: u8 = 15;

/// A sketch of a set of hashes.
#[derive(Clone, Debug)]
pub struct HyperLogLog {
    bits: u32,
    set: Set,
}

#[derive(Clone, Debug)]
enum Set {
    Sparse(Vec<u32>),
    /// The value of each bucket; 0 of one without hashes.
    Dense(Box<[u8]>),
}

impl HyperLogLog {
    /// The sketch of no hashes, with 2^`bits` buckets; `bits` is brought into the range from 4 to
    /// 16.
    pub fn new(bits: u32) -> HyperLogLog {
        HyperLogLog { bits: bits.clamp(*BITS.start(), *BITS.end()), set: Set::Sparse(Vec::new()) }
    }

    /// The bits for this standard error; `None` outside of [`ERRORS`].
    pub fn bits_of_error(error: f64) -> Option<u32> {
        if !ERRORS.contains(&error) {
            return None;
        }
        let buckets = (1.0816 / (error * error)).ceil() as u64;
        Some(buckets.next_power_of_two().ilog2())
    }

    /// The bits that choose a bucket.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Adds a hash.
    pub fn add(&mut self, hash: u64) {
        match &mut self.set {
            Set::Dense(buckets) => raise(buckets, bucket_of(hash, self.bits)),
            Set::Sparse(entries) => {
                insert(entries, entry_of(hash));
                if is_too_large(entries.len(), self.bits) {
                    self.make_dense();
                }
            }
        }
    }

    /// Adds the hashes of another sketch; false, with nothing done, if it has another number of
    /// buckets.
    #[must_use]
    pub fn merge(&mut self, other: &HyperLogLog) -> bool {
        if self.bits != other.bits {
            return false;
        }
        match &other.set {
            Set::Sparse(others) => match &mut self.set {
                Set::Dense(buckets) => {
                    let bits = self.bits;
                    others.iter().for_each(|it| raise(buckets, bucket_of_entry(*it, bits)));
                }
                Set::Sparse(entries) => {
                    others.iter().for_each(|it| insert(entries, *it));
                    if is_too_large(entries.len(), self.bits) {
                        self.make_dense();
                    }
                }
            },
            Set::Dense(others) => {
                self.make_dense();
                if let Set::Dense(buckets) = &mut self.set {
                    buckets.iter_mut().zip(others).for_each(|(a, b)| *a = (*a).max(*b));
                }
            }
        }
        true
    }

    fn make_dense(&mut self) {
        if let Set::Sparse(entries) = &self.set {
            let mut buckets = vec![0; 1 << self.bits].into_boxed_slice();
            entries.iter().for_each(|it| raise(&mut buckets, bucket_of_entry(*it, self.bits)));
            self.set = Set::Dense(buckets);
        }
    }

    /// About how many hashes were added.
    pub fn estimate(&self) -> i64 {
        match &self.set {
            Set::Sparse(entries) => {
                let buckets = (1u64 << PREFIX_BITS) as f64;
                let empty = buckets - entries.len() as f64;
                (buckets * (buckets / empty).ln()).round() as i64
            }
            Set::Dense(buckets) => estimate_dense(buckets, self.bits),
        }
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        match &self.set {
            Set::Sparse(entries) => entries.capacity() * size_of::<u32>(),
            Set::Dense(buckets) => buckets.len(),
        }
    }

    /// The sketch as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let bits = self.bits as u8;
        match &self.set {
            Set::Sparse(entries) => {
                let mut bytes = vec![SPARSE, bits];
                bytes.extend((entries.len() as u16).to_le_bytes());
                entries.iter().for_each(|it| bytes.extend(it.to_le_bytes()));
                bytes
            }
            Set::Dense(buckets) => {
                let baseline = buckets.iter().copied().min().unwrap_or(0);
                let mut bytes = vec![DENSE, bits, baseline];
                let delta = |it: u8| (it - baseline).min(DELTA_MAX);
                let (pairs, _) = buckets.as_chunks::<2>();
                bytes.extend(pairs.iter().map(|[even, odd]| delta(*even) << 4 | delta(*odd)));
                let overflow = |it: u8| it - baseline - delta(it);
                let over = buckets.iter().zip(0..=u16::MAX).filter(|it| overflow(*it.0) > 0);
                let over: Vec<(u16, u8)> = over.map(|(it, at)| (at, overflow(*it))).collect();
                bytes.extend((over.len() as u16).to_le_bytes());
                over.iter().for_each(|it| bytes.extend(it.0.to_le_bytes()));
                bytes.extend(over.iter().map(|it| it.1));
                bytes
            }
        }
    }

    /// The sketch that bytes are; `None` when they are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<HyperLogLog> {
        let [tag, bits, rest @ ..] = bytes else { return None };
        let bits = u32::from(*bits);
        if !BITS.contains(&bits) {
            return None;
        }
        let set = match *tag {
            SPARSE => Set::Sparse(sparse_in(rest)?),
            DENSE => Set::Dense(dense_in(rest, bits)?),
            _ => return None,
        };
        Some(HyperLogLog { bits, set })
    }
}

fn sparse_in(bytes: &[u8]) -> Option<Vec<u32>> {
    let (count, entries) = bytes.split_first_chunk::<2>()?;
    let (entries, behind) = entries.as_chunks::<4>();
    if !behind.is_empty() || entries.len() != usize::from(u16::from_le_bytes(*count)) {
        return None;
    }
    let entries: Vec<u32> = entries.iter().map(|it| u32::from_le_bytes(*it)).collect();
    let is_sorted = entries.is_sorted_by(|a, b| (a >> VALUE_BITS) < (b >> VALUE_BITS));
    let zeros_max = u64::BITS - PREFIX_BITS;
    let is_valid = entries.iter().all(|it| it & ((1 << VALUE_BITS) - 1) <= zeros_max);
    (is_sorted && is_valid).then_some(entries)
}

fn dense_in(bytes: &[u8], bits: u32) -> Option<Box<[u8]>> {
    let (baseline, rest) = bytes.split_first()?;
    let (deltas, rest) = rest.split_at_checked(1 << bits >> 1)?;
    let (count, rest) = rest.split_first_chunk::<2>()?;
    let count = usize::from(u16::from_le_bytes(*count));
    let (at, overflows) = rest.split_at_checked(count * 2)?;
    if overflows.len() != count {
        return None;
    }
    let each = deltas.iter().flat_map(|it| [it >> 4, it & DELTA_MAX]);
    let mut buckets: Vec<u8> = each.map(|it| baseline.saturating_add(it)).collect();
    for (at, overflow) in at.as_chunks::<2>().0.iter().zip(overflows) {
        let bucket = buckets.get_mut(usize::from(u16::from_le_bytes(*at)))?;
        *bucket = bucket.saturating_add(*overflow);
    }
    let most = (u64::BITS - bits + 1) as u8;
    buckets.iter().all(|it| *it <= most).then(|| buckets.into())
}

/// Whether a sparse sketch takes more memory in Java than a dense one: there an array of entries
/// has room for 1, and grows by 10.
fn is_too_large(entries: usize, bits: u32) -> bool {
    const SPARSE_BYTES: usize = 24 + 16;
    const DENSE_BYTES: usize = 40 + 16;
    let capacity = 1 + entries.saturating_sub(1).div_ceil(10) * 10;
    SPARSE_BYTES + 4 * capacity > DENSE_BYTES + (1 << bits >> 1)
}

/// The number of hashes in 2^`bits` buckets.
fn estimate_dense(buckets: &[u8], bits: u32) -> i64 {
    let count = buckets.len() as f64;
    let empty = buckets.iter().filter(|it| **it == 0).count() as f64;
    if empty > EMPTY_SHARE_MIN * count {
        return (count * (count / empty).ln()).round() as i64;
    }
    // Buckets of one value: sums of powers of 2 are exact.
    let sum: f64 = buckets.iter().map(|it| (-f64::from(*it)).exp2()).sum();
    let alpha = match bits {
        4 => 0.673,
        5 => 0.697,
        6 => 0.709,
        _ => 0.7213 / (1.0 + 1.079 / count),
    };
    let raw = alpha * count * count / sum;
    (raw - bias_of(raw, bits)).round() as i64
}

/// How much too great a raw estimate is on average: between two listed ones, on the line between
/// them.
fn bias_of(raw: f64, bits: u32) -> f64 {
    static LISTED: OnceLock<Vec<Vec<(f64, f64)>>> = OnceLock::new();
    let listed = LISTED.get_or_init(|| {
        let mut listed = vec![Vec::new(); *BITS.end() as usize + 1];
        for line in BIAS.lines() {
            let mut words = line.split(' ');
            let bits = words.next().and_then(|it| it.parse::<usize>().ok());
            let mut number = || words.next().and_then(|it| it.parse::<f64>().ok());
            if let (Some(bits), Some(estimate), Some(bias)) = (bits, number(), number())
                && let Some(listed) = listed.get_mut(bits)
            {
                listed.push((estimate, bias));
            }
        }
        listed
    });
    let Some(points) = listed.get(bits as usize) else { return 0.0 };
    let after = points.partition_point(|it| it.0 < raw);
    match (after.checked_sub(1).and_then(|it| points.get(it)), points.get(after)) {
        (_, Some(point)) if point.0 == raw => point.1,
        (Some(left), Some(right)) => {
            (raw - left.0) * (right.1 - left.1) / (right.0 - left.0) + left.1
        }
        _ => 0.0,
    }
}

fn entry_of(hash: u64) -> u32 {
    let prefix = (hash >> (u64::BITS - PREFIX_BITS)) as u32;
    prefix << VALUE_BITS | zeros_after(hash, PREFIX_BITS)
}

/// The zeros that follow the first `bits` bits of a hash.
fn zeros_after(hash: u64, bits: u32) -> u32 {
    // The bit below all others bounds the number.
    (hash << bits | 1 << (bits - 1)).leading_zeros()
}

fn bucket_of(hash: u64, bits: u32) -> (usize, u8) {
    let bucket = (hash >> (u64::BITS - bits)) as usize;
    (bucket, zeros_after(hash, bits) as u8 + 1)
}

fn bucket_of_entry(entry: u32, bits: u32) -> (usize, u8) {
    let further = PREFIX_BITS - bits;
    let zeros = (entry << bits).leading_zeros();
    let zeros = if zeros >= further { further + (entry & ((1 << VALUE_BITS) - 1)) } else { zeros };
    ((entry >> (u32::BITS - bits)) as usize, zeros as u8 + 1)
}

fn raise(buckets: &mut [u8], (bucket, value): (usize, u8)) {
    if let Some(bucket) = buckets.get_mut(bucket) {
        *bucket = (*bucket).max(value);
    }
}

/// Adds an entry to ascending ones; of two with the same prefix, the larger value stays.
fn insert(entries: &mut Vec<u32>, entry: u32) {
    match entries.binary_search_by_key(&(entry >> VALUE_BITS), |it| it >> VALUE_BITS) {
        Ok(at) => entries[at] = entries[at].max(entry),
        Err(at) => entries.insert(at, entry),
    }
}
