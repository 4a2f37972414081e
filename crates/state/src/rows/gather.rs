//! From rows into columns.

use super::{RowContainer, RowList};
use arrow_buffer::ArrowNativeType;
use std::sync::Arc;
use volley_error::Result;
use volley_memory::RowPtr;
use volley_types::{Interval, PhysicalType};
use volley_vector::{BooleanBuffer, NullBuffer, ScalarBuffer, StringValues, Values, Vector};

impl RowContainer {
    /// A column of the rows of `list`, flat. Strings share the container's heap. Call
    /// [`RowContainer::freeze`] before.
    ///
    /// # Errors
    ///
    /// Nested values beyond the layout's 32 bits.
    pub fn gather(&self, column: usize, list: &RowList) -> Result<Vector> {
        self.check(list);
        let layout = &self.layout.columns[column];
        let (offset, rows) = (layout.offset, &list.rows);
        let values = match layout.data_type.physical() {
            PhysicalType::Null => Values::Null(rows.len()),
            PhysicalType::Boolean => {
                Values::Boolean(BooleanBuffer::collect_bool(rows.len(), |row| {
                    // SAFETY: the row is of this container (checked) and has its bool there.
                    unsafe { rows[row].read::<u8>(offset) != 0 }
                }))
            }
            PhysicalType::I8 => Values::I8(read_each(offset, rows)),
            PhysicalType::I16 => Values::I16(read_each(offset, rows)),
            PhysicalType::I32 => Values::I32(read_each(offset, rows)),
            PhysicalType::I64 => Values::I64(read_each(offset, rows)),
            PhysicalType::I128 => Values::I128(read_each(offset, rows)),
            PhysicalType::F32 => Values::F32(read_each(offset, rows)),
            PhysicalType::F64 => Values::F64(read_each(offset, rows)),
            PhysicalType::Interval => Values::Interval(read_each::<Interval>(offset, rows)),
            PhysicalType::View => {
                let buffers = Arc::clone(self.heap.buffers());
                Values::View(StringValues::new(read_each(offset, rows), buffers))
            }
            PhysicalType::Array
            | PhysicalType::FixedArray
            | PhysicalType::Map
            | PhysicalType::Row
            | PhysicalType::Opaque => {
                let positions: ScalarBuffer<u32> = read_each(offset, rows);
                return self.gather_side(column, &positions, list);
            }
        };
        let nulls = self.gather_nulls(column, list);
        Ok(Vector::flat(layout.data_type.clone(), values, nulls))
    }

    /// The null bitmap of a column of the rows of `list`.
    fn gather_nulls(&self, column: usize, list: &RowList) -> Option<NullBuffer> {
        if !self.has_nulls[column] && !list.has_missing {
            return None;
        }
        let layout = &self.layout.columns[column];
        let is_valid = |row: usize| {
            // SAFETY: the row is of this container (callers checked) and has its null bits there.
            let byte: u8 = unsafe { list.rows[row].read(layout.null_byte) };
            byte & layout.null_mask == 0
        };
        Some(NullBuffer::new(BooleanBuffer::collect_bool(list.len(), is_valid)))
    }

    fn gather_side(&self, column: usize, positions: &[u32], list: &RowList) -> Result<Vector> {
        let vector =
            self.sides[column].gather(&self.layout.columns[column].data_type, positions)?;
        let Some(nulls) = self.gather_nulls(column, list) else { return Ok(vector) };
        let Some(values) = vector.flat_values() else { return Ok(vector) };
        Ok(Vector::flat(vector.data_type().clone(), values.clone(), Some(nulls)))
    }

    /// The column's null bits of the rows of `list`: for each, whether it is null.
    pub(crate) fn is_null_in(&self, column: usize, list: &RowList) -> Option<NullBuffer> {
        self.check(list);
        self.gather_nulls(column, list)
    }
}

/// Reads one value from each row. Callers have checked the list and the field's type.
#[inline]
fn read_each<T: ArrowNativeType>(offset: usize, rows: &[RowPtr]) -> ScalarBuffer<T> {
    // SAFETY: callers checked that the rows are of a living container, and took the type from its
    // layout.
    let values = rows.iter().map(|row| unsafe { row.read(offset) });
    values.collect::<Vec<T>>().into()
}
