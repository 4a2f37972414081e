//! Integers in as few bytes as their range needs: how far they are from the least of them.

use crate::decode::{Input, corruption};
use volley_error::Result;
use volley_kernels::cpu::{Kernel, dispatch};
use volley_types::PhysicalType;
use volley_vector::Values;

/// An integer of more than one byte.
trait Integer: Copy + Ord + Send + Sync + 'static {
    fn read(bytes: &[u8]) -> Self;

    fn write(self, out: &mut Vec<u8>);

    /// How far it is from `least`, which is not greater; the greatest number where that is less.
    fn distance(self, least: Self) -> u64;

    /// The integer so far behind this one.
    fn after(self, distance: u32) -> Self;

    fn into_values(all: Vec<Self>) -> Values;
}

macro_rules! integers {
    ($($integer:ty: $unsigned:ty, $values:ident;)*) => {
        $(impl Integer for $integer {
            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                let mut value = [0; size_of::<Self>()];
                value.copy_from_slice(bytes);
                Self::from_le_bytes(value)
            }

            fn write(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            #[inline(always)]
            fn distance(self, least: Self) -> u64 {
                u64::try_from(self.wrapping_sub(least) as $unsigned).unwrap_or(u64::MAX)
            }

            #[inline(always)]
            fn after(self, distance: u32) -> Self {
                self.wrapping_add(distance as Self)
            }

            fn into_values(all: Vec<Self>) -> Values {
                Values::$values(all.into())
            }
        })*

        /// Whether values of a type are written in this form.
        pub(crate) fn are_integers(physical: PhysicalType) -> bool {
            matches!(physical, $(PhysicalType::$values)|*)
        }
    };
}

integers! { i16: u16, I16; i32: u32, I32; i64: u64, I64; i128: u128, I128; }

/// Writes integers of `width` bytes each, and forgets them.
pub(crate) fn write_integers(width: usize, bytes: &mut Vec<u8>, out: &mut Vec<u8>) {
    let is_written = match width {
        2 => write_distances::<i16>(bytes, out),
        4 => write_distances::<i32>(bytes, out),
        8 => write_distances::<i64>(bytes, out),
        _ => write_distances::<i128>(bytes, out),
    };
    if !is_written {
        out.push(width as u8);
        out.extend_from_slice(bytes);
    }
    bytes.clear();
}

/// Reads `len` integers of a type that is written in this form.
pub(crate) fn read_integers(
    physical: PhysicalType,
    len: usize,
    input: &mut Input<'_>,
) -> Result<Values> {
    match physical {
        PhysicalType::I16 => read::<i16>(len, input),
        PhysicalType::I32 => read::<i32>(len, input),
        PhysicalType::I64 => read::<i64>(len, input),
        _ => read::<i128>(len, input),
    }
}

/// Whether that takes less than the integers do.
fn write_distances<T: Integer>(bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let Some((least, greatest)) = dispatch(Range::<T>::of(bytes)) else { return false };
    let width = match greatest.distance(least) {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => return false,
    };
    let rows = bytes.len() / size_of::<T>();
    if size_of::<T>() + rows * width >= bytes.len() {
        return false;
    }
    out.push(width as u8);
    least.write(out);
    let start = out.len();
    out.resize(start + rows * width, 0);
    dispatch(Distances { least, bytes, width, out: &mut out[start..] });
    true
}

fn read<T: Integer>(len: usize, input: &mut Input<'_>) -> Result<Values> {
    let width = usize::from(input.byte()?);
    if width == size_of::<T>() {
        let bytes = input.elements(len, width)?;
        return Ok(T::into_values(bytes.chunks_exact(width).map(T::read).collect()));
    }
    if !matches!(width, 1 | 2 | 4) || width > size_of::<T>() {
        return Err(corruption("integers of another width"));
    }
    let least = T::read(input.raw(size_of::<T>())?);
    let bytes = input.elements(len, width)?;
    Ok(T::into_values(dispatch(Integers { least, bytes, width })))
}

/// The least and the greatest of integers.
struct Range<'a, T> {
    bytes: &'a [u8],
    first: Option<T>,
}

impl<'a, T: Integer> Range<'a, T> {
    fn of(bytes: &'a [u8]) -> Self {
        Range { bytes, first: bytes.get(..size_of::<T>()).map(T::read) }
    }
}

impl<T: Integer> Kernel for Range<'_, T> {
    type Output = Option<(T, T)>;

    #[inline(always)]
    fn run(self) -> Option<(T, T)> {
        let first = self.first?;
        let values = self.bytes.chunks_exact(size_of::<T>()).map(T::read);
        Some(values.fold((first, first), |(least, greatest), it| (least.min(it), greatest.max(it))))
    }
}

/// How far integers are from `least`, in `width` bytes each.
struct Distances<'a, T> {
    least: T,
    bytes: &'a [u8],
    width: usize,
    out: &'a mut [u8],
}

impl<T: Integer> Kernel for Distances<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let values = self.bytes.chunks_exact(size_of::<T>()).map(T::read);
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
struct Integers<'a, T> {
    least: T,
    bytes: &'a [u8],
    width: usize,
}

impl<T: Integer> Kernel for Integers<'_, T> {
    type Output = Vec<T>;

    #[inline(always)]
    fn run(self) -> Vec<T> {
        let after = |it: u32| self.least.after(it);
        match self.width {
            1 => self.bytes.iter().map(|it| after((*it).into())).collect(),
            2 => {
                let words = self.bytes.as_chunks().0.iter();
                words.map(|it| after(u16::from_le_bytes(*it).into())).collect()
            }
            _ => {
                let words = self.bytes.as_chunks().0.iter();
                words.map(|it| after(u32::from_le_bytes(*it))).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of<T: Integer>(all: &[T]) -> Vec<u8> {
        let mut bytes = Vec::new();
        all.iter().for_each(|it| it.write(&mut bytes));
        bytes
    }

    fn narrowed<T>(all: &[i64], f: impl Fn(i64) -> T) -> Vec<T> {
        all.iter().map(|it| f(*it)).collect()
    }

    /// Writes integers, checks that they come back, and how many bytes each took.
    #[track_caller]
    fn check<T: Integer>(physical: PhysicalType, all: &[T], width: usize) {
        let (mut bytes, mut out) = (bytes_of(all), Vec::new());
        let expected = bytes.clone();
        write_integers(size_of::<T>(), &mut bytes, &mut out);
        assert!(bytes.is_empty());
        assert_eq!(usize::from(out[0]), width);
        let least_bytes = if width < size_of::<T>() { size_of::<T>() } else { 0 };
        assert_eq!(out.len(), 1 + least_bytes + all.len() * width);
        let mut input = Input::new(&out);
        let values = read_integers(physical, all.len(), &mut input).unwrap();
        assert_eq!(values.fixed_bytes().unwrap(), expected);
        assert!(input.raw(1).is_err(), "bytes are left");
    }

    #[test]
    fn integers_take_as_many_bytes_as_their_range_needs() {
        for rows in [20, 1000] {
            let spread = |from: i64, by: i64| -> Vec<i64> {
                (0..rows).map(|it| if it % 2 == 0 { from } else { from.wrapping_add(by) }).collect()
            };
            for from in [i64::MIN, -1, 0, 1 << 40] {
                check(PhysicalType::I64, &spread(from, 0), 1);
                check(PhysicalType::I64, &spread(from, 255), 1);
                check(PhysicalType::I64, &spread(from, 256), 2);
                check(PhysicalType::I64, &spread(from, 65_535), 2);
                check(PhysicalType::I64, &spread(from, 65_536), 4);
                check(PhysicalType::I64, &spread(from, u32::MAX.into()), 4);
                check(PhysicalType::I64, &spread(from, 1 << 32), 8);
            }
            check(PhysicalType::I64, &spread(i64::MIN, -1), 8);
            let wide = |by| narrowed(&spread(-7, by), |it| i128::MAX - (1 << 40) + i128::from(it));
            check(PhysicalType::I128, &wide(65_536), 4);
            check(PhysicalType::I128, &wide(1 << 32), 16);
            check(PhysicalType::I128, &narrowed(&spread(0, 1), |it| i128::from(it) << 64), 16);
            let words = |from, by| narrowed(&spread(from, by), |it| it as i32);
            check(PhysicalType::I32, &words(-7, 300), 2);
            check(PhysicalType::I32, &words(i32::MIN.into(), u32::MAX.into()), 4);
            let halves = |from, by| narrowed(&spread(from, by), |it| it as i16);
            check(PhysicalType::I16, &halves(-7, 255), 1);
            check(PhysicalType::I16, &halves(i16::MIN.into(), u16::MAX.into()), 2);
        }
    }

    #[test]
    fn few_integers_are_written_as_they_are() {
        check::<i64>(PhysicalType::I64, &[], 8);
        check::<i64>(PhysicalType::I64, &[5], 8);
        check::<i64>(PhysicalType::I64, &[5, 6], 1);
        check::<i16>(PhysicalType::I16, &[5, 6], 2);
    }

    #[test]
    fn other_widths_are_corrupt() {
        use PhysicalType::{I16, I64};
        for (physical, width) in [(I64, 0), (I64, 3), (I64, 16), (I16, 4)] {
            let bytes = [&[width][..], &[0; 100]].concat();
            let error = read_integers(physical, 2, &mut Input::new(&bytes)).unwrap_err();
            assert_eq!(error.kind(), volley_error::ErrorKind::Corruption);
        }
    }
}
