//! Integers in as few bytes as their range needs, as differences from the least one.

use crate::decode::{Input, corruption};
use arrow_buffer::MutableBuffer;
use volley_error::Result;
use volley_kernels::cpu::{Kernel, dispatch};
use volley_types::PhysicalType;
use volley_vector::Buffer;

/// What integers of some bytes are computed with.
trait Integer: Copy + Ord + Send + Sync + 'static {
    /// Integers of this number of bytes.
    fn read<const WIDTH: usize>(bytes: &[u8]) -> Self;

    /// Stored in this number of bytes.
    fn write<const WIDTH: usize>(self, out: &mut [u8]);

    /// How far it is from `least`, which is not greater; the greatest number where that is less.
    fn distance(self, least: Self) -> u64;

    /// The integer so far after this one.
    fn after(self, distance: u32) -> Self;
}

impl Integer for i64 {
    #[inline(always)]
    fn read<const WIDTH: usize>(bytes: &[u8]) -> i64 {
        // The upper bytes, so that the shift extends the sign.
        let mut upper = [0; 8];
        upper[8 - WIDTH..].copy_from_slice(&bytes[..WIDTH]);
        i64::from_le_bytes(upper) >> (64 - 8 * WIDTH)
    }

    #[inline(always)]
    fn write<const WIDTH: usize>(self, out: &mut [u8]) {
        out.copy_from_slice(&self.to_le_bytes()[..WIDTH]);
    }

    #[inline(always)]
    fn distance(self, least: i64) -> u64 {
        self.wrapping_sub(least) as u64
    }

    #[inline(always)]
    fn after(self, distance: u32) -> i64 {
        self.wrapping_add(distance.into())
    }
}

impl Integer for i128 {
    #[inline(always)]
    fn read<const WIDTH: usize>(bytes: &[u8]) -> i128 {
        let mut all = [0; 16];
        all.copy_from_slice(&bytes[..WIDTH]);
        i128::from_le_bytes(all)
    }

    #[inline(always)]
    fn write<const WIDTH: usize>(self, out: &mut [u8]) {
        out.copy_from_slice(&self.to_le_bytes());
    }

    #[inline(always)]
    fn distance(self, least: i128) -> u64 {
        u64::try_from(self.wrapping_sub(least) as u128).unwrap_or(u64::MAX)
    }

    #[inline(always)]
    fn after(self, distance: u32) -> i128 {
        self.wrapping_add(distance.into())
    }
}

/// How many bytes values of a type take, if they are written in this form.
pub(crate) fn integer_width(physical: PhysicalType) -> Option<usize> {
    match physical {
        PhysicalType::I16 => Some(2),
        PhysicalType::I32 => Some(4),
        PhysicalType::I64 => Some(8),
        PhysicalType::I128 => Some(16),
        _ => None,
    }
}

/// Writes integers of `width` bytes each, and forgets them.
pub(crate) fn write_integers(width: usize, bytes: &mut Vec<u8>, out: &mut Vec<u8>) {
    let is_written = match width {
        2 => write_distances::<i64, 2>(bytes, out),
        4 => write_distances::<i64, 4>(bytes, out),
        8 => write_distances::<i64, 8>(bytes, out),
        _ => write_distances::<i128, 16>(bytes, out),
    };
    if !is_written {
        out.push(width as u8);
        out.extend_from_slice(bytes);
    }
    bytes.clear();
}

/// Reads `len` integers of `width` bytes each.
pub(crate) fn read_integers(width: usize, len: usize, input: &mut Input<'_>) -> Result<Buffer> {
    match width {
        2 => read::<i64, 2>(len, input),
        4 => read::<i64, 4>(len, input),
        8 => read::<i64, 8>(len, input),
        _ => read::<i128, 16>(len, input),
    }
}

/// Whether that takes less than the integers do.
fn write_distances<T: Integer, const WIDTH: usize>(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    if bytes.is_empty() {
        return false;
    }
    let first = T::read::<WIDTH>(bytes);
    let (least, greatest) = dispatch(Range::<T, WIDTH> { bytes, first });
    let width = match greatest.distance(least) {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => return false,
    };
    let rows = bytes.len() / WIDTH;
    if WIDTH + rows * width >= bytes.len() {
        return false;
    }
    out.push(width as u8);
    let start = out.len();
    out.resize(start + WIDTH + rows * width, 0);
    let (of_least, out) = out[start..].split_at_mut(WIDTH);
    least.write::<WIDTH>(of_least);
    dispatch(Distances::<T, WIDTH> { least, bytes, width, out });
    true
}

fn read<T: Integer, const WIDTH: usize>(len: usize, input: &mut Input<'_>) -> Result<Buffer> {
    let width = usize::from(input.byte()?);
    if width == WIDTH {
        return Ok(Buffer::from(input.elements(len, WIDTH)?));
    }
    if !matches!(width, 1 | 2 | 4) || width > WIDTH {
        return Err(corruption("integers of another width"));
    }
    let least = T::read::<WIDTH>(input.raw(WIDTH)?);
    let bytes = input.elements(len, width)?;
    // Not more than 16 times the bytes that are there.
    let mut made = MutableBuffer::from_len_zeroed(len * WIDTH);
    dispatch(Integers::<T, WIDTH> { least, bytes, width, out: made.as_slice_mut() });
    Ok(made.into())
}

/// The least and the greatest of integers.
struct Range<'a, T, const WIDTH: usize> {
    bytes: &'a [u8],
    first: T,
}

impl<T: Integer, const WIDTH: usize> Kernel for Range<'_, T, WIDTH> {
    type Output = (T, T);

    #[inline(always)]
    fn run(self) -> (T, T) {
        let values = self.bytes.chunks_exact(WIDTH).map(T::read::<WIDTH>);
        let range = |(least, greatest): (T, T), it: T| (least.min(it), greatest.max(it));
        values.fold((self.first, self.first), range)
    }
}

/// How far integers are from `least`, in `width` bytes each.
struct Distances<'a, T, const WIDTH: usize> {
    least: T,
    bytes: &'a [u8],
    width: usize,
    out: &'a mut [u8],
}

impl<T: Integer, const WIDTH: usize> Kernel for Distances<'_, T, WIDTH> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let values = self.bytes.chunks_exact(WIDTH).map(T::read::<WIDTH>);
        let distances = values.map(|it| it.distance(self.least));
        match self.width {
            1 => self.out.iter_mut().zip(distances).for_each(|(out, it)| *out = it as u8),
            2 => {
                let out = self.out.as_chunks_mut().0;
                out.iter_mut().zip(distances).for_each(|(out, it)| *out = (it as u16).to_le_bytes())
            }
            _ => {
                let out = self.out.as_chunks_mut().0;
                out.iter_mut().zip(distances).for_each(|(out, it)| *out = (it as u32).to_le_bytes())
            }
        }
    }
}

/// The integers that [`Distances`] are of.
struct Integers<'a, T, const WIDTH: usize> {
    least: T,
    bytes: &'a [u8],
    width: usize,
    out: &'a mut [u8],
}

impl<T: Integer, const WIDTH: usize> Kernel for Integers<'_, T, WIDTH> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let out = self.out.chunks_exact_mut(WIDTH);
        let write = |(out, distance): (&mut [u8], u32)| {
            self.least.after(distance).write::<WIDTH>(out);
        };
        match self.width {
            1 => out.zip(self.bytes.iter().map(|it| u32::from(*it))).for_each(write),
            2 => {
                let words = self.bytes.as_chunks().0.iter();
                out.zip(words.map(|it| u16::from_le_bytes(*it).into())).for_each(write);
            }
            _ => {
                let words = self.bytes.as_chunks().0.iter();
                out.zip(words.map(|it| u32::from_le_bytes(*it))).for_each(write);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes integers, checks that they come back, and how many bytes each took.
    #[track_caller]
    fn check<const WIDTH: usize>(all: &[[u8; WIDTH]], width: usize) {
        let (mut bytes, mut out) = (all.concat(), Vec::new());
        let expected = bytes.clone();
        write_integers(WIDTH, &mut bytes, &mut out);
        assert!(bytes.is_empty());
        assert_eq!(usize::from(out[0]), width);
        let least_bytes = if width < WIDTH { WIDTH } else { 0 };
        assert_eq!(out.len(), 1 + least_bytes + all.len() * width);
        let mut input = Input::new(&out);
        let values = read_integers(WIDTH, all.len(), &mut input).unwrap();
        assert_eq!(values.as_slice(), expected);
        assert!(input.raw(1).is_err(), "bytes are left");
    }

    /// This number of integers, each one of two values.
    fn two(rows: usize, from: i128, by: i128) -> Vec<i128> {
        (0..rows).map(|it| if it % 2 == 0 { from } else { from.wrapping_add(by) }).collect()
    }

    #[test]
    fn integers_take_as_many_bytes_as_their_range_needs() {
        for rows in [20, 1000] {
            let check_64 = |from: i64, by: i128, width| {
                let all = two(rows, from.into(), by);
                check(&all.iter().map(|it| (*it as i64).to_le_bytes()).collect::<Vec<_>>(), width);
            };
            for from in [i64::MIN, -1, 0, 1 << 40] {
                for (by, width) in [(0, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 4)] {
                    check_64(from, by, width);
                }
                check_64(from, u32::MAX.into(), 4);
                check_64(from, 1 << 32, 8);
            }
            check_64(i64::MIN, u64::MAX.into(), 8);
            let check_128 = |from, by, width| {
                let all = two(rows, from, by);
                check(&all.iter().map(|it| it.to_le_bytes()).collect::<Vec<_>>(), width);
            };
            check_128(i128::MAX - 65_536, 65_536, 4);
            check_128(i128::MIN, 1, 1);
            check_128(-7, 1 << 32, 16);
            check_128(0, 1 << 64, 16);
            check_128(i128::MIN, -1, 16);
            let check_32 = |from: i32, by, width| {
                let all = two(rows, from.into(), by);
                check(&all.iter().map(|it| (*it as i32).to_le_bytes()).collect::<Vec<_>>(), width);
            };
            check_32(-7, 300, 2);
            check_32(i32::MIN, u32::MAX.into(), 4);
            let check_16 = |from: i16, by, width| {
                let all = two(rows, from.into(), by);
                check(&all.iter().map(|it| (*it as i16).to_le_bytes()).collect::<Vec<_>>(), width);
            };
            check_16(-7, 255, 1);
            check_16(i16::MIN, u16::MAX.into(), 2);
        }
    }

    #[test]
    fn few_integers_are_written_as_they_are() {
        check::<8>(&[], 8);
        check(&[5_i64.to_le_bytes()], 8);
        check(&[5_i64, 6].map(i64::to_le_bytes), 1);
        check(&[5_i16, 6].map(i16::to_le_bytes), 2);
    }

    #[test]
    fn other_widths_are_corrupt() {
        for (of_type, width) in [(8, 0), (8, 3), (8, 16), (2, 4)] {
            let bytes = [&[width][..], &[0; 100]].concat();
            let error = read_integers(of_type, 2, &mut Input::new(&bytes)).unwrap_err();
            assert_eq!(error.kind(), volley_error::ErrorKind::Corruption);
        }
    }
}
