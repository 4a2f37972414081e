//! The sketch behind `approx_distinct` and `approx_set`: exact for small sets, HyperLogLog for
//! large ones.
//!
//! The bytes are those of [`HyperLogLog`].
//!
//! Flajolet, Fusy, Gandouet, Meunier: "HyperLogLog" (2007), with Ertl's estimator ("New cardinality
//! estimation algorithms for HyperLogLog sketches", 2017), which needs no correction tables.

use std::collections::HashSet;
use volley_types::custom::HyperLogLog;

/// Bits of a hash that choose a register, where nothing else is asked for: 2^14 registers give a
/// standard error of 1.04 / sqrt(2^14) = 0.8 %.
const INDEX_BITS: u32 = 14;

/// A set of hashes.
#[derive(Clone)]
pub(super) struct Sketch {
    /// Bits of a hash that choose a register.
    index_bits: u32,
    set: Set,
}

#[derive(Clone)]
enum Set {
    /// All of them.
    Exact(HashSet<u64, PassThrough>),
    /// Only what HyperLogLog keeps.
    Dense(Box<[u8]>),
}

/// Hashes that are hashes already.
#[derive(Clone, Copy, Default)]
pub(super) struct PassThrough(u64);

impl std::hash::BuildHasher for PassThrough {
    type Hasher = PassThrough;

    fn build_hasher(&self) -> PassThrough {
        PassThrough(0)
    }
}

impl std::hash::Hasher for PassThrough {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

impl Default for Sketch {
    fn default() -> Sketch {
        Sketch::of_bits(INDEX_BITS)
    }
}

impl Sketch {
    fn of_bits(index_bits: u32) -> Sketch {
        Sketch { index_bits, set: Set::Exact(HashSet::default()) }
    }

    /// An empty set whose estimate has a standard error of at most `error`; `None` when there are
    /// no such sketches.
    pub(super) fn of_error(error: f64) -> Option<Sketch> {
        // 1.04 / sqrt(2^16), and 1.04 / sqrt(2^4).
        if !(0.0040625..=0.26).contains(&error) {
            return None;
        }
        let registers = (1.04 / error) * (1.04 / error);
        let bits = registers.log2().ceil() as u32;
        let (min, max) = (HyperLogLog::INDEX_BITS_MIN, HyperLogLog::INDEX_BITS_MAX);
        Some(Sketch::of_bits(bits.clamp(min, max)))
    }

    /// The set that bytes are; `None` when they are none.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Sketch> {
        if !HyperLogLog::is_valid(bytes) {
            return None;
        }
        let [tag, bits, rest @ ..] = bytes else { return None };
        let set = match tag {
            0 => Set::Exact(hashes_in(rest).collect()),
            _ => Set::Dense(rest.into()),
        };
        Some(Sketch { index_bits: (*bits).into(), set })
    }

    /// The most hashes that are kept exactly: as many bytes as the registers have.
    fn exact_max(&self) -> usize {
        1 << self.index_bits >> 3
    }

    /// Adds a hash.
    #[inline]
    pub(super) fn add(&mut self, hash: u64) {
        let exact_max = self.exact_max();
        match &mut self.set {
            Set::Dense(registers) => add_to_registers(registers, self.index_bits, hash),
            Set::Exact(hashes) => {
                hashes.insert(hash);
                if hashes.len() > exact_max {
                    self.make_dense();
                }
            }
        }
    }

    fn make_dense(&mut self) {
        if let Set::Exact(hashes) = &self.set {
            let mut registers = vec![0; 1 << self.index_bits].into_boxed_slice();
            let add = |hash: &u64| add_to_registers(&mut registers, self.index_bits, *hash);
            hashes.iter().for_each(add);
            self.set = Set::Dense(registers);
        }
    }

    /// Adds the set written by [`Sketch::to_bytes`]; other bytes are ignored. Of two sketches, the
    /// coarser one decides how fine the result is.
    pub(super) fn merge(&mut self, bytes: &[u8]) {
        if let Some(other) = Sketch::from_bytes(bytes) {
            self.merge_sketch(other);
        }
    }

    fn merge_sketch(&mut self, mut other: Sketch) {
        let bits = self.index_bits.min(other.index_bits);
        self.coarsen(bits);
        other.coarsen(bits);
        match other.set {
            Set::Exact(hashes) => hashes.into_iter().for_each(|it| self.add(it)),
            Set::Dense(others) => {
                self.make_dense();
                if let Set::Dense(registers) = &mut self.set {
                    registers.iter_mut().zip(&others).for_each(|(a, b)| *a = (*a).max(*b));
                }
            }
        }
    }

    /// Gives up bits that choose a register; they become the first ones that positions count in.
    fn coarsen(&mut self, index_bits: u32) {
        let fewer = self.index_bits - index_bits;
        if fewer == 0 {
            return;
        }
        self.index_bits = index_bits;
        match &self.set {
            Set::Exact(hashes) if hashes.len() <= self.exact_max() => {}
            Set::Exact(_) => self.make_dense(),
            Set::Dense(registers) => {
                let mut coarse = vec![0u8; 1 << index_bits].into_boxed_slice();
                for (index, value) in registers.iter().enumerate().filter(|it| *it.1 > 0) {
                    let dropped = index as u32 & ((1 << fewer) - 1);
                    let position = match dropped {
                        0 => u32::from(*value) + fewer,
                        _ => fewer - dropped.ilog2(),
                    };
                    let register = &mut coarse[index >> fewer];
                    *register = (*register).max(position as u8);
                }
                self.set = Set::Dense(coarse);
            }
        }
    }

    /// The set as bytes: the same ones for the same set.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let bits = self.index_bits as u8;
        match &self.set {
            Set::Exact(hashes) => {
                let mut bytes = vec![0, bits];
                let mut hashes: Vec<u64> = hashes.iter().copied().collect();
                hashes.sort_unstable();
                hashes.iter().for_each(|hash| bytes.extend(hash.to_be_bytes()));
                bytes
            }
            Set::Dense(registers) => {
                let mut bytes = vec![1, bits];
                bytes.extend_from_slice(registers);
                bytes
            }
        }
    }

    /// The number of distinct hashes: exact while they are kept.
    pub(super) fn estimate(&self) -> i64 {
        match &self.set {
            Set::Exact(hashes) => hashes.len() as i64,
            Set::Dense(registers) => estimate_registers(registers),
        }
    }

    /// Bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        match &self.set {
            // One control byte per bucket next to the hash.
            Set::Exact(hashes) => hashes.capacity() * 9,
            Set::Dense(registers) => registers.len(),
        }
    }
}

fn hashes_in(bytes: &[u8]) -> impl Iterator<Item = u64> {
    let hash = |it: &[u8]| it.iter().fold(0, |hash, byte| hash << 8 | u64::from(*byte));
    bytes.chunks_exact(8).map(hash)
}

#[inline]
fn add_to_registers(registers: &mut [u8], index_bits: u32, hash: u64) {
    let index = (hash >> (64 - index_bits)) as usize;
    // The sentinel bit bounds the position.
    let rest = hash << index_bits | 1 << (index_bits - 1);
    let position = rest.leading_zeros() as u8 + 1;
    registers[index] = registers[index].max(position);
}

/// The number of distinct hashes that registers, a power of two of them, tell: Ertl's improved
/// estimator over the histogram of their values.
pub fn estimate_registers(registers: &[u8]) -> i64 {
    let last = (65 - registers.len().ilog2()) as usize;
    let mut histogram = [0u32; 64];
    registers.iter().for_each(|value| histogram[usize::from(*value).min(last)] += 1);
    let count = registers.len() as f64;
    let mut z = count * tau(1.0 - f64::from(histogram[last]) / count);
    for value in (1..last).rev() {
        z = 0.5 * (z + f64::from(histogram[value]));
    }
    z += count * sigma(f64::from(histogram[0]) / count);
    let alpha = 0.5 / std::f64::consts::LN_2;
    (alpha * count * count / z).round() as i64
}

fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            return z;
        }
    }
}

fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
        if z == before {
            return z / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SplitMix64: a good 64-bit hash of small numbers.
    fn mix(value: u64) -> u64 {
        let mut x = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
        x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ x >> 31
    }

    #[test]
    fn small_sets_are_exact_and_large_ones_nearly() {
        for count in [0u64, 1, 100, 2048, 5_000, 100_000, 1_000_000] {
            let mut sketch = Sketch::default();
            (0..count).chain(0..count).for_each(|it| sketch.add(mix(it)));
            let allowed = if count <= 2048 { 0.0 } else { count as f64 * 0.03 };
            let error = (sketch.estimate() as f64 - count as f64).abs();
            assert!(error <= allowed, "{count}: {}", sketch.estimate());
        }
    }

    #[test]
    fn merged_sketches_count_the_union() {
        for (left, right) in [(0..100, 50..150), (0..100, 0..50_000), (0..50_000, 0..100)] {
            let mut union = Sketch::default();
            left.clone().chain(right.clone()).for_each(|it| union.add(mix(it)));
            let mut merged = Sketch::default();
            for part in [left, right] {
                let mut sketch = Sketch::default();
                part.for_each(|it| sketch.add(mix(it)));
                merged.merge(&sketch.to_bytes());
            }
            assert_eq!(merged.estimate(), union.estimate());
        }
    }

    #[test]
    fn a_coarser_sketch_is_that_of_the_same_set() {
        for count in [10u64, 300, 2_000, 100_000] {
            for bits in [4, 10, 13] {
                let (mut fine, mut coarse) = (Sketch::of_bits(14), Sketch::of_bits(bits));
                (0..count).for_each(|it| fine.add(mix(it)));
                (0..count).for_each(|it| coarse.add(mix(it)));
                fine.coarsen(bits);
                fine.make_dense();
                coarse.make_dense();
                assert_eq!(fine.to_bytes(), coarse.to_bytes(), "{count} {bits}");
            }
        }
    }

    #[test]
    fn bytes_come_back_and_malformed_ones_are_refused() {
        for count in [0u64, 10, 100_000] {
            let mut sketch = Sketch::of_error(0.05).unwrap();
            (0..count).for_each(|it| sketch.add(mix(it)));
            let bytes = sketch.to_bytes();
            assert_eq!(Sketch::from_bytes(&bytes).unwrap().estimate(), sketch.estimate());
            assert!(Sketch::from_bytes(&bytes[..bytes.len() - 1]).is_none());
        }
        for wrong in [&[][..], &[0], &[0, 3], &[0, 17], &[2, 14], &[1, 4, 0], &[0, 4, 1]] {
            assert!(Sketch::from_bytes(wrong).is_none(), "{wrong:?}");
        }
        let mut registers = vec![1, 4];
        registers.extend([62; 16]);
        assert!(Sketch::from_bytes(&registers).is_none());
        assert!(Sketch::of_error(0.5).is_none() && Sketch::of_error(f64::NAN).is_none());
    }
}
