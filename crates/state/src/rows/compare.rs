//! Rows against columns, and rows against rows.

use super::{RowContainer, RowList, base_positions, heap::StringHeap};
use volley_kernels::order::Ordered;
use volley_memory::RowPtr;
use volley_types::{Interval, Native, PhysicalType, match_native};
use volley_vector::{Decoded, StringValues, StringView, Values};

/// An element as a key.
pub trait Key: Copy {
    /// An integer that is equal for equal keys.
    fn key_bits(self) -> i128;

    /// Whether both are the same key.
    #[inline]
    fn is_same(self, other: Self) -> bool {
        self.key_bits() == other.key_bits()
    }
}

impl Key for u8 {
    #[inline]
    fn key_bits(self) -> i128 {
        self.into()
    }
}

impl Key for i8 {
    #[inline]
    fn key_bits(self) -> i128 {
        self.into()
    }
}

impl Key for i16 {
    #[inline]
    fn key_bits(self) -> i128 {
        self.into()
    }
}

impl Key for i32 {
    #[inline]
    fn key_bits(self) -> i128 {
        self.into()
    }
}

impl Key for i64 {
    #[inline]
    fn key_bits(self) -> i128 {
        self.into()
    }
}

impl Key for i128 {
    #[inline]
    fn key_bits(self) -> i128 {
        self
    }
}

/// All NaNs are one key, and so are both zeros.
impl Key for f32 {
    #[inline]
    fn key_bits(self) -> i128 {
        Ordered::key_bits(self).into()
    }
}

/// As for `f32`.
impl Key for f64 {
    #[inline]
    fn key_bits(self) -> i128 {
        Ordered::key_bits(self).into()
    }
}

impl Key for Interval {
    /// The length in nanoseconds, where a month has 30 days and a day 24 hours.
    #[inline]
    fn key_bits(self) -> i128 {
        const NANOS_PER_DAY: i128 = 24 * 60 * 60 * 1_000_000_000;
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * NANOS_PER_DAY + i128::from(self.nanoseconds)
    }
}

impl RowContainer {
    /// Compares rows `rows` of a column with the rows of `list`, pair by pair: clears `equal`
    /// where they differ. `nulls_equal`: whether null equals null; it never equals a value.
    ///
    /// Not for nested types, whose keys are encoded as VARBINARY.
    ///
    /// # Panics
    ///
    /// If the lengths differ, or the column has another layout.
    pub(crate) fn match_column(
        &self,
        column: usize,
        probe: Probe<'_, '_>,
        list: &RowList,
        nulls_equal: bool,
        equal: &mut [bool],
    ) {
        self.check(list);
        assert!(probe.rows.len() == list.len() && list.len() == equal.len(), "pairs");
        if self.has_nulls[column] || list.has_missing || probe.decoded.has_nulls() {
            self.match_with_nulls(column, probe, list, nulls_equal, equal);
        } else {
            self.match_values(column, probe, list, equal);
        }
    }

    fn match_with_nulls(
        &self,
        column: usize,
        probe: Probe<'_, '_>,
        list: &RowList,
        nulls_equal: bool,
        equal: &mut [bool],
    ) {
        let before = equal.to_vec();
        if !matches!(probe.decoded.values(), Values::Null(_)) {
            self.match_values(column, probe, list, equal);
        }
        let row_nulls = self.is_null_in(column, list);
        let probe_nulls = probe.decoded.nulls();
        for (index, equal) in equal.iter_mut().enumerate() {
            let row_null = row_nulls.as_ref().is_some_and(|it| it.is_null(index));
            let probe_row = probe.rows[index] as usize;
            let probe_null = probe_nulls.as_ref().is_some_and(|it| it.is_null(probe_row));
            if row_null || probe_null {
                *equal = before[index] & nulls_equal & row_null & probe_null;
            }
        }
    }

    fn match_values(
        &self,
        column: usize,
        probe: Probe<'_, '_>,
        list: &RowList,
        equal: &mut [bool],
    ) {
        let layout = &self.layout.columns[column];
        let (offset, at) = (layout.offset, base_positions(probe.decoded, probe.rows));
        match probe.decoded.values() {
            Values::Null(_) => equal.fill(false),
            Values::Boolean(bits) => {
                let values = at.iter().map(|it| u8::from(bits.value(*it as usize)));
                match_each(offset, list, values, equal);
            }
            Values::View(strings) => match_strings(&self.heap, offset, list, strings, &at, equal),
            values => match_native!(layout.data_type.physical(), T => {
                let values = native::<T>(values);
                match_each(offset, list, at.iter().map(|it| values[*it as usize]), equal);
            }, else equal.fill(false)),
        }
    }

    /// Whether two rows of this container are equal in `columns`; null equals null.
    ///
    /// For the rare pair with equal hashes; dispatches per value.
    ///
    /// # Safety
    ///
    /// - Both are rows of this container, and no other thread writes their columns.
    pub(crate) unsafe fn rows_equal(&self, left: RowPtr, right: RowPtr, columns: usize) -> bool {
        self.layout.columns[..columns].iter().all(|column| {
            let is_null = |row: RowPtr| {
                // SAFETY: the caller promises rows of this container; null bits are there.
                let byte: u8 = unsafe { row.read(column.null_byte) };
                byte & column.null_mask != 0
            };
            if is_null(left) || is_null(right) {
                return is_null(left) && is_null(right);
            }
            let physical = column.data_type.physical();
            if physical == PhysicalType::View {
                // SAFETY: the caller promises rows of this container; a view is there.
                let (left, right): (u128, u128) = unsafe { read_both(left, right, column.offset) };
                return self.heap.bytes_of(&left) == self.heap.bytes_of(&right);
            }
            match_native!(physical, T => {
                // SAFETY: the caller promises rows of this container; a T is there.
                let (left, right): (T, T) = unsafe { read_both(left, right, column.offset) };
                left.is_same(right)
            }, else {
                // SAFETY: the caller promises rows of this container; a bool is there.
                let (left, right): (u8, u8) = unsafe { read_both(left, right, column.offset) };
                physical != PhysicalType::Boolean || left == right
            })
        })
    }
}

/// Rows of a column.
#[derive(Clone, Copy)]
pub struct Probe<'a, 'v> {
    /// The column.
    pub decoded: &'a Decoded<'v>,
    /// Its rows.
    pub rows: &'a [u32],
}

/// # Safety
///
/// - Both rows live and hold a `T` at `offset`, which no other thread writes.
unsafe fn read_both<T: Copy>(left: RowPtr, right: RowPtr, offset: usize) -> (T, T) {
    // SAFETY: as the caller promises.
    let left = unsafe { left.read(offset) };
    // SAFETY: as the caller promises.
    let right = unsafe { right.read(offset) };
    (left, right)
}

fn native<T: Native>(values: &Values) -> &[T] {
    values.native::<T>().unwrap_or(&[])
}

/// Clears `equal` where the field differs. Callers have checked the list and the field's type.
#[inline]
fn match_each<T: Key>(
    offset: usize,
    list: &RowList,
    values: impl Iterator<Item = T>,
    equal: &mut [bool],
) {
    for ((row, value), equal) in list.rows.iter().zip(values).zip(equal) {
        // SAFETY: callers checked that the rows are of a living container, and took the type from
        // its layout.
        let field: T = unsafe { row.read(offset) };
        *equal &= field.is_same(value);
    }
}

fn match_strings(
    heap: &StringHeap,
    offset: usize,
    list: &RowList,
    strings: &StringValues,
    at: &[u32],
    equal: &mut [bool],
) {
    for ((row, position), equal) in list.rows.iter().zip(at).zip(equal) {
        // SAFETY: the caller checked that the rows are of a living container; a view is there.
        let left: u128 = unsafe { row.read(offset) };
        let right = strings.views[*position as usize];
        *equal &= StringView::quick_equal(left, right)
            .unwrap_or_else(|| heap.bytes_of(&left) == strings.bytes(*position as usize));
    }
}
