//! The values of a column in their order, and where others would stand among them.

use std::cmp::Ordering;
use volley_error::Result;
use volley_types::{PhysicalType, match_integer};
use volley_vector::{Comparator, Decoded, Vector, comparator};

/// Values in their order, without nulls.
pub(super) enum SortedKeys {
    /// Numbers of up to 64 bits, as integers of the same order.
    Words(Vec<i64>),
    Values(Vector),
}

/// Where the values of another column stand among sorted ones.
pub(super) enum Bounds<'a> {
    Words(&'a [i64], Vec<i64>),
    /// Compares rows of the other column with sorted ones.
    Values(Comparator),
}

impl SortedKeys {
    /// Of values that are sorted.
    ///
    /// # Errors
    ///
    /// None: the column is loaded.
    pub(super) fn new(sorted: Vector) -> Result<SortedKeys> {
        Ok(match ordered_integers(&sorted)? {
            Some(words) => SortedKeys::Words(words),
            None => SortedKeys::Values(sorted),
        })
    }

    pub(super) fn len(&self) -> usize {
        match self {
            SortedKeys::Words(words) => words.len(),
            SortedKeys::Values(values) => values.len(),
        }
    }

    /// Where the values of `column` stand, which is of the same type.
    ///
    /// # Errors
    ///
    /// None: the column is loaded.
    pub(super) fn bounds(&self, column: &Vector) -> Result<Bounds<'_>> {
        match self {
            SortedKeys::Words(sorted) => {
                Ok(Bounds::Words(sorted, ordered_integers(column)?.unwrap_or_default()))
            }
            SortedKeys::Values(values) => Ok(Bounds::Values(comparator(column, values)?)),
        }
    }
}

impl Bounds<'_> {
    /// Of the places from one to before another: the first one whose value is not less than that of
    /// `row` (for an upper bound: greater), or the end.
    #[inline]
    pub(super) fn find(&self, row: usize, is_upper: bool, places: (u32, u32)) -> u32 {
        let (start, end) = (places.0 as usize, places.1 as usize);
        let found = match self {
            Bounds::Words(sorted, words) => {
                let (sorted, word) = (&sorted[start..end], words[row]);
                match is_upper {
                    true => sorted.partition_point(|it| *it <= word),
                    false => sorted.partition_point(|it| *it < word),
                }
            }
            Bounds::Values(comparator) => {
                let is_before = |place: usize| match comparator.compare_valid(row, place) {
                    Ordering::Greater => true,
                    Ordering::Equal => is_upper,
                    Ordering::Less => false,
                };
                let (mut from, mut to) = (start, end);
                while from < to {
                    let middle = from.midpoint(to);
                    if is_before(middle) { from = middle + 1 } else { to = middle }
                }
                from - start
            }
        };
        (start + found) as u32
    }
}

/// The values as integers of the same order; anything for nulls. `None` for other types.
pub(crate) fn ordered_integers(column: &Vector) -> Result<Option<Vec<i64>>> {
    let decoded = Decoded::new(column)?;
    let rows = 0..column.len();
    let physical = decoded.values().physical();
    Ok(match physical {
        PhysicalType::I8 | PhysicalType::I16 | PhysicalType::I32 | PhysicalType::I64 => {
            match_integer!(physical, T => {
                let values = decoded.native::<T>();
                Some(rows.map(|row| at(values, decoded.index(row)) as i64).collect())
            }, else None)
        }
        PhysicalType::F32 => {
            let values = decoded.native::<f32>();
            Some(rows.map(|row| float_word(f64::from(at(values, decoded.index(row))))).collect())
        }
        PhysicalType::F64 => {
            let values = decoded.native::<f64>();
            Some(rows.map(|row| float_word(at(values, decoded.index(row)))).collect())
        }
        _ => None,
    })
}

/// A value; any one where there is none, behind a null.
fn at<T: Copy + Default>(values: &[T], index: usize) -> T {
    values.get(index).copied().unwrap_or_default()
}

/// NaN is the greatest value and equals itself, zeros of both signs are equal.
fn float_word(value: f64) -> i64 {
    if value.is_nan() {
        return i64::MAX;
    }
    let bits = if value == 0.0 { 0 } else { value.to_bits() as i64 };
    // Negative numbers have their magnitude inverted.
    if bits < 0 { bits ^ i64::MAX } else { bits }
}
