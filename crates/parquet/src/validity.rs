//! Collects which rows are valid.

use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use std::ops::Range;

/// Rows, valid or null; costs nothing while all are valid.
#[derive(Debug, Default)]
pub(crate) struct Validity {
    /// Present from the first null row on.
    bits: Option<BooleanBufferBuilder>,
    rows: usize,
}

impl Validity {
    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends valid rows; returns how many.
    pub fn append_valid(&mut self, count: usize) -> usize {
        if let Some(bits) = &mut self.bits {
            bits.append_n(count, true);
        }
        self.rows += count;
        count
    }

    /// Appends null rows; returns 0, the number of valid ones.
    pub fn append_nulls(&mut self, count: usize) -> usize {
        if count > 0 {
            self.bits().append_n(count, false);
            self.rows += count;
        }
        0
    }

    /// Appends a range of the bits of `data` (set: valid); returns how many are valid. The range
    /// lies within the data.
    pub fn append_bits(&mut self, data: &[u8], range: Range<usize>) -> usize {
        let valid = count_ones(data, range.clone());
        if valid == range.len() {
            return self.append_valid(valid);
        }
        let rows = range.len();
        self.bits().append_packed_range(range, data);
        self.rows += rows;
        valid
    }

    /// Appends one row.
    pub fn push(&mut self, valid: bool) {
        if valid {
            self.append_valid(1);
        } else {
            self.append_nulls(1);
        }
    }

    /// Whether row `row` is valid.
    pub fn is_valid(&self, row: usize) -> bool {
        self.bits.as_ref().is_none_or(|it| it.get_bit(row))
    }

    /// Whether a row is null.
    pub fn has_nulls(&self) -> bool {
        self.bits.is_some()
    }

    /// The bitmap, when a row is null.
    pub fn finish(self) -> Option<NullBuffer> {
        self.bits.map(|mut it| NullBuffer::new(it.finish()))
    }

    fn bits(&mut self) -> &mut BooleanBufferBuilder {
        let rows = self.rows;
        self.bits.get_or_insert_with(|| {
            let mut bits = BooleanBufferBuilder::new(rows + 1024);
            bits.append_n(rows, true);
            bits
        })
    }
}

fn count_ones(data: &[u8], range: Range<usize>) -> usize {
    let bits =
        arrow_buffer::bit_chunk_iterator::UnalignedBitChunk::new(data, range.start, range.len());
    bits.count_ones()
}
