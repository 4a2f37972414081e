//! Sixteen integers at once: one permutation puts the four bytes that hold each into its lane.

use std::{arch::x86_64::*, mem::MaybeUninit};

/// Integers of up to this width lie within four bytes, wherever they begin.
pub(super) const WIDTH_MAX: usize = 25;

/// Integers per vector.
const LANES: usize = 16;

/// Whether the CPU has the instructions.
pub(super) fn is_available() -> bool {
    crate::cpu::has_avx512() && std::arch::is_x86_feature_detected!("avx512vbmi")
}

/// Unpacks the first `out.len()` integers of `width` bits.
///
/// # Safety
///
/// - The CPU has the instructions.
/// - `width` is at most [`WIDTH_MAX`], and `src` has all the integers.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi")]
pub(super) unsafe fn unpack(src: &[u8], width: usize, out: &mut [MaybeUninit<u32>]) {
    let (mut bytes, mut shifts) = ([0u8; 64], [0u32; LANES]);
    for lane in 0..LANES {
        let bit = lane * width;
        shifts[lane] = (bit % 8) as u32;
        for place in 0..4 {
            bytes[lane * 4 + place] = (bit / 8 + place) as u8;
        }
    }
    // SAFETY: 64 bytes.
    let bytes = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
    // SAFETY: 64 bytes.
    let shifts = unsafe { _mm512_loadu_si512(shifts.as_ptr().cast()) };
    let mask = _mm512_set1_epi32((1i32 << width) - 1);
    let integers = |window| {
        let dwords = _mm512_permutexvar_epi8(bytes, window);
        _mm512_and_si512(_mm512_srlv_epi32(dwords, shifts), mask)
    };
    let (chunks, rest) = out.as_chunks_mut::<LANES>();
    let mut at = 0;
    for out in chunks {
        let integers = integers(load(src, at));
        // SAFETY: 16 integers are 64 bytes.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast(), integers) };
        at += width * LANES / 8;
    }
    if !rest.is_empty() {
        let lanes = (1u16 << rest.len()) - 1;
        let integers = integers(load(src, at));
        // SAFETY: only the lanes of the rest are stored.
        unsafe { _mm512_mask_storeu_epi32(rest.as_mut_ptr().cast(), lanes, integers) };
    }
}

/// The 64 bytes from `at` on; zeros beyond the end.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn load(src: &[u8], at: usize) -> __m512i {
    let src = src.get(at..).unwrap_or_default();
    if src.len() >= 64 {
        // SAFETY: the 64 bytes are there.
        return unsafe { _mm512_loadu_si512(src.as_ptr().cast()) };
    }
    let present = (1u64 << src.len()) - 1;
    // SAFETY: only the bytes that are there are loaded.
    unsafe { _mm512_maskz_loadu_epi8(present, src.as_ptr().cast()) }
}
