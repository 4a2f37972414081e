//! SETDIGEST: a sketch of a set that estimates the size of intersections, in Presto's bytes: the
//! least hashes of its elements (Broder: "On the resemblance and containment of documents", 1997)
//! with how often each came, and a HyperLogLog sketch of all.
//!
//! ```text
//! byte 0   1, the version | bytes of the HyperLogLog sketch: i32 | the sketch, of 2^11 buckets
//! then     most hashes: i32 | hashes: i32 | the hashes, ascending: i64 each | how often each came,
//!          32767: at least so often: i16 each
//! ```
//!
//! Numbers are little-endian. A digest is exact while it has fewer hashes than it may have.

use super::hyper_log_log::HyperLogLog;
use std::collections::BTreeMap;
use volley_functions::kll::take;

/// The most hashes of a new digest.
const HASHES_MAX: usize = 8192;

/// The most hashes that bytes may allow.
const ALLOWED_HASHES_MAX: usize = 1 << 20;

/// Bits that choose a bucket of the HyperLogLog sketch.
const BITS: u32 = 11;

const VERSION: u8 = 1;

/// A sketch of a set.
#[derive(Clone, Debug)]
pub struct SetDigest {
    all: HyperLogLog,
    counts: BTreeMap<i64, i16>,
    hashes_max: usize,
}

impl Default for SetDigest {
    fn default() -> SetDigest {
        let all = HyperLogLog::new(BITS);
        SetDigest { all, counts: BTreeMap::new(), hashes_max: HASHES_MAX }
    }
}

impl SetDigest {
    /// Adds an element by its hash.
    pub fn add(&mut self, hash: u64) {
        self.all.add(hash);
        self.count(hash as i64, 1);
    }

    fn count(&mut self, hash: i64, times: i16) {
        let is_behind = |last: (&i64, &i16)| *last.0 < hash;
        if !self.is_exact() && self.counts.last_key_value().is_some_and(is_behind) {
            return;
        }
        let count = self.counts.entry(hash).or_default();
        *count = count.saturating_add(times);
        if self.counts.len() > self.hashes_max {
            self.counts.pop_last();
        }
    }

    fn is_exact(&self) -> bool {
        self.counts.len() < self.hashes_max
    }

    /// Adds what another digest holds; false, with nothing done, if its HyperLogLog sketch has
    /// another number of buckets.
    #[must_use]
    pub fn merge(&mut self, other: &SetDigest) -> bool {
        if !self.all.merge(&other.all) {
            return false;
        }
        other.counts.iter().for_each(|(hash, count)| self.count(*hash, *count));
        true
    }

    /// The hashes, ascending, and how often each came.
    pub fn counts(&self) -> impl Iterator<Item = (i64, i16)> {
        self.counts.iter().map(|(hash, count)| (*hash, *count))
    }

    /// About how many elements there are.
    pub fn cardinality(&self) -> i64 {
        if self.is_exact() { self.counts.len() as i64 } else { self.all.estimate() }
    }

    /// About which share of the union of two sets is in both, as Presto has it: of as many of the
    /// least hashes of the union as the smaller digest has hashes. NaN if a set is empty.
    pub fn jaccard_index(&self, other: &SetDigest) -> f64 {
        let smaller = self.counts.len().min(other.counts.len());
        let mut union: Vec<i64> = self.counts.keys().chain(other.counts.keys()).copied().collect();
        union.sort_unstable();
        union.dedup();
        let in_both = |it: &&i64| self.counts.contains_key(*it) && other.counts.contains_key(*it);
        let both = union.iter().take(smaller).filter(in_both).count();
        both as f64 / smaller as f64
    }

    /// About how many elements are in both sets; `None` if their HyperLogLog sketches have
    /// different numbers of buckets.
    pub fn intersection_cardinality(&self, other: &SetDigest) -> Option<i64> {
        if self.is_exact() && other.is_exact() {
            let in_both = |it: &&i64| other.counts.contains_key(*it);
            return Some(self.counts.keys().filter(in_both).count() as i64);
        }
        let mut union = self.clone();
        if !union.merge(other) {
            return None;
        }
        let both = (self.jaccard_index(other) * union.cardinality() as f64).round() as i64;
        Some(both.min(self.cardinality()).min(other.cardinality()))
    }

    /// Bytes on the heap, roughly: nodes are at least half full.
    pub fn heap_bytes(&self) -> usize {
        self.all.heap_bytes() + self.counts.len() * 2 * size_of::<(i64, i16)>()
    }

    /// The digest as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let all = self.all.to_bytes();
        let mut bytes = vec![VERSION];
        bytes.extend((all.len() as i32).to_le_bytes());
        bytes.extend(all);
        bytes.extend((self.hashes_max as i32).to_le_bytes());
        bytes.extend((self.counts.len() as i32).to_le_bytes());
        self.counts.keys().for_each(|it| bytes.extend(it.to_le_bytes()));
        self.counts.values().for_each(|it| bytes.extend(it.to_le_bytes()));
        bytes
    }

    /// The digest that bytes are; `None` when they are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<SetDigest> {
        let (version, mut rest) = bytes.split_first()?;
        if *version != VERSION {
            return None;
        }
        let all_len = usize::try_from(i32::from_le_bytes(take(&mut rest)?)).ok()?;
        let (all, mut rest) = rest.split_at_checked(all_len)?;
        let all = HyperLogLog::from_bytes(all)?;
        let hashes_max = usize::try_from(i32::from_le_bytes(take(&mut rest)?)).ok()?;
        let len = usize::try_from(i32::from_le_bytes(take(&mut rest)?)).ok()?;
        let in_range = (1..=ALLOWED_HASHES_MAX).contains(&hashes_max) && len <= hashes_max;
        if !in_range || rest.len() != len * (size_of::<i64>() + size_of::<i16>()) {
            return None;
        }
        let (hashes, counts) = rest.split_at(len * size_of::<i64>());
        let hashes = hashes.as_chunks::<8>().0.iter().map(|it| i64::from_le_bytes(*it));
        let counts = counts.as_chunks::<2>().0.iter().map(|it| i16::from_le_bytes(*it));
        let pairs: Vec<(i64, i16)> = hashes.zip(counts).collect();
        let is_sorted = pairs.is_sorted_by(|left, right| left.0 < right.0);
        let is_valid = is_sorted && pairs.iter().all(|it| it.1 > 0);
        is_valid.then(|| SetDigest { all, counts: pairs.into_iter().collect(), hashes_max })
    }
}
