//! What is needed to compute without checking every row.

use crate::cpu::{self, Kernel};

/// How many bits the largest magnitude needs: every value is at least `-2^bits` and less than
/// `2^bits`.
pub fn magnitude_bits(values: &[i64]) -> u32 {
    u64::BITS - cpu::dispatch(Magnitudes(values)).leading_zeros()
}

/// All bits that any magnitude has.
struct Magnitudes<'a>(&'a [i64]);

impl Kernel for Magnitudes<'_> {
    type Output = i64;

    #[inline(always)]
    fn run(self) -> i64 {
        self.0.iter().fold(0, |all, it| all | it ^ (it >> 63))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn magnitudes_are_bounds() {
        for (values, bits) in [
            (&[][..], 0),
            (&[0, -1], 0),
            (&[1, -2], 1),
            (&[0, 3, -4], 2),
            (&[i64::MAX], 63),
            (&[0, i64::MIN], 63),
        ] {
            assert_eq!(magnitude_bits(values), bits, "{values:?}");
        }
    }
}
