//! The positions of bytes in blocks of 64.

#[cfg(target_arch = "x86_64")]
use crate::cpu;

/// A block.
pub type Block = [u8; 64];

/// For each block and each of some bytes, where the byte stands in the block: a bit for each place,
/// the lowest one for the first.
///
/// # Panics
///
/// `found` has fewer elements than there are blocks.
pub fn find_bytes<const N: usize>(blocks: &[Block], bytes: &[u8; N], found: &mut [[u64; N]]) {
    let found = &mut found[..blocks.len()];
    #[cfg(target_arch = "x86_64")]
    {
        if cpu::has_avx512() {
            // SAFETY: the CPU has these instructions.
            return unsafe { avx512::find_bytes(blocks, bytes, found) };
        }
        if cpu::has_avx2() {
            // SAFETY: the CPU has these instructions.
            return unsafe { avx2::find_bytes(blocks, bytes, found) };
        }
    }
    find_bytes_one_by_one(blocks, bytes, found);
}

/// The plain form of [`find_bytes`].
fn find_bytes_one_by_one<const N: usize>(
    blocks: &[Block],
    bytes: &[u8; N],
    found: &mut [[u64; N]],
) {
    for (block, found) in blocks.iter().zip(found) {
        *found = bytes
            .map(|byte| block.iter().rev().fold(0, |bits, it| bits << 1 | u64::from(*it == byte)));
    }
}

/// For each bit, whether an odd number of bits is set up to it, itself among them: with quotes,
/// the opening ones and what stands behind them.
#[inline]
pub fn odd_bits(bits: u64) -> u64 {
    (0..6).fold(bits, |odd, it| odd ^ odd << (1 << it))
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::Block;
    use std::arch::x86_64::{_mm512_cmpeq_epi8_mask, _mm512_loadu_si512, _mm512_set1_epi8};

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
    pub(super) fn find_bytes<const N: usize>(
        blocks: &[Block],
        bytes: &[u8; N],
        found: &mut [[u64; N]],
    ) {
        let wanted = bytes.map(|it| _mm512_set1_epi8(it.cast_signed()));
        for (block, found) in blocks.iter().zip(found) {
            // SAFETY: a block has 64 bytes; the load needs no alignment.
            let block = unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
            *found = wanted.map(|it| _mm512_cmpeq_epi8_mask(block, it));
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::Block;
    use std::arch::x86_64::{
        _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set1_epi8,
    };

    #[target_feature(enable = "avx2")]
    pub(super) fn find_bytes<const N: usize>(
        blocks: &[Block],
        bytes: &[u8; N],
        found: &mut [[u64; N]],
    ) {
        let wanted = bytes.map(|it| _mm256_set1_epi8(it.cast_signed()));
        for (block, found) in blocks.iter().zip(found) {
            let (low, high) = block.split_at(32);
            // SAFETY: each half has 32 bytes; the load needs no alignment.
            let low = unsafe { _mm256_loadu_si256(low.as_ptr().cast()) };
            // SAFETY: as above.
            let high = unsafe { _mm256_loadu_si256(high.as_ptr().cast()) };
            *found = wanted.map(|it| {
                let low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(low, it)).cast_unsigned();
                let high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(high, it)).cast_unsigned();
                u64::from(high) << 32 | u64::from(low)
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Way = fn(&[Block], &[u8; 3], &mut [[u64; 3]]);

    fn ways() -> Vec<Way> {
        let mut ways: Vec<Way> = vec![find_bytes, find_bytes_one_by_one];
        #[cfg(target_arch = "x86_64")]
        {
            if cpu::has_avx2() {
                // SAFETY: the CPU has these instructions.
                ways.push(|blocks, bytes, found| unsafe { avx2::find_bytes(blocks, bytes, found) });
            }
            if cpu::has_avx512() {
                // SAFETY: the CPU has these instructions.
                ways.push(|blocks, bytes, found| unsafe {
                    avx512::find_bytes(blocks, bytes, found);
                });
            }
        }
        ways
    }

    #[test]
    fn bits_are_where_the_bytes_are() {
        let mut random = fastrand::Rng::with_seed(1);
        for count in [0, 1, 2, 50] {
            let mut blocks = vec![[0; 64]; count];
            let all = blocks.as_flattened_mut();
            all.iter_mut().for_each(|it| *it = random.u8(..4).wrapping_sub(2));
            let bytes = [0, 0xFE, 7];
            let bits_of = |block: &Block, byte: u8| {
                (0..64).filter(|it| block[*it] == byte).fold(0, |bits, it| bits | 1 << it)
            };
            let expected = blocks.iter().map(|block| bytes.map(|it| bits_of(block, it)));
            let expected: Vec<[u64; 3]> = expected.collect();
            for way in ways() {
                let mut found = vec![[1; 3]; count];
                way(&blocks, &bytes, &mut found);
                assert_eq!(found, expected);
            }
        }
    }

    #[test]
    fn odd_bits_stand_between_pairs() {
        assert_eq!(odd_bits(0b0010_0100), 0b0001_1100);
        assert_eq!(odd_bits(1 << 60), 0b1111 << 60);
        assert_eq!(odd_bits(0), 0);
    }
}
