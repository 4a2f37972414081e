//! Gathers values and numbers of selected rows.

use crate::{
    cpu::{self, Kernel},
    order::max_u32,
};
use std::mem::MaybeUninit;

/// Appends `values[index]` for each index to `out`, for which the caller has made room.
///
/// # Panics
///
/// If an index is not below the number of values, or the room is not enough.
pub fn gather<T: Copy>(values: &[T], indices: &[u32], out: &mut Vec<T>) {
    assert!(indices.is_empty() || (max_u32(indices) as usize) < values.len(), "index of no value");
    let room = &mut out.spare_capacity_mut()[..indices.len()];
    cpu::dispatch(Gather { values, indices, room });
    let len = out.len() + indices.len();
    // SAFETY: the kernel has filled the room up to here.
    unsafe { out.set_len(len) };
}

/// Indices are below the number of values.
struct Gather<'a, T> {
    values: &'a [T],
    indices: &'a [u32],
    room: &'a mut [MaybeUninit<T>],
}

impl<T: Copy> Kernel for Gather<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (out, index) in self.room.iter_mut().zip(self.indices) {
            // SAFETY: `gather` compared the greatest index with the number of values.
            out.write(unsafe { *self.values.get_unchecked(*index as usize) });
        }
    }
}

/// The room that [`set_bits`] needs beyond what it appends: words are taken in pieces of this many
/// bits.
pub const SET_BITS_ROOM: usize = 16;

/// Appends the numbers of set bits to `out`, for which the caller has made room: for as many as are
/// set, and [`SET_BITS_ROOM`] more.
///
/// # Panics
///
/// If the room is not enough.
pub fn set_bits(words: &[u64], out: &mut Vec<u32>) {
    #[cfg(target_arch = "x86_64")]
    if cpu::has_avx512() {
        // SAFETY: the CPU has the instructions.
        return unsafe { avx512::set_bits(words, out) };
    }
    set_bits_portable(words, out);
}

fn set_bits_portable(words: &[u64], out: &mut Vec<u32>) {
    for (index, word) in words.iter().enumerate() {
        let (mut rest, first) = (*word, index as u32 * 64);
        if rest == u64::MAX {
            out.extend(first..first + 64);
            continue;
        }
        while rest != 0 {
            out.push(first + rest.trailing_zeros());
            rest &= rest - 1;
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use super::SET_BITS_ROOM as LANES;
    use std::arch::x86_64::*;

    /// # Safety
    ///
    /// The CPU has the instructions.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]
    pub(super) unsafe fn set_bits(words: &[u64], out: &mut Vec<u32>) {
        let count: usize = words.iter().map(|it| it.count_ones() as usize).sum();
        let room = &mut out.spare_capacity_mut()[..count + LANES];
        let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        let mut done = 0;
        for (index, &word) in words.iter().enumerate().filter(|(_, word)| **word != 0) {
            for piece in 0..64 / LANES {
                let set = (word >> (piece * LANES)) as u16;
                let first = _mm512_set1_epi32((index * 64 + piece * LANES) as i32);
                let numbers = _mm512_maskz_compress_epi32(set, _mm512_add_epi32(first, lanes));
                let place = room[done..done + LANES].as_mut_ptr();
                // SAFETY: there are 16 places.
                unsafe { _mm512_storeu_si512(place.cast(), numbers) };
                done += set.count_ones() as usize;
            }
        }
        let len = out.len() + count;
        // SAFETY: as many numbers were stored as bits are set.
        unsafe { out.set_len(len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_gathered_by_index() {
        let values: Vec<u64> = (0..1000).map(|it| it * 7).collect();
        for len in [0u32, 1, 15, 16, 100] {
            let indices: Vec<u32> = (0..len).map(|it| it * 37 % 1000).collect();
            let mut out = Vec::with_capacity(len as usize + 1);
            out.push(5);
            gather(&values, &indices, &mut out);
            let expected: Vec<u64> = indices.iter().map(|it| u64::from(*it) * 7).collect();
            assert_eq!(out[0], 5);
            assert_eq!(out[1..], expected);
        }
    }

    #[test]
    #[should_panic(expected = "index of no value")]
    fn an_index_of_no_value_is_a_panic() {
        gather(&[1u8, 2], &[0, 2], &mut Vec::with_capacity(2));
    }

    #[test]
    fn numbers_of_set_bits_ascend() {
        for pattern in [0, 1, u64::MAX, 1 << 63, 0x8421_ffff_0000_1111] {
            let words = [pattern, 0, u64::MAX, pattern];
            let naive: Vec<u32> =
                (0..256).filter(|it| words[*it as usize / 64] >> (it % 64) & 1 == 1).collect();
            for way in [set_bits, set_bits_portable] {
                let mut out = Vec::with_capacity(naive.len() + SET_BITS_ROOM + 1);
                out.push(9);
                way(&words, &mut out);
                assert_eq!(out[0], 9);
                assert_eq!(out[1..], naive);
            }
        }
    }
}
