//! From columns into rows.

use super::{RowContainer, RowList, base_positions};
use volley_error::Result;
use volley_memory::RowPtr;
use volley_types::{PhysicalType, match_width};
use volley_vector::{Decoded, INLINE_BYTES, Indices, StringValues, StringView, Values};

impl RowContainer {
    /// Writes rows `rows` of a column into the rows of `list`, one each. Rows must be new: null
    /// bits are set, never cleared.
    ///
    /// # Errors
    ///
    /// Out of memory, for strings and nested values.
    ///
    /// # Panics
    ///
    /// If the column has another layout than the rows, or the lengths differ.
    pub(crate) fn scatter(
        &mut self,
        column: usize,
        decoded: &Decoded,
        rows: &[u32],
        list: &RowList,
    ) -> Result<()> {
        self.check(list);
        assert_eq!(rows.len(), list.len(), "one row for each");
        self.scatter_nulls(column, decoded, rows, list);
        let at = base_positions(decoded, rows);
        let offset = self.layout.columns[column].offset;
        let physical = self.layout.columns[column].data_type.physical();
        match decoded.values() {
            Values::Null(_) => {}
            values if values.physical() != physical => panic_on_layout(),
            Values::Boolean(bits) => {
                let values = at.iter().map(|it| u8::from(bits.value(*it as usize)));
                write_each(offset, list, values);
            }
            Values::View(strings) => {
                let repeats = !matches!(decoded.indices(), Indices::Identity);
                self.scatter_strings(column, (strings, repeats), &at, list)?;
            }
            values if values.physical().is_by_reference() => {
                let first = self.sides[column].push(decoded, &at, &mut self.reservations[0])?;
                write_each(offset, list, first..first + at.len() as u32);
            }
            values => match_width!(physical, T => {
                let values = values.width::<T>().unwrap_or(&[]);
                write_each(offset, list, at.iter().map(|it| values[*it as usize]));
            }, else {}),
        }
        Ok(())
    }

    fn scatter_nulls(&mut self, column: usize, decoded: &Decoded, rows: &[u32], list: &RowList) {
        let Some(nulls) = decoded.nulls() else { return };
        self.has_nulls[column] = true;
        let layout = &self.layout.columns[column];
        for (row, pointer) in rows.iter().zip(&list.rows) {
            if nulls.is_null(*row as usize) {
                // SAFETY: the row is of this container (checked by the caller), which is borrowed
                // mutably.
                let byte: u8 = unsafe { pointer.read(layout.null_byte) };
                // SAFETY: as above.
                unsafe { pointer.write(layout.null_byte, byte | layout.null_mask) };
            }
        }
    }

    /// Writes strings; where rows may repeat some, each is stored once, or nearly.
    fn scatter_strings(
        &mut self,
        column: usize,
        (strings, repeats): (&StringValues, bool),
        at: &[u32],
        list: &RowList,
    ) -> Result<()> {
        let offset = self.layout.columns[column].offset;
        if strings.buffers.is_empty() {
            write_each(offset, list, at.iter().map(|it| strings.views[*it as usize]));
            return Ok(());
        }
        if repeats {
            self.memo.begin(&mut self.reservations[0])?;
        }
        for (&position, row) in at.iter().zip(&list.rows) {
            let mut view = strings.views[position as usize];
            if StringView::len_of(view) > INLINE_BYTES {
                let (heap, reservation) = (&mut self.heap, &mut self.reservations[0]);
                let mut store = || heap.push(strings.bytes(position as usize), reservation);
                view = if repeats { self.memo.get_or(position, store) } else { store() }?;
            }
            // SAFETY: the row is of this container (checked by the caller), which is borrowed
            // mutably and has 16 bytes at the offset of a string.
            unsafe { row.write(offset, view) };
        }
        Ok(())
    }

    /// Raises the buffer numbers of strings by `buffers`, and positions of nested values by those
    /// of `sides` (one per column), in the rows of `list`.
    pub(super) fn move_references(&mut self, list: &RowList, buffers: u32, sides: &[u32]) {
        self.check(list);
        for (column, side) in self.layout.columns.iter().zip(sides) {
            match column.data_type.physical() {
                PhysicalType::View => update_each(column.offset, list, |view: u128| {
                    StringView::with_buffers_moved(view, buffers)
                }),
                physical if physical.is_by_reference() => {
                    update_each(column.offset, list, |position: u32| position + side);
                }
                _ => {}
            }
        }
    }
}

/// Writes one value into each row. Callers have checked the list and the field's width.
#[inline]
fn write_each<T: Copy>(offset: usize, list: &RowList, values: impl Iterator<Item = T>) {
    for (row, value) in list.rows.iter().zip(values) {
        // SAFETY: callers hold the rows' container mutably, checked that the list is of it, and
        // took the width of T from its layout.
        unsafe { row.write(offset, value) };
    }
}

/// Replaces a field of each row; as [`write_each`].
fn update_each<T: Copy>(offset: usize, list: &RowList, f: impl Fn(T) -> T) {
    let update = |row: &RowPtr| {
        // SAFETY: as in `write_each`.
        let value = unsafe { row.read(offset) };
        // SAFETY: as in `write_each`.
        unsafe { row.write(offset, f(value)) };
    };
    list.rows.iter().for_each(update);
}

#[cold]
#[expect(clippy::panic, reason = "a caller passed another type: a bug, caught at the task border")]
fn panic_on_layout() -> ! {
    panic!("column of another layout than the rows")
}
