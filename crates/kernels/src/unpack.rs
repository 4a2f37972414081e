//! Unpacks bit-packed unsigned integers, least significant bit first.
//!
//! Integer `i` of width `w` occupies bits `i * w` up to `(i + 1) * w` of the source, where bit `b`
//! is bit `b % 8` of byte `b / 8`. Eight integers take `w` bytes, and so the loop below works on
//! groups of eight, whose bit offsets are constants once the width is one. Where the CPU shuffles
//! bytes of vectors, integers of up to 25 bits are unpacked by that.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use std::mem::MaybeUninit;

/// The bytes that a group may touch: 32 of its own (width 32) and 8 beyond for a whole-word load.
const WINDOW_BYTES: usize = 40;

/// Appends to `out` the `count` integers of `width` bits from position `start` on. The caller has
/// made room for them.
///
/// # Panics
///
/// If `width` is above 32, the source too short, or the room not enough.
pub fn unpack_u32(src: &[u8], width: usize, start: usize, count: usize, out: &mut Vec<u32>) {
    assert!(width <= 32, "width of an unsigned integer");
    assert!((start + count) * width <= src.len() * 8, "source of packed integers too short");
    let head = (start.next_multiple_of(8) - start).min(count);
    let (head_room, room) = out.spare_capacity_mut()[..count].split_at_mut(head);
    for (index, out) in head_room.iter_mut().enumerate() {
        out.write(unpack_one(src, width, start + index) as u32);
    }
    if !room.is_empty() {
        unpack_aligned(&src[(start + head) / 8 * width..], width, room);
    }
    let len = out.len() + count;
    // SAFETY: the head and the rest of the room are filled up to here.
    unsafe { out.set_len(len) };
}

/// A place for an integer.
type Room = MaybeUninit<u32>;

/// Fills `out` with the first integers of `width` bits, which are within `src`.
fn unpack_aligned(src: &[u8], width: usize, out: &mut [Room]) {
    #[cfg(target_arch = "x86_64")]
    {
        if width <= avx512::WIDTH_MAX && avx512::is_available() {
            // SAFETY: the CPU has the instructions, and the width was checked.
            return unsafe { avx512::unpack(src, width, out) };
        }
        if width <= avx2::WIDTH_MAX && crate::cpu::has_avx2() {
            // SAFETY: the CPU has the instructions, and the width was checked.
            let done = unsafe { avx2::unpack(src, width, out) };
            return UNPACK_GROUPS[width](&src[done / 8 * width..], &mut out[done..]);
        }
    }
    UNPACK_GROUPS[width](src, out);
}

/// Unpacks the first `out.len()` integers of `width` bits.
///
/// # Panics
///
/// If `width` is above 64, or the source too short.
pub fn unpack_u64(src: &[u8], width: usize, out: &mut [u64]) {
    assert!(width <= 64, "width of an unsigned integer");
    assert!(out.len() * width <= src.len() * 8, "source of packed integers too short");
    for (index, out) in out.iter_mut().enumerate() {
        *out = unpack_one(src, width, index);
    }
}

/// The integer at position `index`; `width` is at most 64.
pub(crate) fn unpack_one(src: &[u8], width: usize, index: usize) -> u64 {
    let bit = index * width;
    let first = bit / 8;
    let mut window = [0; 16];
    match src.get(first..first + 16) {
        Some(bytes) => window.copy_from_slice(bytes),
        None => {
            let bytes = &src[first.min(src.len())..];
            window[..bytes.len()].copy_from_slice(bytes);
        }
    }
    let mask = (1u128 << width) - 1;
    (u128::from_le_bytes(window) >> (bit % 8) & mask) as u64
}

/// One loop per width.
const UNPACK_GROUPS: [fn(&[u8], &mut [Room]); 33] = [
    unpack_groups::<0>,
    unpack_groups::<1>,
    unpack_groups::<2>,
    unpack_groups::<3>,
    unpack_groups::<4>,
    unpack_groups::<5>,
    unpack_groups::<6>,
    unpack_groups::<7>,
    unpack_groups::<8>,
    unpack_groups::<9>,
    unpack_groups::<10>,
    unpack_groups::<11>,
    unpack_groups::<12>,
    unpack_groups::<13>,
    unpack_groups::<14>,
    unpack_groups::<15>,
    unpack_groups::<16>,
    unpack_groups::<17>,
    unpack_groups::<18>,
    unpack_groups::<19>,
    unpack_groups::<20>,
    unpack_groups::<21>,
    unpack_groups::<22>,
    unpack_groups::<23>,
    unpack_groups::<24>,
    unpack_groups::<25>,
    unpack_groups::<26>,
    unpack_groups::<27>,
    unpack_groups::<28>,
    unpack_groups::<29>,
    unpack_groups::<30>,
    unpack_groups::<31>,
    unpack_groups::<32>,
];

/// Unpacks groups of eight; the last one may be cut short.
fn unpack_groups<const WIDTH: usize>(mut src: &[u8], out: &mut [Room]) {
    let mut groups = out.chunks_exact_mut(8);
    for group in &mut groups {
        let mut padded = [0; WINDOW_BYTES];
        let window = match src.first_chunk::<WINDOW_BYTES>() {
            Some(window) => window,
            None => {
                padded[..src.len()].copy_from_slice(src);
                &padded
            }
        };
        let group: &mut [Room; 8] = group.try_into().expect("chunks of eight");
        unpack_group::<WIDTH>(window, group);
        src = &src[WIDTH..];
    }
    let rest = groups.into_remainder();
    for (index, out) in rest.iter_mut().enumerate() {
        out.write(unpack_one(src, WIDTH, index) as u32);
    }
}

#[inline(always)]
fn unpack_group<const WIDTH: usize>(window: &[u8; WINDOW_BYTES], out: &mut [Room; 8]) {
    let mask = (1u64 << WIDTH) - 1;
    for (index, out) in out.iter_mut().enumerate() {
        let bit = index * WIDTH;
        let mut word = [0; 8];
        word.copy_from_slice(&window[bit / 8..bit / 8 + 8]);
        out.write((u64::from_le_bytes(word) >> (bit % 8) & mask) as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive(src: &[u8], width: usize, index: usize) -> u64 {
        (0..width).fold(0, |value, bit| {
            let at = index * width + bit;
            value | u64::from(src[at / 8] >> (at % 8) & 1) << bit
        })
    }

    fn bytes(len: usize) -> Vec<u8> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..len).map(|_| next()).collect()
    }

    #[test]
    fn every_width_start_and_length_unpacks_as_bit_by_bit() {
        for width in 0..=32 {
            for len in [0, 1, 7, 8, 9, 31, 64, 100] {
                for start in [0, 1, 7, 8, 13] {
                    let bits: usize = (start + len) * width;
                    let src = bytes(bits.div_ceil(8));
                    let mut out = Vec::with_capacity(len);
                    unpack_u32(&src, width, start, len, &mut out);
                    assert_eq!(out.len(), len);
                    for (index, value) in out.iter().enumerate() {
                        assert_eq!(u64::from(*value), naive(&src, width, start + index));
                    }
                }
            }
        }
    }

    /// What `unpack` says it made.
    fn made(len: usize, unpack: impl Fn(&mut [Room]) -> usize) -> Vec<u32> {
        let mut out = Vec::with_capacity(len);
        let done = unpack(&mut out.spare_capacity_mut()[..len]);
        // SAFETY: they were made.
        unsafe { out.set_len(done) };
        out
    }

    #[test]
    fn every_way_unpacks_as_bit_by_bit() {
        for (width, unpack_groups) in UNPACK_GROUPS.iter().enumerate().take(26) {
            for len in [1, 8, 15, 16, 17, 40, 100, 1000] {
                for extra in [0, 5, 100] {
                    let bits: usize = len * width;
                    let src = bytes(bits.div_ceil(8) + extra);
                    let one = |index| naive(&src, width, index) as u32;
                    let expected: Vec<u32> = (0..len).map(one).collect();
                    let all = made(len, |out| {
                        unpack_groups(&src, out);
                        len
                    });
                    assert_eq!(all, expected);
                    #[cfg(target_arch = "x86_64")]
                    if avx512::is_available() {
                        let all = made(len, |out| {
                            // SAFETY: the CPU has the instructions, the source the integers.
                            unsafe { avx512::unpack(&src, width, out) };
                            len
                        });
                        assert_eq!(all, expected);
                    }
                    #[cfg(target_arch = "x86_64")]
                    if crate::cpu::has_avx2() {
                        // SAFETY: the CPU has the instructions.
                        let most = made(len, |out| unsafe { avx2::unpack(&src, width, out) });
                        assert_eq!(most, expected[..most.len()]);
                        assert!(extra < 100 || most.len() == len / 8 * 8);
                    }
                }
            }
        }
    }

    #[test]
    fn wide_integers_unpack_as_bit_by_bit() {
        for width in 0..=64 {
            let bits: usize = 33 * width;
            let src = bytes(bits.div_ceil(8));
            let mut out = vec![0; 33];
            unpack_u64(&src, width, &mut out);
            for (index, value) in out.iter().enumerate() {
                assert_eq!(*value, naive(&src, width, index));
            }
        }
    }
}
