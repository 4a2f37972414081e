//! Unpacking.

use super::analyze::code_bytes;
use crate::{
    VECTOR_ROWS,
    input::{Input, corruption},
    vectors::{Decode, rows_of},
};
use arrow_buffer::Buffer;
use volley_error::Result;
use volley_kernels::{
    pack::{Lane, unpack_map, unpack_one, unpack_short_one},
    patch::{POSITION_BYTES, patch_map},
};

/// Packed vectors.
pub(crate) struct Packed<T> {
    rows: usize,
    heads: Vec<Head<T>>,
    bytes: Buffer,
}

/// What is known of a vector.
#[derive(Clone, Copy, Debug)]
struct Head<T> {
    base: T,
    width: u8,
    exceptions: u16,
    /// Where its bytes begin.
    offset: usize,
}

/// The bytes of a vector.
pub(super) struct VectorBytes<'a, T> {
    pub(super) base: T,
    pub(super) width: usize,
    pub(super) codes: &'a [u8],
    positions: &'a [u8],
    values: &'a [u8],
}

impl<T: Lane> Packed<T> {
    /// Reads the vectors of `rows` values and checks them.
    pub(crate) fn open(input: &mut Input, rows: usize) -> Result<Packed<T>> {
        let count = rows.div_ceil(VECTOR_ROWS);
        let widths = input.take(count)?;
        let exceptions = input.integers::<u16>(count)?;
        let bases = input.integers::<T>(count)?;
        let (mut heads, mut offset) = (Vec::with_capacity(count), 0);
        for (index, ((width, exceptions), base)) in
            widths.iter().zip(exceptions).zip(bases).enumerate()
        {
            let len = rows_of(index, rows);
            if usize::from(*width) > T::BITS || usize::from(exceptions) > len {
                return Err(corruption("width or exceptions of a vector"));
            }
            heads.push(Head { base, width: *width, exceptions, offset });
            offset += code_bytes(len, usize::from(*width))
                + usize::from(exceptions) * (POSITION_BYTES + size_of::<T>());
        }
        let packed = Packed { rows, heads, bytes: input.take(offset)? };
        for index in 0..count {
            let len = rows_of(index, rows);
            let vector = packed.bytes_of(index)?;
            let positions = || vector.exceptions().map(|it| it.0);
            if !positions().is_sorted_by(|a, b| a < b)
                || positions().last().is_some_and(|it| it >= len)
            {
                return Err(corruption("positions of exceptions"));
            }
        }
        Ok(packed)
    }

    /// The bytes of vector `index`.
    pub(super) fn bytes_of(&self, index: usize) -> Result<VectorBytes<'_, T>> {
        let too_short = || corruption("bytes of a vector");
        let head = self.heads.get(index).ok_or_else(too_short)?;
        let (width, exceptions) = (usize::from(head.width), usize::from(head.exceptions));
        let bytes = self.bytes.get(head.offset..).ok_or_else(too_short)?;
        let code_bytes = code_bytes(rows_of(index, self.rows), width);
        let (codes, bytes) = bytes.split_at_checked(code_bytes).ok_or_else(too_short)?;
        let positions = exceptions * POSITION_BYTES;
        let (positions, bytes) = bytes.split_at_checked(positions).ok_or_else(too_short)?;
        let values = bytes.get(..exceptions * size_of::<T>()).ok_or_else(too_short)?;
        Ok(VectorBytes { base: head.base, width, codes, positions, values })
    }

    /// Appends what `map` makes of the values of a vector, and `exception` of its exceptions.
    #[inline]
    pub(crate) fn vector_map<U: Copy>(
        &self,
        index: usize,
        map: impl Fn(T) -> U,
        exception: impl Fn(T) -> U,
        out: &mut Vec<U>,
    ) -> Result<()> {
        let VectorBytes { base, width, codes, positions, values } = self.bytes_of(index)?;
        let (start, len) = (out.len(), rows_of(index, self.rows));
        out.reserve(VECTOR_ROWS);
        if len == VECTOR_ROWS {
            unpack_map(codes, width, |it: T| map(it.plus(base)), out);
            if !positions.is_empty() {
                patch_map(&mut out[start..], positions, values, exception);
            }
            return Ok(());
        }
        let code = |row| unpack_short_one::<T>(codes, width, row);
        out.extend((0..len).map(|row| map(code(row).plus(base))));
        for (position, value) in self.bytes_of(index)?.exceptions() {
            if let Some(patched) = out.get_mut(start + position) {
                *patched = exception(value);
            }
        }
        Ok(())
    }

    /// What `map` makes of the value of one row, or `exception` if it is one.
    pub(crate) fn single_map<U>(
        &self,
        index: usize,
        row: usize,
        map: impl Fn(T) -> U,
        exception: impl Fn(T) -> U,
    ) -> Option<U> {
        let vector = self.bytes_of(index).ok()?;
        if let Some((_, value)) = vector.exceptions().find(|it| it.0 == row) {
            return Some(exception(value));
        }
        let code: T = match rows_of(index, self.rows) {
            VECTOR_ROWS => unpack_one(vector.codes, vector.width, row),
            _ => unpack_short_one(vector.codes, vector.width, row),
        };
        Some(map(code.plus(vector.base)))
    }
}

impl<'a, T: Lane> VectorBytes<'a, T> {
    /// Positions and values.
    pub(super) fn exceptions(&self) -> impl Iterator<Item = (usize, T)> + use<'a, T> {
        let positions = self.positions.as_chunks().0.iter();
        let position = |it: &[u8; POSITION_BYTES]| usize::from(u16::from_le_bytes(*it));
        positions.map(position).zip(self.values.chunks_exact(size_of::<T>()).map(T::load))
    }
}

impl<T: Lane> Decode<T> for Packed<T> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn vector(&self, index: usize, out: &mut Vec<T>) -> Result<()> {
        self.vector_map(index, |it| it, |it| it, out)
    }

    fn single(&self, index: usize, row: usize) -> Option<T> {
        self.single_map(index, row, |it| it, |it| it)
    }
}
