//! Theta sketches of sets, in the bytes of DataSketches (Dasgupta, Lang, Rhodes, Thaler: "A
//! Framework for Estimating Stream Expression Cardinalities", 2016).
//!
//! ```text
//! byte 0   longs before the hashes: 1, 2 or 3 | 3, the version | 3, a compact sketch | 0 | 0
//! then     flags: 2 read only, 4 empty, 8 compact, 16 ordered, 32 one hash | seed: u16
//! 2 longs  hashes: i32 | 1.0: f32
//! 3 longs  theta: i64
//! then     the hashes, ascending: i64 each
//! ```
//!
//! Numbers are little-endian. A hash has 63 bits. A sketch holds the least 4096 hashes of the set,
//! all below theta; without more elements theta is 2^63 - 1, and the sketch is exact.

use crate::binary::murmur3_x64_128_seeded;
use std::collections::BTreeSet;

/// The most hashes of a sketch that is made here.
const HASHES_MAX: usize = 4096;

/// The most hashes that bytes may have.
const ALLOWED_HASHES_MAX: usize = 1 << 26;

/// The seed of hashes, and the hash of the seed that bytes have.
const SEED: u64 = 9001;
const SEED_HASH: u16 = 0x93CC;

const VERSION: u8 = 3;
const COMPACT_FAMILY: u8 = 3;
const EMPTY_FLAG: u8 = 4;
const ORDERED_FLAG: u8 = 16;
const ONE_HASH_FLAG: u8 = 32;
/// Read only, compact and ordered.
const FLAGS: u8 = 2 | 8 | ORDERED_FLAG;

/// Theta of a sketch that has all hashes.
const THETA_MAX: u64 = i64::MAX as u64;

/// A sketch of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThetaSketch {
    theta: u64,
    hashes: BTreeSet<u64>,
    is_empty: bool,
}

impl Default for ThetaSketch {
    fn default() -> ThetaSketch {
        ThetaSketch { theta: THETA_MAX, hashes: BTreeSet::new(), is_empty: true }
    }
}

/// What a sketch tells about its set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThetaSummary {
    pub estimate: f64,
    /// The share of hashes that the sketch holds.
    pub theta: f64,
    /// The bounds of one standard deviation.
    pub upper: f64,
    pub lower: f64,
    pub hashes: usize,
}

impl ThetaSketch {
    /// Adds an element by its bytes; one without bytes is not counted.
    pub fn add(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.is_empty = false;
        let hash = murmur3_x64_128_seeded(bytes, SEED);
        if let Some(half) = hash.first_chunk::<8>() {
            self.insert(u64::from_le_bytes(*half) >> 1);
        }
    }

    fn insert(&mut self, hash: u64) {
        if hash == 0 || hash >= self.theta {
            return;
        }
        self.hashes.insert(hash);
        if self.hashes.len() > HASHES_MAX
            && let Some(last) = self.hashes.pop_last()
        {
            self.theta = last;
        }
    }

    /// Adds what another sketch holds.
    pub fn merge(&mut self, other: &ThetaSketch) {
        self.is_empty &= other.is_empty;
        self.theta = self.theta.min(other.theta);
        let theta = self.theta;
        self.hashes.retain(|it| *it < theta);
        other.hashes.iter().for_each(|it| self.insert(*it));
    }

    /// Bytes on the heap, about.
    pub fn heap_bytes(&self) -> usize {
        // Nodes of a tree are at least half full.
        self.hashes.len() * 2 * size_of::<u64>()
    }

    /// The sketch that bytes are; `None` when they are none of this version and seed.
    pub fn from_bytes(bytes: &[u8]) -> Option<ThetaSketch> {
        let (start, mut rest) = bytes.split_first_chunk::<8>()?;
        let [longs, version, family, _, _, flags, seed @ ..] = *start;
        let longs = longs & 0x3F;
        if version != VERSION || family != COMPACT_FAMILY {
            return None;
        }
        if flags & EMPTY_FLAG != 0 {
            return Some(ThetaSketch::default());
        }
        let mut theta = THETA_MAX;
        let mut count = 1;
        if longs >= 2 {
            let (header, behind) = rest.split_first_chunk::<8>()?;
            count = usize::try_from(i32::from_le_bytes(*header.first_chunk()?)).ok()?;
            rest = behind;
        }
        if longs >= 3 {
            let (long, behind) = rest.split_first_chunk::<8>()?;
            theta = u64::from_le_bytes(*long);
            rest = behind;
        }
        let is_valid = u16::from_le_bytes(seed) == SEED_HASH
            && (1..=3).contains(&longs)
            && (1..=THETA_MAX).contains(&theta)
            && count <= ALLOWED_HASHES_MAX
            && rest.len() >= count * 8;
        if !is_valid {
            return None;
        }
        let all = rest.chunks_exact(8).take(count).filter_map(|it| it.first_chunk::<8>());
        let hashes: BTreeSet<u64> = all.map(|it| u64::from_le_bytes(*it)).collect();
        let are_below = hashes.iter().all(|it| (1..theta).contains(it));
        (are_below && hashes.len() == count).then_some(ThetaSketch {
            theta,
            hashes,
            is_empty: false,
        })
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let count = self.hashes.len();
        if self.is_empty {
            return vec![1, VERSION, COMPACT_FAMILY, 0, 0, FLAGS | EMPTY_FLAG, 0, 0];
        }
        let (longs, flags) = match self.theta {
            THETA_MAX if count == 1 => (1, FLAGS | ONE_HASH_FLAG),
            THETA_MAX => (2, FLAGS),
            _ => (3, FLAGS),
        };
        let mut bytes = vec![longs, VERSION, COMPACT_FAMILY, 0, 0, flags];
        bytes.extend(SEED_HASH.to_le_bytes());
        if longs >= 2 {
            bytes.extend((count as i32).to_le_bytes());
            bytes.extend(1.0f32.to_le_bytes());
        }
        if longs >= 3 {
            bytes.extend(self.theta.to_le_bytes());
        }
        self.hashes.iter().for_each(|it| bytes.extend(it.to_le_bytes()));
        bytes
    }

    /// About how many elements there are, and how sure that is.
    pub fn summary(&self) -> ThetaSummary {
        let hashes = self.hashes.len();
        let (count, theta) = (hashes as f64, self.theta as f64 / THETA_MAX as f64);
        let estimate = count * (THETA_MAX as f64 / self.theta as f64);
        if self.is_empty || self.theta == THETA_MAX {
            return ThetaSummary { estimate, theta, upper: count, lower: count, hashes };
        }
        let upper = upper_bound(count, theta).max(count / theta);
        let lower = lower_bound(count, theta).max(count).min(count / theta);
        ThetaSummary { estimate, theta, upper, lower, hashes }
    }
}

/// The probability of a value below the mean by one standard deviation or more.
const TAIL: f64 = 0.158_655_319_126_602_65;

/// Above this share a sketch of few hashes has all or one less.
const THETA_NEAR_1: f64 = 1.0 - 1e-5;

/// With more hashes the binomial distribution is nearly a normal one; with fewer, it is summed up
/// if there are few elements.
const FEW_HASHES: f64 = 120.0;
const FEW_ELEMENTS: f64 = 360.0;

/// A bound by the normal distribution, in the direction `sign`, with the correction for integers.
fn normal_bound(count: f64, theta: f64, sign: f64) -> f64 {
    let elements = (count + sign * 0.5) / theta;
    let deviation = ((1.0 - theta) / theta).sqrt();
    let distance = 0.5 * deviation * (deviation * deviation + 4.0 * elements).sqrt();
    elements + 0.5 * deviation * deviation + sign * (distance + 0.5)
}

fn lower_bound(count: f64, theta: f64) -> f64 {
    if count == 0.0 {
        0.0
    } else if count == 1.0 {
        ((1.0 - TAIL).ln() / (1.0 - theta).ln()).floor()
    } else if count <= FEW_HASHES && theta > THETA_NEAR_1 {
        count
    } else if count > FEW_HASHES || theta < count / FEW_ELEMENTS {
        normal_bound(count, theta, -1.0)
    } else {
        elements_of_tail(count, theta, TAIL) - 1.0
    }
}

fn upper_bound(count: f64, theta: f64) -> f64 {
    if count == 0.0 {
        (TAIL.ln() / (1.0 - theta).ln()).ceil()
    } else if count <= FEW_HASHES && theta > THETA_NEAR_1 {
        count + 1.0
    } else if count > FEW_HASHES || theta < count / FEW_ELEMENTS {
        normal_bound(count, theta, 1.0)
    } else {
        elements_of_tail(count + 1.0, theta, 1.0 - TAIL)
    }
}

/// How many elements there must be so that `count` of them have hashes below theta with this
/// probability; few.
fn elements_of_tail(count: f64, theta: f64, probability: f64) -> f64 {
    let mut term = theta.powf(count);
    let (mut sum, mut elements) = (term, count);
    while sum < probability && term > 0.0 {
        term *= (1.0 - theta) * elements / (elements + 1.0 - count);
        sum += term;
        elements += 1.0;
    }
    elements
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_numbers(numbers: std::ops::Range<i64>) -> ThetaSketch {
        let mut sketch = ThetaSketch::default();
        numbers.for_each(|it| sketch.add(&it.to_le_bytes()));
        sketch
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|it| format!("{it:02X}")).collect()
    }

    #[test]
    fn bytes_are_those_of_datasketches() {
        assert_eq!(hex(&ThetaSketch::default().to_bytes()), "01030300001E0000");
        let mut sketch = ThetaSketch::default();
        for number in [3i64, 12, 1, 3] {
            sketch.add(&number.to_le_bytes());
        }
        let expected =
            "02030300001ACC93030000000000803F15F97DCBBD86A10523A55B381AFD741FBA40B3C1DA06695D";
        assert_eq!(hex(&sketch.to_bytes()), expected);
        let one = of_numbers(5..6);
        assert_eq!(hex(&one.to_bytes()[..8]), "01030300003ACC93");
        assert_eq!(one.to_bytes().len(), 16);
    }

    #[test]
    fn bytes_are_read_back_and_malformed_ones_refused() {
        for sketch in [0..0, 0..1, 0..9, 0..4096, 0..9000].map(of_numbers) {
            let bytes = sketch.to_bytes();
            assert_eq!(ThetaSketch::from_bytes(&bytes), Some(sketch));
            for end in (0..bytes.len()).step_by(7) {
                assert_eq!(ThetaSketch::from_bytes(&bytes[..end]), None);
            }
        }
        let bytes = of_numbers(0..9000).to_bytes();
        for (at, byte) in [(0, 4), (1, 2), (2, 2), (6, 0), (11, 0x80), (23, 0x80), (31, 0xFF)] {
            let mut other = bytes.clone();
            other[at] = byte;
            assert_eq!(ThetaSketch::from_bytes(&other), None, "{at}");
        }
    }

    #[test]
    fn estimates_are_exact_and_then_near() {
        for elements in [0, 1, 100, 4096] {
            let found = of_numbers(0..elements).summary();
            let exact = elements as f64;
            assert_eq!((found.estimate, found.lower, found.upper), (exact, exact, exact));
        }
        for elements in [4097, 100_000] {
            let found = of_numbers(0..elements).summary();
            assert_eq!(found.hashes, 4096);
            assert!((found.estimate / elements as f64 - 1.0).abs() < 0.05, "{found:?}");
            assert!(found.lower < found.estimate && found.estimate < found.upper, "{found:?}");
        }
    }

    #[test]
    fn the_union_of_parts_is_the_sketch_of_all() {
        let mut union = of_numbers(0..6000);
        union.merge(&of_numbers(3000..20_000));
        assert_eq!(union, of_numbers(0..20_000));
        let mut none = ThetaSketch::default();
        none.merge(&ThetaSketch::default());
        assert_eq!(none, ThetaSketch::default());
    }

    #[test]
    fn bounds_of_few_hashes_surround_the_estimate() {
        for theta in [0.001, 0.1, 0.4, 0.9, 0.999_999] {
            for count in [0.0, 1.0, 2.0, 50.0, 120.0] {
                let (lower, upper) = (lower_bound(count, theta), upper_bound(count, theta));
                let estimate = count / theta;
                assert!(lower <= estimate + 1.0, "{lower} {count} {theta}");
                assert!(upper >= estimate - 1.0 && upper.is_finite(), "{upper} {count} {theta}");
            }
        }
    }
}
