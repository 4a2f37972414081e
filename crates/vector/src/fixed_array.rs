//! The elements of arrays of a fixed size.

use crate::{Nested, ScalarBuffer, Values, Vector};
use std::sync::Arc;
use volley_error::{Error, ErrorKind, Result};

/// Arrays of `size` elements each: row `i` has the elements from `i * size` on. Null rows have
/// elements, too, whose values are arbitrary.
#[derive(Clone, Debug)]
pub struct FixedArrays {
    /// Elements of each row; at least 1.
    pub size: usize,
    /// Rows.
    pub len: usize,
    /// The elements of all rows, `len * size` of them, in any encoding but lazy.
    pub elements: Arc<Vector>,
}

impl Vector {
    /// A vector of arrays of a fixed size as one of arrays of any size, flat: the elements are
    /// shared. Other vectors as they are, flat.
    ///
    /// # Errors
    ///
    /// What a lazy vector's loader reports; more elements than 31 bits count.
    pub fn without_size(&self) -> Result<Vector> {
        let flat = self.flatten()?;
        let Some(Values::FixedArray(arrays)) = flat.flat_values() else { return Ok(flat) };
        let values = Values::Array(arrays.to_nested()?);
        Ok(Vector::flat(self.data_type().without_size(), values, flat.null_buffer().cloned()))
    }
}

impl FixedArrays {
    /// The elements of `row`, as a range.
    #[inline]
    pub fn range(&self, row: usize) -> std::ops::Range<usize> {
        row * self.size..(row + 1) * self.size
    }

    /// The rows from `offset` on, `len` of them, sharing storage.
    pub(crate) fn slice(&self, offset: usize, len: usize) -> FixedArrays {
        let elements = self.elements.slice(offset * self.size, len * self.size);
        FixedArrays { size: self.size, len, elements: Arc::new(elements) }
    }

    /// The same arrays with offsets and sizes; the elements are shared.
    ///
    /// # Errors
    ///
    /// More elements than 31 bits count.
    pub fn to_nested(&self) -> Result<Nested> {
        let size = i32::try_from(self.size).map_err(|_| too_many())?;
        i32::try_from(self.elements.len()).map_err(|_| too_many())?;
        let offsets: ScalarBuffer<i32> = (0..self.len as i32).map(|row| row * size).collect();
        let sizes = vec![size; self.len].into();
        Ok(Nested { offsets, sizes, elements: Arc::clone(&self.elements) })
    }

    /// The positions of the elements of `rows`, one row after the other.
    ///
    /// # Errors
    ///
    /// More elements than 32 bits count.
    pub(crate) fn positions(&self, rows: &[u32]) -> Result<Vec<u32>> {
        let count = rows.len().checked_mul(self.size).and_then(|it| u32::try_from(it).ok());
        let mut positions = Vec::with_capacity(count.ok_or_else(too_many)? as usize);
        for row in rows {
            positions.extend(self.range(*row as usize).map(|it| it as u32));
        }
        Ok(positions)
    }
}

fn too_many() -> Error {
    Error::new(ErrorKind::OutOfMemory, "too many array elements in one vector")
        .hint("use a smaller batch_rows")
}
