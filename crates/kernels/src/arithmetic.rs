//! Sums, and bounds that make overflow checks per row unnecessary.

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

/// The sum, in several sums side by side: one of them would wait for each addition.
pub fn sum_of_doubles(values: &[f64]) -> f64 {
    cpu::dispatch(Sum(values))
}

struct Sum<'a>(&'a [f64]);

impl Kernel for Sum<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let (chunks, rest) = self.0.as_chunks::<32>();
        let mut sums = [0.0; 32];
        for chunk in chunks {
            sums.iter_mut().zip(chunk).for_each(|(sum, value)| *sum += value);
        }
        sums.iter().chain(rest).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_summed_up() {
        for count in [0, 1, 31, 32, 33, 1000] {
            let values: Vec<f64> = (0..count).map(f64::from).collect();
            assert_eq!(sum_of_doubles(&values), values.iter().fold(0.0, |sum, it| sum + it));
        }
        assert!(sum_of_doubles(&[-0.0; 3]) == 0.0);
        assert!(sum_of_doubles(&[[1.0; 40], [f64::NAN; 40]].concat()).is_nan());
        assert_eq!(sum_of_doubles(&[1e308; 3]), f64::INFINITY);
    }

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
