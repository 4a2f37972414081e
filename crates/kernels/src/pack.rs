//! Packs vectors of 1024 unsigned integers into few bits each, interleaved over lanes.
//!
//! ```text
//! integers of B bits, L = 1024 / B lanes; value i is row i / L of lane i % L
//!
//! row 0   | v0   | v1   | .. | v(L-1)  |      128 bytes of values
//! row 1   | vL   | vL+1 | .. | v(2L-1) |
//! ..                                          B rows
//!
//! packed to w bits: lane k has its B values in w words of B bits, lowest bits first
//! word 0  | lane 0 | lane 1 | .. |            128 bytes
//! ..                                          w words: 128 * w bytes
//! ```
//!
//! A row of values is a shift and a mask of one word per lane, or of two, by the same counts in all
//! lanes. So one loop over lanes serves every width, and the compiler makes vector instructions of
//! any size of it. The layout is that of FastLanes (Afroozeh and Boncz, PVLDB 16(9), 2023) without
//! its order of rows.

use crate::cpu::{self, Kernel};
use std::{
    fmt::Debug,
    mem::MaybeUninit,
    ops::{BitAnd, BitOr, Shl, Shr},
};

/// Integers of a vector.
pub const VECTOR: usize = 1024;

/// Bytes of a row of values, and of a word of all lanes: one bit for each integer of a vector.
pub const ROW_BYTES: usize = VECTOR / 8;

/// Integers that are computed before the first of them is written.
const GROUP: usize = 16;

/// An unsigned integer that is packed: of 8, 16, 32 or 64 bits.
pub trait Lane:
    sealed::Sealed
    + Copy
    + Ord
    + Default
    + Debug
    + Send
    + Sync
    + 'static
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
{
    /// Bits of an integer: the greatest width.
    const BITS: usize = size_of::<Self>() * 8;

    /// Integers in a row.
    const LANES: usize = VECTOR / Self::BITS;

    /// All bits set.
    const MAX: Self;

    /// The sum, modulo 2 to the power of [`Lane::BITS`].
    fn plus(self, other: Self) -> Self;

    /// The difference, modulo 2 to the power of [`Lane::BITS`].
    fn minus(self, other: Self) -> Self;

    /// The integer in the first bytes, little-endian.
    ///
    /// # Panics
    ///
    /// If there are fewer bytes than it has.
    fn load(bytes: &[u8]) -> Self;

    /// Writes the integer into the first bytes, little-endian.
    ///
    /// # Panics
    ///
    /// If there are fewer bytes than it has.
    fn store(self, bytes: &mut [u8]);

    /// The integer, widened.
    fn wide(self) -> u64;

    /// The lowest bits of a wide integer.
    fn narrow(wide: u64) -> Self;

    /// Integers of up to `width` bits have no other bits.
    #[inline(always)]
    fn mask(width: usize) -> Self {
        match width {
            0 => Self::default(),
            _ => Self::MAX >> (Self::BITS - width) as u32,
        }
    }

    /// The width that the integer needs.
    #[inline(always)]
    fn bit_length(self) -> usize {
        64 - self.wide().leading_zeros() as usize
    }
}

/// Kernels rely on lanes being unsigned integers.
mod sealed {
    pub trait Sealed {}

    impl Sealed for u8 {}
    impl Sealed for u16 {}
    impl Sealed for u32 {}
    impl Sealed for u64 {}
}

impl Lane for u8 {
    const MAX: u8 = u8::MAX;

    #[inline(always)]
    fn plus(self, other: u8) -> u8 {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn minus(self, other: u8) -> u8 {
        self.wrapping_sub(other)
    }

    #[inline(always)]
    fn load(bytes: &[u8]) -> u8 {
        bytes[0]
    }

    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        bytes[0] = self;
    }

    #[inline(always)]
    fn wide(self) -> u64 {
        self.into()
    }

    #[inline(always)]
    fn narrow(wide: u64) -> u8 {
        wide as u8
    }
}

impl Lane for u16 {
    const MAX: u16 = u16::MAX;

    #[inline(always)]
    fn plus(self, other: u16) -> u16 {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn minus(self, other: u16) -> u16 {
        self.wrapping_sub(other)
    }

    #[inline(always)]
    fn load(bytes: &[u8]) -> u16 {
        u16::from_le_bytes(*bytes.first_chunk().expect("bytes of an integer"))
    }

    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        *bytes.first_chunk_mut().expect("bytes of an integer") = self.to_le_bytes();
    }

    #[inline(always)]
    fn wide(self) -> u64 {
        self.into()
    }

    #[inline(always)]
    fn narrow(wide: u64) -> u16 {
        wide as u16
    }
}

impl Lane for u32 {
    const MAX: u32 = u32::MAX;

    #[inline(always)]
    fn plus(self, other: u32) -> u32 {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn minus(self, other: u32) -> u32 {
        self.wrapping_sub(other)
    }

    #[inline(always)]
    fn load(bytes: &[u8]) -> u32 {
        u32::from_le_bytes(*bytes.first_chunk().expect("bytes of an integer"))
    }

    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        *bytes.first_chunk_mut().expect("bytes of an integer") = self.to_le_bytes();
    }

    #[inline(always)]
    fn wide(self) -> u64 {
        self.into()
    }

    #[inline(always)]
    fn narrow(wide: u64) -> u32 {
        wide as u32
    }
}

impl Lane for u64 {
    const MAX: u64 = u64::MAX;

    #[inline(always)]
    fn plus(self, other: u64) -> u64 {
        self.wrapping_add(other)
    }

    #[inline(always)]
    fn minus(self, other: u64) -> u64 {
        self.wrapping_sub(other)
    }

    #[inline(always)]
    fn load(bytes: &[u8]) -> u64 {
        u64::from_le_bytes(*bytes.first_chunk().expect("bytes of an integer"))
    }

    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        *bytes.first_chunk_mut().expect("bytes of an integer") = self.to_le_bytes();
    }

    #[inline(always)]
    fn wide(self) -> u64 {
        self
    }

    #[inline(always)]
    fn narrow(wide: u64) -> u64 {
        wide
    }
}

/// Bytes of a packed vector.
pub const fn packed_bytes(width: usize) -> usize {
    width * ROW_BYTES
}

/// Appends the lowest `width` bits of `value - base` for each value of a vector to `out`.
///
/// # Panics
///
/// If there are not [`VECTOR`] values, or `width` is above [`Lane::BITS`].
pub fn pack<T: Lane>(values: &[T], base: T, width: usize, out: &mut Vec<u8>) {
    assert_eq!(values.len(), VECTOR, "values of a vector");
    assert!(width <= T::BITS, "width of an integer");
    let start = out.len();
    out.resize(start + packed_bytes(width), 0);
    cpu::dispatch(Pack { values, base, width, words: &mut out[start..] });
}

struct Pack<'a, T> {
    values: &'a [T],
    base: T,
    width: usize,
    words: &'a mut [u8],
}

impl<T: Lane> Kernel for Pack<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Pack { values, base, width, words } = self;
        if width == 0 {
            return;
        }
        let (words, mask) = (words.as_chunks_mut::<ROW_BYTES>().0, T::mask(width));
        for (row, values) in values.chunks_exact(T::LANES).enumerate() {
            let (word, shift) = (row * width / T::BITS, row * width % T::BITS);
            merge(values, &mut words[word], |it| (it.minus(base) & mask) << shift as u32);
            if shift + width > T::BITS {
                let shift = (T::BITS - shift) as u32;
                merge(values, &mut words[word + 1], |it| (it.minus(base) & mask) >> shift);
            }
        }
    }
}

/// Adds bits of each lane to its word; in groups, for the reason of [`fill`].
#[inline(always)]
fn merge<T: Lane>(values: &[T], word: &mut [u8; ROW_BYTES], bits: impl Fn(T) -> T) {
    let (values, _) = values.as_chunks::<GROUP>();
    for (values, bytes) in values.iter().zip(word.chunks_exact_mut(GROUP * size_of::<T>())) {
        let merged: [T; GROUP] =
            std::array::from_fn(|lane| lane_of::<T>(bytes, lane) | bits(values[lane]));
        for (value, bytes) in merged.iter().zip(bytes.chunks_exact_mut(size_of::<T>())) {
            value.store(bytes);
        }
    }
}

/// Appends `base` plus each integer of a packed vector to `out`, for which the caller has made
/// room.
///
/// # Panics
///
/// If `width` is above [`Lane::BITS`], or there are fewer bytes than [`packed_bytes`], or the room
/// is not enough.
pub fn unpack<T: Lane>(words: &[u8], width: usize, base: T, out: &mut Vec<T>) {
    unpack_map(words, width, move |it: T| it.plus(base), out);
}

/// As [`unpack`], of what `map` makes of each integer.
///
/// # Panics
///
/// As [`unpack`].
#[inline]
pub fn unpack_map<T: Lane, U: Copy>(
    words: &[u8],
    width: usize,
    map: impl Fn(T) -> U,
    out: &mut Vec<U>,
) {
    assert!(width <= T::BITS, "width of an integer");
    let words = &words[..packed_bytes(width)];
    let room = &mut out.spare_capacity_mut()[..VECTOR];
    cpu::dispatch(Unpack { words, width, map, room, integers: std::marker::PhantomData });
    let len = out.len() + VECTOR;
    // SAFETY: the kernel has filled the room up to here.
    unsafe { out.set_len(len) };
}

struct Unpack<'a, T, U, F> {
    words: &'a [u8],
    width: usize,
    map: F,
    room: &'a mut [MaybeUninit<U>],
    integers: std::marker::PhantomData<T>,
}

impl<T: Lane, U: Copy, F: Fn(T) -> U> Kernel for Unpack<'_, T, U, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Unpack { words, width, map, room, .. } = self;
        if width == 0 {
            let same = map(T::default());
            return room.iter_mut().for_each(|it| _ = it.write(same));
        }
        let (words, mask) = (words.as_chunks::<ROW_BYTES>().0, T::mask(width));
        let (mut word, mut shift) = (0, 0);
        for room in room.chunks_exact_mut(T::LANES) {
            let low = &words[word];
            let end = shift + width;
            if end <= T::BITS {
                fill(room, |lane| map(lane_of::<T>(low, lane) >> shift as u32 & mask));
            } else {
                let (high, up) = (&words[word + 1], (T::BITS - shift) as u32);
                fill(room, |lane| {
                    let (low, high) = (lane_of::<T>(low, lane), lane_of::<T>(high, lane));
                    map((low >> shift as u32 | high << up) & mask)
                });
            }
            (word, shift) = (word + end / T::BITS, end % T::BITS);
        }
    }
}

/// Writes a row. All of a group are computed before the first is written: as the compiler unrolls
/// rows of 16 integers before it looks for vectors, it must not have to ask whether the room is
/// part of the words.
#[inline(always)]
fn fill<U: Copy>(room: &mut [MaybeUninit<U>], value: impl Fn(usize) -> U) {
    for (group, room) in room.as_chunks_mut::<GROUP>().0.iter_mut().enumerate() {
        let values: [U; GROUP] = std::array::from_fn(|lane| value(group * GROUP + lane));
        *room = values.map(MaybeUninit::new);
    }
}

#[inline(always)]
fn lane_of<T: Lane>(word: &[u8], lane: usize) -> T {
    T::load(&word[lane * size_of::<T>()..])
}

/// The integer at position `index` of a packed vector.
///
/// # Panics
///
/// If `index` is not below [`VECTOR`], `width` above [`Lane::BITS`], or the bytes too few.
pub fn unpack_one<T: Lane>(words: &[u8], width: usize, index: usize) -> T {
    assert!(index < VECTOR && width <= T::BITS, "position and width of an integer");
    if width == 0 {
        return T::default();
    }
    let (row, lane) = (index / T::LANES, index % T::LANES);
    let (word, shift) = (row * width / T::BITS, row * width % T::BITS);
    let words = words.as_chunks::<ROW_BYTES>().0;
    let low = lane_of::<T>(&words[word], lane) >> shift as u32;
    if shift + width <= T::BITS {
        return low & T::mask(width);
    }
    let high = lane_of::<T>(&words[word + 1], lane) << (T::BITS - shift) as u32;
    (low | high) & T::mask(width)
}

/// Appends the lowest `width` bits of `value - base` for each value, one after the other: for fewer
/// values than a vector has.
///
/// # Panics
///
/// If `width` is above [`Lane::BITS`].
pub fn pack_short<T: Lane>(values: &[T], base: T, width: usize, out: &mut Vec<u8>) {
    assert!(width <= T::BITS, "width of an integer");
    let (mut pending, mut bits) = (0u128, 0);
    for value in values {
        pending |= u128::from((value.minus(base) & T::mask(width)).wide()) << bits;
        bits += width;
        while bits >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        out.push(pending as u8);
    }
}

/// Bytes of `len` integers packed by [`pack_short`].
pub const fn short_bytes(len: usize, width: usize) -> usize {
    (len * width).div_ceil(8)
}

/// The integer at position `index` of those that [`pack_short`] packed.
///
/// # Panics
///
/// If `width` is above [`Lane::BITS`], or the bytes too few.
pub fn unpack_short_one<T: Lane>(bytes: &[u8], width: usize, index: usize) -> T {
    assert!(width <= T::BITS, "width of an integer");
    T::narrow(crate::unpack::unpack_one(bytes, width, index))
}

#[cfg(test)]
mod tests;
