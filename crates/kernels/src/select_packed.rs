//! Tests packed integers without keeping what is unpacked.

use crate::{
    bits,
    cpu::{self, Kernel},
    pack::{Lane, ROW_BYTES, VECTOR, unpack},
};

/// Words of a vector's bitmap.
pub const VECTOR_WORDS: usize = VECTOR / 64;

/// An inclusive range of packed integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackedRange<T> {
    /// The least integer within.
    pub first: T,
    /// How far the greatest one is from the least.
    pub span: T,
}

impl<T: Lane> PackedRange<T> {
    /// Whether an integer is within.
    #[inline(always)]
    pub fn contains(self, integer: T) -> bool {
        integer.minus(self.first) <= self.span
    }
}

/// Sets bit `i` when integer `i` of a packed vector is within one of the ranges. `scratch` is
/// memory to work in.
///
/// # Panics
///
/// As [`unpack`].
pub fn select_ranges<T: Lane>(
    words: &[u8],
    width: usize,
    ranges: &[PackedRange<T>],
    scratch: &mut Vec<T>,
) -> [u64; VECTOR_WORDS] {
    debug_assert!(words.len() >= width * ROW_BYTES);
    scratch.clear();
    scratch.reserve(VECTOR);
    unpack(words, width, T::default(), scratch);
    let mut bits = [0; VECTOR_WORDS];
    for range in ranges {
        cpu::dispatch(Select { integers: scratch, range: *range, bits: &mut bits });
    }
    bits
}

/// Adds the integers within the range.
struct Select<'a, T> {
    integers: &'a [T],
    range: PackedRange<T>,
    bits: &'a mut [u64; VECTOR_WORDS],
}

impl<T: Lane> Kernel for Select<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Select { integers, range, bits } = self;
        for (integers, bits) in integers.as_chunks::<64>().0.iter().zip(bits) {
            *bits |= bits::word(64, |row| range.contains(integers[row]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::pack;

    fn check<T: Lane>() {
        let mut random = fastrand::Rng::with_seed(2);
        for width in 0..=T::BITS {
            let integer = |random: &mut fastrand::Rng| T::narrow(random.u64(..)) & T::mask(width);
            let values: Vec<T> = (0..VECTOR).map(|_| integer(&mut random)).collect();
            let mut words = Vec::new();
            pack(&values, T::default(), width, &mut words);
            for count in [0, 1, 3] {
                let ranges: Vec<PackedRange<T>> = (0..count)
                    .map(|_| PackedRange {
                        first: integer(&mut random),
                        span: integer(&mut random),
                    })
                    .collect();
                let bits = select_ranges(&words, width, &ranges, &mut Vec::new());
                for (row, value) in values.iter().enumerate() {
                    let expected = ranges.iter().any(|it| value.minus(it.first) <= it.span);
                    assert_eq!(bits[row / 64] >> (row % 64) & 1 == 1, expected);
                }
            }
        }
    }

    #[test]
    fn ranges_of_packed_integers_are_those_of_the_values() {
        check::<u8>();
        check::<u16>();
        check::<u32>();
        check::<u64>();
    }
}
