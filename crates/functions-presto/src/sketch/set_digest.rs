//! SETDIGEST: a sketch of a set that estimates the size of intersections: the least hashes of its
//! elements (Broder: "On the resemblance and containment of documents", 1997; Beyer et al.: "On
//! synopses for distinct-value estimation under multiset operations", 2007), and how often each
//! came.
//!
//! ```text
//! byte 0   1, the version; then for each hash, ascending, the hash (8 bytes) and how often it came
//!          (2 bytes, 65535: at least so often), little-endian; at most 2048 hashes
//! ```
//!
//! It is exact while there are fewer than 2048 different elements; then numbers of elements have a
//! standard error of about `1 / sqrt(2048)`, 2.2 %.

use std::collections::BTreeMap;
use volley_functions::kll::take;

/// The most hashes that are kept.
const HASHES_MAX: usize = 2048;

/// A sketch of a set.
#[derive(Clone, Debug, Default)]
pub struct SetDigest {
    counts: BTreeMap<u64, u16>,
}

impl SetDigest {
    /// Adds an element by its hash, `times` times.
    pub fn add(&mut self, hash: u64, times: u16) {
        let is_behind = |last: (&u64, &u16)| *last.0 < hash;
        if self.is_full() && self.counts.last_key_value().is_some_and(is_behind) {
            return;
        }
        let count = self.counts.entry(hash).or_default();
        *count = count.saturating_add(times);
        if self.counts.len() > HASHES_MAX {
            self.counts.pop_last();
        }
    }

    fn is_full(&self) -> bool {
        self.counts.len() >= HASHES_MAX
    }

    /// Adds what another digest holds.
    pub fn merge(&mut self, other: &SetDigest) {
        other.counts.iter().for_each(|(hash, count)| self.add(*hash, *count));
    }

    /// The hashes, ascending, and how often each came.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u16)> {
        self.counts.iter().map(|(hash, count)| (*hash, *count))
    }

    /// About how many elements there are.
    pub fn cardinality(&self) -> f64 {
        match self.counts.last_key_value().filter(|_| self.is_full()) {
            // The k-th least of n numbers from 0 to 1 is about k / n.
            Some((last, _)) => {
                let share = (*last as f64 + 1.0) / 2f64.powi(64);
                (HASHES_MAX - 1) as f64 / share
            }
            None => self.counts.len() as f64,
        }
    }

    /// About which share of the union of two sets is in both; `None` of two empty sets.
    pub fn jaccard_index(&self, other: &SetDigest) -> Option<f64> {
        let mut union = self.clone();
        union.merge(other);
        let in_both =
            |hash: &&u64| self.counts.contains_key(*hash) && other.counts.contains_key(*hash);
        let both = union.counts.keys().filter(in_both).count();
        (!union.counts.is_empty()).then(|| both as f64 / union.counts.len() as f64)
    }

    /// About how many elements are in both sets.
    pub fn intersection_cardinality(&self, other: &SetDigest) -> f64 {
        let mut union = self.clone();
        union.merge(other);
        self.jaccard_index(other).unwrap_or(0.0) * union.cardinality()
    }

    /// Bytes on the heap, roughly: nodes are at least half full.
    pub fn heap_bytes(&self) -> usize {
        self.counts.len() * 2 * size_of::<(u64, u16)>()
    }

    /// The digest as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![1];
        for (hash, count) in &self.counts {
            bytes.extend(hash.to_le_bytes());
            bytes.extend(count.to_le_bytes());
        }
        bytes
    }

    /// The digest that bytes are; `None` when they are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<SetDigest> {
        let (version, mut rest) = bytes.split_first()?;
        let mut digest = SetDigest::default();
        if *version != 1 || rest.len() % 10 != 0 || rest.len() / 10 > HASHES_MAX {
            return None;
        }
        while !rest.is_empty() {
            let hash = u64::from_le_bytes(take(&mut rest)?);
            let count = u16::from_le_bytes(take(&mut rest)?);
            let last = digest.counts.last_key_value().map(|it| *it.0);
            if count == 0 || last.is_some_and(|it| it >= hash) {
                return None;
            }
            digest.counts.insert(hash, count);
        }
        Some(digest)
    }
}
