//! The bytes that rows may add to the results of a call, and the bytes of results that a call
//! computes at once.
//!
//! The results of a batch of frames may take far more than its rows: an array of all rows before
//! for each row. They are therefore computed and emitted some frames at a time.

use volley_memory::Pool;
use volley_state::{StateSizes, column_concat::row_bytes};
use volley_vector::{StringValues, StringView, Values, Vector};

/// Results are emitted when they take this fraction of the memory limit, if not earlier.
const ANSWER_SHARE: usize = 64;

/// What a state may take for a row beside its values: entry, hash, allocation.
const ENTRY_BYTES: usize = 64;

/// What a call works on in one step.
#[derive(Clone, Copy)]
pub(super) struct StepLimits {
    pub rows: usize,
    /// The bytes of results that are computed before they are emitted; at least those of one frame.
    pub bytes: usize,
}

impl StepLimits {
    pub(super) fn new(sizes: &StateSizes, pool: &Pool) -> StepLimits {
        let bytes = (pool.limit_bytes() / ANSWER_SHARE).clamp(1, sizes.window_result_bytes);
        StepLimits { rows: sizes.window_step_rows, bytes }
    }
}

/// About what copies of the rows of some columns take.
#[derive(Clone)]
pub(super) struct SizeEstimate {
    /// Of each row.
    fixed: usize,
    /// Those whose texts are copied.
    texts: Vec<StringValues>,
    rows: usize,
}

impl SizeEstimate {
    /// Of rows whose values go into a state.
    pub(super) fn of_copies(columns: &[Vector]) -> SizeEstimate {
        let rows = columns.first().map_or(0, Vector::len);
        let mut weights = SizeEstimate { fixed: ENTRY_BYTES, texts: Vec::new(), rows };
        columns.iter().for_each(|it| weights.add_column(it));
        weights
    }

    /// Of rows that are gathered: texts and elements are shared.
    pub(super) fn of_gathered(columns: &[Vector]) -> SizeEstimate {
        let fixed = columns.iter().map(|it| row_bytes(it.data_type())).sum();
        SizeEstimate { fixed, texts: Vec::new(), rows: columns.first().map_or(0, Vector::len) }
    }

    fn add_column(&mut self, column: &Vector) {
        self.fixed += row_bytes(column.data_type());
        // What cannot be loaded is not there to be copied.
        let Ok(column) = column.flatten() else { return };
        match column.flat_values() {
            Some(Values::View(texts)) => self.texts.push(texts.clone()),
            Some(Values::Row { children, .. }) => {
                children.iter().for_each(|it| self.add_column(it));
            }
            Some(Values::Array(nested) | Values::Map(nested)) => {
                self.fixed += nested.elements.retained_bytes() / column.len().max(1);
            }
            Some(Values::FixedArray(arrays)) => {
                self.fixed += arrays.elements.retained_bytes() / column.len().max(1);
            }
            _ => {}
        }
    }

    /// Of one row.
    #[inline]
    pub(super) fn of(&self, row: u32) -> usize {
        let text =
            |it: &StringValues| it.views.get(row as usize).map_or(0, |it| StringView::len_of(*it));
        self.fixed + self.texts.iter().map(text).sum::<usize>()
    }

    /// Of the rows from `start` to `end`.
    pub(super) fn of_range(&self, start: u32, end: u32) -> usize {
        if self.texts.is_empty() {
            return self.fixed.saturating_mul(end.saturating_sub(start) as usize);
        }
        (start..end).fold(0, |sum: usize, it| sum.saturating_add(self.of(it)))
    }

    /// Of some rows.
    pub(super) fn of_listed(&self, rows: &[u32]) -> usize {
        if self.texts.is_empty() {
            return self.fixed.saturating_mul(rows.len());
        }
        rows.iter().fold(0, |sum: usize, it| sum.saturating_add(self.of(*it)))
    }

    /// Of a row, in the mean.
    pub(super) fn mean(&self) -> usize {
        if self.rows == 0 {
            return self.fixed;
        }
        self.of_range(0, self.rows as u32) / self.rows
    }

    /// The end of the rows from `start` on that take `bytes` together, or one; `end` at most.
    pub(super) fn end_of(&self, start: u32, end: u32, bytes: usize) -> u32 {
        if self.texts.is_empty() {
            let rows = u32::try_from(bytes / self.fixed.max(1)).unwrap_or(u32::MAX);
            return end.min(start.saturating_add(rows.max(1)));
        }
        let mut sum = 0usize;
        for row in start..end {
            sum = sum.saturating_add(self.of(row));
            if sum > bytes && row > start {
                return row;
            }
        }
        end
    }

    /// As [`SizeEstimate::end_of`], of positions in a list of rows.
    pub(super) fn end_of_listed(&self, rows: &[u32], start: usize, bytes: usize) -> usize {
        let mut sum = 0usize;
        for (position, row) in rows.iter().enumerate().skip(start) {
            sum = sum.saturating_add(self.of(*row));
            if sum > bytes && position > start {
                return position;
            }
        }
        rows.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_types::{Type, Value};

    #[test]
    fn texts_weigh_what_they_have_and_gathered_ones_nothing() {
        let texts = ["a", "four", "", "and ten more"].map(Value::text);
        let column = Vector::from_values(Type::Varchar, &texts);
        let copies = SizeEstimate::of_copies(std::slice::from_ref(&column));
        let fixed = ENTRY_BYTES + 16;
        assert_eq!([0, 1, 2, 3].map(|it| copies.of(it) - fixed), [1, 4, 0, 12]);
        assert_eq!(copies.of_range(1, 4), 3 * fixed + 16);
        assert_eq!(copies.mean(), fixed + 17 / 4);
        assert_eq!(SizeEstimate::of_gathered(&[column]).of_range(0, 4), 4 * 16);
    }

    #[test]
    fn rows_are_cut_by_their_bytes_and_one_is_always_there() {
        let column = Vector::native::<i64>(Type::BigInt, vec![7; 10], None);
        let weights = SizeEstimate::of_gathered(&[column]);
        assert_eq!(weights.end_of(2, 10, 24), 5);
        assert_eq!(weights.end_of(2, 10, 0), 3);
        assert_eq!(weights.end_of(2, 10, 1000), 10);
        assert_eq!(weights.end_of(4, 4, 0), 4);
        assert_eq!(weights.end_of_listed(&[5, 1, 9], 1, 8), 2);
        assert_eq!(weights.end_of_listed(&[5, 1, 9], 0, 100), 3);
    }
}
