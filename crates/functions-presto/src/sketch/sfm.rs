//! SFM sketches: private sketches of sets, in Presto's bytes (Hehir, Ting, Cormode:
//! "Sketch-Flip-Merge: Mergeable Sketches for Private Distinct Counting", 2023).
//!
//! ```text
//! byte 0   7, the version | bits of a bucket's number: i32 | levels: i32
//! then     the probability that a bit is flipped: f64 | bytes of the bitmap: i32
//! then     the bitmap, low bit first, without zero bytes at its end
//! ```
//!
//! Numbers are little-endian. An element sets the bit `level * buckets + bucket`: its bucket is the
//! first bits of its hash, its level the number of zeros at the end of the hash. Each bit of a
//! private sketch is flipped with a probability, so that it tells little about any element.

use std::hash::{BuildHasher, RandomState};
use volley_error::{Error, Result};

/// The buckets and levels of a sketch where they are not given.
pub const DEFAULT_BUCKETS: i64 = 4096;
pub const DEFAULT_LEVELS: i64 = 24;

const VERSION: u8 = 7;
const HEADER_BYTES: usize = 21;

/// The most bits of a sketch: 2 MB.
const BITS_MAX: usize = 1 << 24;

/// The estimate stops at this number of steps, or when a step changes it by less.
const STEPS_MAX: usize = 1000;
const CHANGE_MIN: f64 = 0.1;

/// A sketch of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct SfmSketch {
    bucket_bits: u32,
    levels: u32,
    /// The probability that a bit is flipped; 0 of a sketch that is not private.
    flip: f64,
    /// Bits, low bit first.
    bitmap: Vec<u8>,
}

/// Numbers from 0 up to 1 that cannot be predicted: a keyed hash of a counter.
struct Random {
    key: RandomState,
    drawn: u64,
}

impl Random {
    fn new() -> Random {
        Random { key: RandomState::new(), drawn: 0 }
    }

    fn is_below(&mut self, probability: f64) -> bool {
        self.drawn += 1;
        let bits = self.key.hash_one(self.drawn);
        ((bits >> 11) as f64) / ((1u64 << 53) as f64) < probability
    }
}

impl SfmSketch {
    /// An empty sketch that is not private.
    ///
    /// # Errors
    ///
    /// Invalid value: the number of buckets is no power of 2 from 2, that of levels no multiple of
    /// 8, or there are too many of them.
    pub fn new(buckets: i64, levels: i64) -> Result<SfmSketch> {
        let valid = u32::try_from(buckets).ok().filter(|it| *it > 0 && it.is_power_of_two());
        let buckets = valid.ok_or_else(|| {
            Error::invalid_value(format!("numberOfBuckets must be a power of 2: {buckets}"))
        })?;
        let valid = u32::try_from(levels).ok().filter(|it| *it > 0 && it % 8 == 0);
        let levels = valid.ok_or_else(|| {
            Error::invalid_value(format!("precision must be a multiple of 8: {levels}"))
        })?;
        SfmSketch::of(buckets.trailing_zeros(), levels, 0.0, Vec::new()).ok_or_else(|| {
            Error::invalid_value(format!("a sketch of {buckets} buckets and precision {levels}"))
        })
    }

    /// A sketch of these parts; `None` if they are out of range.
    fn of(bucket_bits: u32, levels: u32, flip: f64, mut bitmap: Vec<u8>) -> Option<SfmSketch> {
        let is_valid = (1..=32).contains(&bucket_bits)
            && levels > 0
            && levels.checked_add(bucket_bits)? <= u64::BITS
            && (0.0..=0.5).contains(&flip);
        let bits = (levels as usize).checked_shl(bucket_bits)?;
        if !is_valid || bits > BITS_MAX || bits >> bucket_bits != levels as usize {
            return None;
        }
        let bytes = bits.div_ceil(8);
        if bitmap.len() > bytes {
            return None;
        }
        bitmap.resize(bytes, 0);
        let sketch = SfmSketch { bucket_bits, levels, flip, bitmap };
        (bits..bytes * 8).all(|it| !sketch.bit(it)).then_some(sketch)
    }

    /// The sketch that bytes are; `None` when they are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<SfmSketch> {
        let (header, bitmap) = bytes.split_at_checked(HEADER_BYTES)?;
        let integer = |at: usize| Some(i32::from_le_bytes(*header.get(at..)?.first_chunk()?));
        let flip = f64::from_le_bytes(*header.get(9..)?.first_chunk()?);
        if header.first() != Some(&VERSION) || usize::try_from(integer(17)?).ok()? != bitmap.len() {
            return None;
        }
        let (bucket_bits, levels) = (integer(1)?.try_into().ok()?, integer(5)?.try_into().ok()?);
        SfmSketch::of(bucket_bits, levels, flip, bitmap.to_vec())
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let used = self.bitmap.iter().rposition(|it| *it != 0).map_or(0, |it| it + 1);
        let mut bytes = vec![VERSION];
        bytes.extend((self.bucket_bits as i32).to_le_bytes());
        bytes.extend((self.levels as i32).to_le_bytes());
        bytes.extend(self.flip.to_le_bytes());
        bytes.extend((used as i32).to_le_bytes());
        bytes.extend(self.bitmap.iter().take(used));
        bytes
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.bitmap.capacity()
    }

    /// Adds an element by its hash, to a sketch that is not private.
    pub fn add(&mut self, hash: u64) {
        let bucket = hash >> (u64::BITS - self.bucket_bits);
        // A bit after those of the bucket, in case that all others are zeros.
        let zeros = (hash | 1 << (u64::BITS - self.bucket_bits)).trailing_zeros();
        self.set(bucket as usize, zeros);
    }

    /// Adds an element by its bucket and the zeros at the end of its hash.
    ///
    /// # Errors
    ///
    /// Invalid value: there is no such bucket, or no such number of zeros.
    pub fn add_bucket(&mut self, bucket: i64, zeros: i64) -> Result<()> {
        let buckets = 1usize << self.bucket_bits;
        let known = usize::try_from(bucket).ok().filter(|it| *it < buckets);
        let known = known.ok_or_else(|| {
            let last = buckets - 1;
            Error::invalid_value(format!("index {bucket} must be from 0 to {last}"))
        })?;
        let valid = u32::try_from(zeros).ok().filter(|it| *it <= u64::BITS);
        let out_of_range = || Error::invalid_value(format!("zeros {zeros} must be from 0 to 64"));
        self.set(known, valid.ok_or_else(out_of_range)?);
        Ok(())
    }

    fn set(&mut self, bucket: usize, zeros: u32) {
        let level = zeros.min(self.levels - 1) as usize;
        self.put((level << self.bucket_bits) + bucket, true);
    }

    fn bits(&self) -> usize {
        (self.levels as usize) << self.bucket_bits
    }

    fn bit(&self, at: usize) -> bool {
        self.bitmap.get(at / 8).is_some_and(|it| it >> (at % 8) & 1 == 1)
    }

    fn put(&mut self, at: usize, bit: bool) {
        if let Some(byte) = self.bitmap.get_mut(at / 8) {
            *byte = *byte & !(1 << (at % 8)) | u8::from(bit) << (at % 8);
        }
    }

    /// The sketch with its bits flipped, each with the probability 1 / (e^epsilon + 1); the sketch
    /// itself if epsilon is infinite.
    ///
    /// # Errors
    ///
    /// Invalid value: epsilon is not above 0.
    pub fn made_private(mut self, epsilon: f64) -> Result<SfmSketch> {
        check_epsilon(epsilon)?;
        if epsilon.is_infinite() {
            return Ok(self);
        }
        self.flip = 1.0 / (epsilon.exp() + 1.0);
        let mut random = Random::new();
        for at in 0..self.bits() {
            if random.is_below(self.flip) {
                self.put(at, !self.bit(at));
            }
        }
        Ok(self)
    }

    /// Adds what another sketch holds. If one of them is private, the union is a random one with
    /// the probabilities of bits that the union of both sets would have (theorem 4.8).
    ///
    /// # Errors
    ///
    /// Invalid value: it has other numbers of buckets or levels.
    pub fn merge(&mut self, other: &SfmSketch) -> Result<()> {
        for (what, mine, others) in [
            ("precision", self.levels, other.levels),
            ("indexBitLength", self.bucket_bits, other.bucket_bits),
        ] {
            if mine != others {
                let message =
                    format!("cannot merge two SFM sketches of different {what}: {mine}, {others}");
                return Err(Error::invalid_value(message));
            }
        }
        let (p1, p2) = (self.flip, other.flip);
        if p1 == 0.0 && p2 == 0.0 {
            self.bitmap.iter_mut().zip(&other.bitmap).for_each(|(it, other)| *it |= other);
            return Ok(());
        }
        let p = (p1 + p2 - 3.0 * p1 * p2) / (1.0 - 2.0 * p1 * p2);
        let scale = (1.0 - 2.0 * p) / ((1.0 - 2.0 * p1) * (1.0 - 2.0 * p2));
        let mut random = Random::new();
        for at in 0..self.bits() {
            let [left, right] = [self.bit(at), other.bit(at)].map(|it| f64::from(u8::from(it)));
            let either = 1.0 - 2.0 * p - scale * (1.0 - p1 - left) * (1.0 - p2 - right);
            self.put(at, random.is_below(p + scale * either));
        }
        self.flip = p;
        Ok(())
    }

    /// About how many elements there are: the number for which the bits are most likely, by
    /// Newton's method.
    pub fn cardinality(&self) -> i64 {
        let set: Vec<f64> = (0..self.levels).map(|it| self.set_bits(it) as f64).collect();
        let buckets = (1u64 << self.bucket_bits) as f64;
        let mut guess = 1.0;
        for _ in 0..STEPS_MAX {
            let (mut first, mut second) = (0.0, 0.0);
            for (level, set) in set.iter().enumerate() {
                for (bits, is_set) in [(*set, true), (buckets - set, false)] {
                    let (one, two) = self.derivatives(level, is_set, guess);
                    first += bits * one;
                    second += bits * two;
                }
            }
            let change = -first / second;
            guess += change;
            if change.is_nan() || change.abs() <= CHANGE_MIN {
                break;
            }
        }
        // The conversion saturates.
        (guess + 0.5).floor().max(0.0) as i64
    }

    fn set_bits(&self, level: u32) -> usize {
        let first = (level as usize) << self.bucket_bits;
        (first..first + (1 << self.bucket_bits)).filter(|it| self.bit(*it)).count()
    }

    /// The derivatives of the logarithm of the likelihood of a bit at this number of elements.
    fn derivatives(&self, level: usize, is_set: bool, elements: f64) -> (f64, f64) {
        let hit = 0.5f64.powi(level as i32 + 1) / (1u64 << self.bucket_bits) as f64;
        let (sign, kept) = if is_set { (-1.0, 1.0 - self.flip) } else { (1.0, self.flip) };
        let certain = 1.0 - 2.0 * self.flip;
        let missed = (1.0 - hit).powf(elements);
        let likelihood = kept + sign * certain * missed;
        let log = (-hit).ln_1p();
        let first = log * (1.0 - kept / likelihood);
        (first, sign * kept * certain * log * log * missed / (likelihood * likelihood))
    }
}

/// Whether an epsilon is above 0, or infinite: not private.
///
/// # Errors
///
/// Invalid value: it is not.
pub fn check_epsilon(epsilon: f64) -> Result<()> {
    let error = || Error::invalid_value(format!("epsilon must be positive: {epsilon}"));
    (epsilon > 0.0).then_some(()).ok_or_else(error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_functions::value_aggregate::mix;

    fn of_elements(elements: u64) -> SfmSketch {
        let mut sketch = SfmSketch::new(4096, 24).unwrap();
        (0..elements).for_each(|it| sketch.add(mix(it)));
        sketch
    }

    #[test]
    fn estimates_are_near_the_number_of_elements() {
        for elements in [0, 1, 7, 100, 5000, 200_000] {
            let found = of_elements(elements).cardinality();
            let error = (found - elements as i64).abs() as f64;
            assert!(error <= 0.03 * elements as f64 + 0.5, "{found} of {elements}");
            let private = of_elements(elements).made_private(4.0).unwrap().cardinality();
            let error = (private - elements as i64).abs() as f64;
            assert!(error <= 0.1 * elements as f64 + 300.0, "{private} of {elements}, private");
        }
    }

    #[test]
    fn bytes_are_read_back_and_malformed_ones_refused() {
        for sketch in [of_elements(0), of_elements(9), of_elements(9).made_private(1.0).unwrap()] {
            let bytes = sketch.to_bytes();
            assert_eq!(SfmSketch::from_bytes(&bytes), Some(sketch));
            for end in 0..bytes.len() {
                assert_eq!(SfmSketch::from_bytes(&bytes[..end]), None);
            }
        }
        let bytes = of_elements(9).to_bytes();
        for (at, byte) in [(0, 6), (1, 0), (1, 33), (5, 0), (5, 60), (8, 1), (16, 0x40), (20, 255)]
        {
            let mut other = bytes.clone();
            other[at] = byte;
            assert_eq!(SfmSketch::from_bytes(&other), None, "{at}");
        }
        for (buckets, levels) in
            [(0, 24), (3, 24), (-2, 24), (1, 24), (16, 20), (16, 0), (1 << 30, 32)]
        {
            assert!(SfmSketch::new(buckets, levels).is_err(), "{buckets} {levels}");
        }
    }

    #[test]
    fn unions_count_elements_once() {
        let mut union = of_elements(1000);
        let mut all = of_elements(3000);
        union.merge(&all).unwrap();
        assert_eq!(union, all);
        all.merge(&of_elements(3000).made_private(3.0).unwrap()).unwrap();
        assert!((all.cardinality() - 3000).abs() < 600, "{}", all.cardinality());
        assert!(all.merge(&SfmSketch::new(2048, 24).unwrap()).is_err());
        assert!(all.merge(&SfmSketch::new(4096, 32).unwrap()).is_err());
        assert!(of_elements(1).made_private(0.0).is_err());
        assert!(of_elements(1).made_private(f64::NAN).is_err());
    }
}
