//! Running sums within registers: of 16 integers by four shifts and additions, of 8 by three. What
//! came before is added to all of them at the end, so that only that addition waits for the
//! register before.

use std::arch::x86_64::*;

/// Bits of a register.
const REGISTER_BITS: usize = 512;

/// Makes each of the 32-bit integers the sum of `start` and of all integers up to it.
///
/// # Safety
///
/// - The CPU has the instructions.
/// - `count` integers are at `values`, a multiple of 16.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
pub(super) unsafe fn prefix_sum_32(values: *mut u32, count: usize, start: u32) {
    const LANES: usize = REGISTER_BITS / 32;
    let (zero, last) = (_mm512_setzero_si512(), _mm512_set1_epi32(LANES as i32 - 1));
    let mut before = _mm512_set1_epi32(start.cast_signed());
    for register in 0..count / LANES {
        let at = values.wrapping_add(register * LANES).cast_const().cast();
        // SAFETY: the register is within the values.
        let mut sums = unsafe { _mm512_loadu_si512(at) };
        sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<15>(sums, zero));
        sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<14>(sums, zero));
        sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<12>(sums, zero));
        sums = _mm512_add_epi32(sums, _mm512_alignr_epi32::<8>(sums, zero));
        let all = _mm512_permutexvar_epi32(last, sums);
        let sums = _mm512_add_epi32(sums, before);
        // SAFETY: the register is within the values.
        unsafe { _mm512_storeu_si512(at.cast_mut(), sums) };
        before = _mm512_add_epi32(before, all);
    }
}

/// As [`prefix_sum_32`], of 64-bit integers.
///
/// # Safety
///
/// - The CPU has the instructions.
/// - `count` integers are at `values`, a multiple of 8.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
pub(super) unsafe fn prefix_sum_64(values: *mut u64, count: usize, start: u64) {
    const LANES: usize = REGISTER_BITS / 64;
    let (zero, last) = (_mm512_setzero_si512(), _mm512_set1_epi64(LANES as i64 - 1));
    let mut before = _mm512_set1_epi64(start.cast_signed());
    for register in 0..count / LANES {
        let at = values.wrapping_add(register * LANES).cast_const().cast();
        // SAFETY: the register is within the values.
        let mut sums = unsafe { _mm512_loadu_si512(at) };
        sums = _mm512_add_epi64(sums, _mm512_alignr_epi64::<7>(sums, zero));
        sums = _mm512_add_epi64(sums, _mm512_alignr_epi64::<6>(sums, zero));
        sums = _mm512_add_epi64(sums, _mm512_alignr_epi64::<4>(sums, zero));
        let all = _mm512_permutexvar_epi64(last, sums);
        let sums = _mm512_add_epi64(sums, before);
        // SAFETY: the register is within the values.
        unsafe { _mm512_storeu_si512(at.cast_mut(), sums) };
        before = _mm512_add_epi64(before, all);
    }
}
