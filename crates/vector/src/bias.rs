//! Whole numbers as a base and small distances from it (frame of reference).
//!
//! ```text
//! base    1_000_000
//! deltas  | 17 | 0 | 255 | 3 |     unsigned, 1, 2, 4 or 8 bytes each
//! row 2 = 1_000_000 + 255
//! ```
//!
//! It wins where values are close to each other and far from zero: keys of one block, dates of one
//! year.

use crate::{
    Buffer, Decoded, Encoding, NullBuffer, ScalarBuffer, Values, Vector, change::resize_buffer,
};
use volley_error::Result;
use volley_types::{PhysicalType, Type, match_integer};

/// The distances of rows from the base, each as wide as the largest needs.
#[derive(Clone, Debug)]
pub enum Deltas {
    /// Up to 255.
    U8(ScalarBuffer<u8>),
    /// Up to 65,535.
    U16(ScalarBuffer<u16>),
    /// Up to 2^32 - 1.
    U32(ScalarBuffer<u32>),
    /// Up to 2^64 - 1, for HUGEINT and long DECIMALs.
    U64(ScalarBuffer<u64>),
}

impl Deltas {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.buffer().len() / self.width()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of one distance.
    pub fn width(&self) -> usize {
        match self {
            Deltas::U8(_) => 1,
            Deltas::U16(_) => 2,
            Deltas::U32(_) => 4,
            Deltas::U64(_) => 8,
        }
    }

    /// The storage, exactly as long as the rows need.
    pub fn buffer(&self) -> &Buffer {
        match self {
            Deltas::U8(deltas) => deltas.inner(),
            Deltas::U16(deltas) => deltas.inner(),
            Deltas::U32(deltas) => deltas.inner(),
            Deltas::U64(deltas) => deltas.inner(),
        }
    }

    /// The largest distance; 0 without rows.
    pub fn max(&self) -> u64 {
        fn largest<T: Copy + Ord + Into<u64>>(deltas: &[T]) -> u64 {
            deltas.iter().copied().max().map_or(0, Into::into)
        }
        match self {
            Deltas::U8(deltas) => largest(deltas),
            Deltas::U16(deltas) => largest(deltas),
            Deltas::U32(deltas) => largest(deltas),
            Deltas::U64(deltas) => largest(deltas),
        }
    }

    /// The distance of one row.
    #[inline]
    pub fn get(&self, row: usize) -> u64 {
        match self {
            Deltas::U8(deltas) => deltas[row].into(),
            Deltas::U16(deltas) => deltas[row].into(),
            Deltas::U32(deltas) => deltas[row].into(),
            Deltas::U64(deltas) => deltas[row],
        }
    }

    /// The rows from `offset` on, `len` of them, sharing storage.
    pub(crate) fn slice(&self, offset: usize, len: usize) -> Deltas {
        match self {
            Deltas::U8(deltas) => Deltas::U8(deltas.slice(offset, len)),
            Deltas::U16(deltas) => Deltas::U16(deltas.slice(offset, len)),
            Deltas::U32(deltas) => Deltas::U32(deltas.slice(offset, len)),
            Deltas::U64(deltas) => Deltas::U64(deltas.slice(offset, len)),
        }
    }

    /// The same distances, and those of further rows, which are 0.
    pub(crate) fn resize(self, len: usize) -> Deltas {
        match self {
            Deltas::U8(deltas) => Deltas::U8(resize_buffer(deltas, len)),
            Deltas::U16(deltas) => Deltas::U16(resize_buffer(deltas, len)),
            Deltas::U32(deltas) => Deltas::U32(resize_buffer(deltas, len)),
            Deltas::U64(deltas) => Deltas::U64(resize_buffer(deltas, len)),
        }
    }

    /// `values - base` in the narrowest width that holds all; `None` when 64 bits do not.
    fn between(values: &[i128], base: i128, max: i128) -> Option<Deltas> {
        fn narrow<T: TryFrom<u128>>(values: &[i128], base: i128) -> Option<Vec<T>> {
            values.iter().map(|it| T::try_from(it.wrapping_sub(base) as u128).ok()).collect()
        }
        Some(match max.wrapping_sub(base) as u128 {
            0..=0xff => Deltas::U8(narrow::<u8>(values, base)?.into()),
            0x100..=0xffff => Deltas::U16(narrow::<u16>(values, base)?.into()),
            0x1_0000..=0xffff_ffff => Deltas::U32(narrow::<u32>(values, base)?.into()),
            _ => Deltas::U64(narrow::<u64>(values, base)?.into()),
        })
    }
}

/// The least and the greatest value of an integer layout; `None` for other layouts.
fn range_of(physical: PhysicalType) -> Option<(i128, i128)> {
    match_integer!(physical, T => Some((T::MIN.into(), T::MAX.into())), else None)
}

/// Whether `base` and `base + max` are values of the layout.
pub(crate) fn fits(physical: PhysicalType, base: i128, max: u64) -> bool {
    let end = base.checked_add(max.into());
    range_of(physical)
        .is_some_and(|(least, greatest)| base >= least && end.is_some_and(|end| end <= greatest))
}

/// `base + delta` for every row. [`fits`] holds.
pub(crate) fn widened(physical: PhysicalType, base: i128, deltas: &Deltas) -> Values {
    match_integer!(physical, T => {
        let base = T::try_from(base).unwrap_or_default();
        let values: Vec<T> = match deltas {
            Deltas::U8(deltas) => deltas.iter().map(|it| base.wrapping_add(*it as T)).collect(),
            Deltas::U16(deltas) => deltas.iter().map(|it| base.wrapping_add(*it as T)).collect(),
            Deltas::U32(deltas) => deltas.iter().map(|it| base.wrapping_add(*it as T)).collect(),
            Deltas::U64(deltas) => deltas.iter().map(|it| base.wrapping_add(*it as T)).collect(),
        };
        Values::from_native::<T>(values.into())
    }, else Values::Null(deltas.len()))
}

impl Vector {
    /// Rows `base + deltas[i]` of a type that is stored as whole numbers.
    ///
    /// # Panics
    ///
    /// If the type is not stored so, or a sum is not one of its storage.
    pub fn bias(data_type: Type, base: i128, deltas: Deltas, nulls: Option<NullBuffer>) -> Vector {
        // If any distance of the width fits, no check of single distances is needed.
        let physical = data_type.physical();
        let fits_all = fits(physical, base, u64::MAX >> (64 - 8 * deltas.width()));
        assert!(fits_all || fits(physical, base, deltas.max()), "bias out of range: {data_type}");
        Vector::biased(data_type, base, deltas, nulls)
    }

    /// This vector as a base and distances, when its type is stored as whole numbers and they take
    /// fewer bytes than the values.
    ///
    /// # Errors
    ///
    /// What a lazy vector's loader reports.
    pub fn to_bias(&self) -> Result<Option<Vector>> {
        let flat = self.flatten()?;
        let physical = self.data_type().physical();
        let Some(values) = flat.flat_values() else { return Ok(None) };
        let nulls = Decoded::new(&flat)?.nulls();
        let is_valid = |row: usize| nulls.as_ref().is_none_or(|it| it.is_valid(row));
        let (mut wide, width): (Vec<i128>, usize) = match_integer!(physical, T => {
            let values = values.native::<T>().unwrap_or(&[]);
            (values.iter().map(|it| i128::from(*it)).collect(), size_of::<T>())
        }, else return Ok(None));
        let valid = || wide.iter().enumerate().filter(|it| is_valid(it.0)).map(|it| *it.1);
        let (Some(base), Some(max)) = (valid().min(), valid().max()) else { return Ok(None) };
        for (row, value) in wide.iter_mut().enumerate() {
            if !is_valid(row) {
                *value = base;
            }
        }
        let deltas = Deltas::between(&wide, base, max).filter(|it| it.width() < width);
        Ok(deltas.map(|deltas| Vector::biased(self.data_type().clone(), base, deltas, nulls)))
    }

    /// The values of a bias-encoded vector, flat; `None` for another encoding.
    pub(crate) fn without_bias(&self) -> Option<Vector> {
        let Encoding::Bias { base, deltas } = self.encoding() else { return None };
        let values = widened(self.data_type().physical(), *base, deltas);
        Some(Vector::flat(self.data_type().clone(), values, self.null_buffer().cloned()))
    }
}
