//! Running sums of a vector.
//!
//! A running sum is a chain of additions, one after the other. The vector is cut into blocks whose
//! sums are computed first, in vector registers; then each block has a chain of its own, and the
//! CPU works at all chains at the same time. Where registers have 512 bits, sums are computed
//! within them instead, which takes less than half the time.

#[cfg(target_arch = "x86_64")]
mod avx512;

use crate::{
    cpu::{self, Kernel},
    pack::{Lane, VECTOR},
};

/// Chains at the same time.
const CHAINS: usize = 4;

/// Integers of a chain.
const CHAIN: usize = VECTOR / CHAINS;

/// Makes each integer the sum of `start`, of all integers before it and of itself, modulo 2 to the
/// power of its bits.
pub fn prefix_sum<T: Lane>(values: &mut [T], start: T) {
    match <&mut [T; VECTOR]>::try_from(&mut *values) {
        Ok(values) => prefix_sum_vector(values, start),
        Err(_) => prefix_sum_serial(values, start),
    }
}

fn prefix_sum_vector<T: Lane>(values: &mut [T; VECTOR], start: T) {
    #[cfg(target_arch = "x86_64")]
    if cpu::has_avx512() {
        let at = values.as_mut_ptr();
        match T::BITS {
            32 => {
                // SAFETY: the CPU has the instructions, and there are 1024 integers of 32 bits.
                return unsafe { avx512::prefix_sum_32(at.cast(), VECTOR, start.wide() as u32) };
            }
            64 => {
                // SAFETY: the CPU has the instructions, and there are 1024 integers of 64 bits.
                return unsafe { avx512::prefix_sum_64(at.cast(), VECTOR, start.wide()) };
            }
            _ => {}
        }
    }
    cpu::dispatch(PrefixSum { values, start });
}

/// As [`prefix_sum`], one after the other.
fn prefix_sum_serial<T: Lane>(values: &mut [T], start: T) {
    let mut sum = start;
    for value in values {
        sum = sum.plus(*value);
        *value = sum;
    }
}

struct PrefixSum<'a, T> {
    values: &'a mut [T; VECTOR],
    start: T,
}

impl<T: Lane> Kernel for PrefixSum<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let mut sums = [self.start; CHAINS];
        for (chain, block) in self.values[..VECTOR - CHAIN].chunks_exact(CHAIN).enumerate() {
            let sum = block.iter().fold(T::default(), |sum, it| sum.plus(*it));
            sums[chain + 1] = sums[chain].plus(sum);
        }
        for index in 0..CHAIN {
            for (chain, sum) in sums.iter_mut().enumerate() {
                let value = &mut self.values[chain * CHAIN + index];
                *sum = sum.plus(*value);
                *value = *sum;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Lane>() {
        let mut random = fastrand::Rng::with_seed(9);
        for len in [0, 1, 3, 1023, VECTOR, VECTOR + 1] {
            let start = T::narrow(random.u64(..));
            let values: Vec<T> = (0..len).map(|_| T::narrow(random.u64(..))).collect();
            let mut expected = values.clone();
            prefix_sum_serial(&mut expected, start);
            let mut sums = values.clone();
            prefix_sum(&mut sums, start);
            assert_eq!(sums, expected);
            for variant in cpu::variants() {
                let mut sums = values.clone();
                let Ok(values) = sums.as_mut_slice().try_into() else { continue };
                variant.run(PrefixSum { values, start });
                assert_eq!(sums, expected, "{variant:?}");
            }
        }
    }

    #[test]
    fn sums_run_over_the_whole_vector() {
        check::<u8>();
        check::<u16>();
        check::<u32>();
        check::<u64>();
    }
}
