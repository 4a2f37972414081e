//! Truth values of dictionary codes, looked up in a bitmap.
//!
//! Four ways, by the size of the bitmap and the CPU: a bitmap of at most 1024 bits stays in two
//! 512-bit registers, and a permutation picks the 32 bits of each code; of a larger one they are
//! gathered from memory (16 or 8 codes at once). On other CPUs, and for words with few selected
//! rows, codes are looked up one by one.

#[cfg(target_arch = "x86_64")]
use crate::cpu::{has_avx2, has_avx512};

/// Rows of a word.
const LANES: usize = 64;

/// With fewer rows wanted of a word, they are looked up one by one.
const WANTED_MIN: u32 = 10;

/// Sets bit `i` of `bits` when bit `i` of `wanted` and bit `codes[i]` of `table` are set, and
/// clears all others. The table says no to codes beyond its end.
///
/// # Panics
///
/// If `wanted` or `bits` do not have one word per 64 codes.
pub fn look_up(codes: &[u32], table: &[u64], wanted: &[u64], bits: &mut [u64]) {
    assert_eq!(wanted.len(), codes.len().div_ceil(LANES), "one bit per code");
    assert_eq!(bits.len(), wanted.len(), "one bit per code");
    #[cfg(target_arch = "x86_64")]
    {
        // Offsets are signed 32-bit numbers of dwords.
        if has_avx512() && table.len() <= 16 {
            // SAFETY: the CPU has these instructions, the table is small enough.
            return unsafe { avx512::look_up_small(codes, table, wanted, bits) };
        }
        if has_avx512() && table.len() < 1 << 25 {
            // SAFETY: the CPU has these instructions, and the table is not too large.
            return unsafe { avx512::look_up_any(codes, table, wanted, bits) };
        }
        if has_avx2() && !table.is_empty() && table.len() < 1 << 25 {
            // SAFETY: the CPU has these instructions, and the table is neither empty nor too large.
            return unsafe { avx2::look_up_any(codes, table, wanted, bits) };
        }
    }
    for_each_word(codes, wanted, bits, |codes, wanted| few(codes, table, wanted), table);
}

/// Fills `bits`: by `word` where many of 64 codes are wanted, one by one elsewhere.
#[inline(always)]
fn for_each_word(
    codes: &[u32],
    wanted: &[u64],
    bits: &mut [u64],
    word: impl Fn(&[u32; LANES], u64) -> u64,
    table: &[u64],
) {
    let (chunks, rest) = codes.as_chunks::<LANES>();
    for ((chunk, &wanted), bits) in chunks.iter().zip(wanted).zip(bits.iter_mut()) {
        *bits = match wanted.count_ones() {
            0 => 0,
            1..WANTED_MIN => few(chunk, table, wanted),
            _ => word(chunk, wanted) & wanted,
        };
    }
    if let (false, Some(wanted), Some(bits)) = (rest.is_empty(), wanted.last(), bits.last_mut()) {
        *bits = few(rest, table, wanted & ((1 << rest.len()) - 1));
    }
}

/// The bits of the wanted rows alone.
#[inline(always)]
fn few(codes: &[u32], table: &[u64], mut wanted: u64) -> u64 {
    let mut word = 0;
    while wanted != 0 {
        let row = wanted.trailing_zeros() as usize;
        wanted &= wanted - 1;
        let code = codes[row];
        let bits = table.get((code / 64) as usize).copied().unwrap_or(0);
        word |= (bits >> (code % 64) & 1) << row;
    }
    word
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::{LANES, for_each_word};
    use std::arch::x86_64::*;

    /// # Safety
    ///
    /// The CPU has the instructions; `table` has at most 16 words.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
    pub(super) unsafe fn look_up_small(
        codes: &[u32],
        table: &[u64],
        wanted: &[u64],
        bits: &mut [u64],
    ) {
        let mut padded = [0u64; 16];
        padded[..table.len()].copy_from_slice(table);
        let (low, high) = padded.split_at(8);
        // SAFETY: each half of the array has 64 bytes.
        let low = unsafe { _mm512_loadu_si512(low.as_ptr().cast()) };
        // SAFETY: as before.
        let high = unsafe { _mm512_loadu_si512(high.as_ptr().cast()) };
        let end = _mm512_set1_epi32(1024);
        let word = |codes: &[u32; LANES], _| {
            fold_words(codes, |codes| {
                let index = _mm512_srli_epi32::<5>(codes);
                let dwords = _mm512_permutex2var_epi32(low, index, high);
                let inside = _mm512_cmplt_epu32_mask(codes, end);
                _mm512_mask_test_epi32_mask(inside, dwords, bit_of(codes))
            })
        };
        for_each_word(codes, wanted, bits, word, table);
    }

    /// # Safety
    ///
    /// The CPU has the instructions; `table` has fewer than 2^25 words.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
    pub(super) unsafe fn look_up_any(
        codes: &[u32],
        table: &[u64],
        wanted: &[u64],
        bits: &mut [u64],
    ) {
        let end = _mm512_set1_epi32((table.len() * 64) as i32);
        let word = |codes: &[u32; LANES], _| {
            fold_words(codes, |codes| {
                let index = _mm512_srli_epi32::<5>(codes);
                let inside = _mm512_cmplt_epu32_mask(codes, end);
                let zero = _mm512_setzero_si512();
                let start = table.as_ptr().cast::<i32>();
                // SAFETY: codes inside are below 64 times the number of words: their dwords are
                // within the table. Others are not read.
                let dwords =
                    unsafe { _mm512_mask_i32gather_epi32::<4>(zero, inside, index, start) };
                _mm512_mask_test_epi32_mask(inside, dwords, bit_of(codes))
            })
        };
        for_each_word(codes, wanted, bits, word, table);
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn bit_of(codes: __m512i) -> __m512i {
        let place = _mm512_and_si512(codes, _mm512_set1_epi32(31));
        _mm512_sllv_epi32(_mm512_set1_epi32(1), place)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn fold_words(codes: &[u32; LANES], look_up: impl Fn(__m512i) -> __mmask16) -> u64 {
        let mut word = 0;
        for (index, codes) in codes.as_chunks::<16>().0.iter().enumerate() {
            // SAFETY: 16 codes are 64 bytes.
            let codes = unsafe { _mm512_loadu_si512(codes.as_ptr().cast()) };
            word |= u64::from(look_up(codes)) << (index * 16);
        }
        word
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{LANES, for_each_word};
    use std::arch::x86_64::*;

    /// # Safety
    ///
    /// The CPU has the instructions; `table` has at least one and fewer than 2^25 words.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn look_up_any(
        codes: &[u32],
        table: &[u64],
        wanted: &[u64],
        bits: &mut [u64],
    ) {
        let last = _mm256_set1_epi32((table.len() * 64 - 1) as i32);
        let word = |codes: &[u32; LANES], _| {
            let mut word = 0;
            for (index, codes) in codes.as_chunks::<8>().0.iter().enumerate() {
                // SAFETY: 8 codes are 32 bytes.
                let codes = unsafe { _mm256_loadu_si256(codes.as_ptr().cast()) };
                let inside = _mm256_cmpeq_epi32(_mm256_min_epu32(codes, last), codes);
                let dword = _mm256_srli_epi32::<5>(codes);
                let start = table.as_ptr().cast::<i32>();
                let zero = _mm256_setzero_si256();
                // SAFETY: codes inside are below 64 times the number of words: their dwords are
                // within the table. Others are not read.
                let dwords =
                    unsafe { _mm256_mask_i32gather_epi32::<4>(zero, start, dword, inside) };
                // The bit of each code moves to the sign.
                let place = _mm256_andnot_si256(codes, _mm256_set1_epi32(31));
                let signs = _mm256_castsi256_ps(_mm256_sllv_epi32(dwords, place));
                word |= u64::from(_mm256_movemask_ps(signs) as u32) << (index * 8);
            }
            word
        };
        for_each_word(codes, wanted, bits, word, table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Way = fn(&[u32], &[u64], &[u64], &mut [u64]);

    fn naive(codes: &[u32], table: &[u64], wanted: &[u64], bits: &mut [u64]) {
        bits.fill(0);
        for (row, code) in codes.iter().enumerate() {
            let bit = |bits: &[u64], at: usize| {
                bits.get(at / 64).is_some_and(|it| it >> (at % 64) & 1 == 1)
            };
            if bit(wanted, row) && bit(table, *code as usize) {
                bits[row / 64] |= 1 << (row % 64);
            }
        }
    }

    fn random(seed: u64) -> impl FnMut() -> u64 {
        let mut state = seed | 1;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.wrapping_mul(0x2545_F491_4F6C_DD1D)
        }
    }

    /// The ways that this CPU has for a table of `words` words.
    fn ways(words: usize) -> Vec<Way> {
        let portable: Way = |codes, table, wanted, bits| {
            for_each_word(codes, wanted, bits, |codes, wanted| few(codes, table, wanted), table);
        };
        let mut ways: Vec<Way> = vec![look_up, portable];
        #[cfg(target_arch = "x86_64")]
        {
            if has_avx512() && words <= 16 {
                // SAFETY: asked for, and small.
                ways.push(|a, b, c, d| unsafe { avx512::look_up_small(a, b, c, d) });
            }
            if has_avx512() {
                // SAFETY: asked for.
                ways.push(|a, b, c, d| unsafe { avx512::look_up_any(a, b, c, d) });
            }
            if has_avx2() && words > 0 {
                // SAFETY: asked for, and not empty.
                ways.push(|a, b, c, d| unsafe { avx2::look_up_any(a, b, c, d) });
            }
        }
        ways
    }

    #[test]
    fn every_way_finds_what_looking_one_by_one_finds() {
        let mut next = random(7);
        for words in [0, 1, 2, 7, 8, 9, 15, 16, 17, 40, 1000] {
            let table: Vec<u64> = (0..words).map(|_| next()).collect();
            for len in [0usize, 1, 63, 64, 65, 128, 200, 1000] {
                for sparse in [0, 2, 5] {
                    let end = (words as u64 * 64 + 1) * 9 / 8;
                    let mut codes: Vec<u32> = (0..len).map(|_| (next() % end) as u32).collect();
                    if let Some(code) = codes.first_mut() {
                        *code = u32::MAX;
                    }
                    let word = |next: &mut dyn FnMut() -> u64| {
                        (0..sparse).fold(u64::MAX, |word, _| word & next())
                    };
                    let wanted: Vec<u64> = (0..len.div_ceil(64)).map(|_| word(&mut next)).collect();
                    let mut expected = vec![u64::MAX; wanted.len()];
                    naive(&codes, &table, &wanted, &mut expected);
                    for way in ways(words) {
                        let mut found = vec![u64::MAX; wanted.len()];
                        way(&codes, &table, &wanted, &mut found);
                        assert_eq!(found, expected, "{words} words, {len} codes");
                    }
                }
            }
        }
    }
}
