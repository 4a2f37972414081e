//! Eight integers at once: a shuffle in each half puts the four bytes that hold each into its lane.

use std::{arch::x86_64::*, mem::MaybeUninit};

/// Integers of up to this width lie within four bytes, wherever they begin.
pub(super) const WIDTH_MAX: usize = 25;

/// Integers per vector.
const LANES: usize = 8;

/// Unpacks as many of the first `out.len()` integers of `width` bits as it can without reading
/// beyond `src`, in groups of eight; returns how many.
///
/// # Safety
///
/// - The CPU has AVX2.
/// - `width` is at most [`WIDTH_MAX`].
#[target_feature(enable = "avx2")]
pub(super) unsafe fn unpack(src: &[u8], width: usize, out: &mut [MaybeUninit<u32>]) -> usize {
    // The upper four integers begin within this byte.
    let upper = width / 2;
    let (mut bytes, mut shifts) = ([0u8; 32], [0u32; LANES]);
    for lane in 0..LANES {
        let bit = lane * width - if lane < LANES / 2 { 0 } else { upper * 8 };
        shifts[lane] = (bit % 8) as u32;
        for place in 0..4 {
            bytes[lane * 4 + place] = (bit / 8 + place) as u8;
        }
    }
    // SAFETY: 32 bytes.
    let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
    // SAFETY: 32 bytes.
    let shifts = unsafe { _mm256_loadu_si256(shifts.as_ptr().cast()) };
    let mask = _mm256_set1_epi32((1i32 << width) - 1);
    let (mut at, mut done) = (0, 0);
    for out in out.as_chunks_mut::<LANES>().0 {
        let halves = (
            src.get(at..).and_then(|it| it.first_chunk::<16>()),
            src.get(at + upper..).and_then(|it| it.first_chunk::<16>()),
        );
        let (Some(low), Some(high)) = halves else { break };
        // SAFETY: 16 bytes.
        let low = unsafe { _mm_loadu_si128(low.as_ptr().cast()) };
        // SAFETY: 16 bytes.
        let high = unsafe { _mm_loadu_si128(high.as_ptr().cast()) };
        let window = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high);
        let dwords = _mm256_shuffle_epi8(window, bytes);
        let integers = _mm256_and_si256(_mm256_srlv_epi32(dwords, shifts), mask);
        // SAFETY: 8 integers are 32 bytes.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), integers) };
        at += width;
        done += LANES;
    }
    done
}
