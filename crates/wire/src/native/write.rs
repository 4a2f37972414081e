//! Writes the columns of plain pages.

use super::{
    ALIGNMENT, BIAS, CONSTANT, DICTIONARY, FLAT, RUN_LENGTH, frame::too_large,
    strings::write_strings,
};
use crate::{
    encode::{ROWS_PER_VALUE, used},
    picks::{Picks, validity},
};
use volley_error::{Error, Result};
use volley_vector::{
    Batch, BooleanBuffer, Encoding, Nested, NullBuffer, ScalarBuffer, Values, Vector,
};

/// A page under way.
pub(super) struct PlainPage<'a> {
    out: &'a mut Vec<u8>,
    /// Where the page begins in `out`.
    start: usize,
    description: &'a mut Vec<u8>,
}

/// Appends the buffers of all columns to `out`, in which the page begins at `start`, and describes
/// them in `description`.
pub(super) fn columns(
    batch: &Batch,
    out: &mut Vec<u8>,
    start: usize,
    description: &mut Vec<u8>,
) -> Result<()> {
    let mut page = PlainPage { out, start, description };
    batch.columns().iter().try_for_each(|it| page.node(it))
}

impl PlainPage<'_> {
    /// Appends a buffer.
    pub(super) fn buffer(&mut self, bytes: &[u8]) {
        self.align();
        self.out.extend_from_slice(bytes);
    }

    /// Appends a buffer of `len` zeros, to be written.
    pub(super) fn zeroed(&mut self, len: usize) -> &mut [u8] {
        self.align();
        let start = self.out.len();
        self.out.resize(start + len, 0);
        self.out.split_at_mut(start).1
    }

    /// Begins a buffer, which `out` is appended to.
    pub(super) fn open(&mut self) -> &mut Vec<u8> {
        self.align();
        self.out
    }

    pub(super) fn describe(&mut self, bytes: &[u8]) {
        self.description.extend_from_slice(bytes);
    }

    pub(super) fn describe_len(&mut self, len: usize) -> Result<()> {
        let len = u32::try_from(len).map_err(|_| too_large())?;
        self.describe(&len.to_le_bytes());
        Ok(())
    }

    fn align(&mut self) {
        let len = self.out.len() - self.start;
        self.out.resize(self.start + len.next_multiple_of(ALIGNMENT), 0);
    }

    fn node(&mut self, vector: &Vector) -> Result<()> {
        match vector.encoding() {
            Encoding::Lazy(_) => self.node(&vector.loaded()?),
            Encoding::Constant(base) => {
                self.describe(&[CONSTANT, 0]);
                self.flat(&base.flatten()?)
            }
            Encoding::Dictionary { codes, base } if let Some(used) = used(codes, base.len()) => {
                self.head(DICTIONARY, vector.null_buffer());
                self.describe_len(used.values.len())?;
                self.buffer(ScalarBuffer::from(used.codes).inner());
                self.flat(&base.gather(&used.values)?)
            }
            Encoding::RunLength { ends, base } if base.len() * ROWS_PER_VALUE <= vector.len() => {
                self.describe(&[RUN_LENGTH, 0]);
                self.describe_len(ends.len())?;
                self.buffer(ends.inner());
                self.flat(&base.flatten()?)
            }
            Encoding::Bias { base, deltas } => {
                self.head(BIAS, vector.null_buffer());
                self.describe(&[deltas.width() as u8]);
                self.describe(&base.to_le_bytes());
                self.buffer(deltas.buffer());
                Ok(())
            }
            _ => self.flat(&vector.flatten()?),
        }
    }

    /// Describes the encoding of a node, and appends its validity.
    fn head(&mut self, encoding: u8, nulls: Option<&NullBuffer>) {
        self.describe(&[encoding, u8::from(nulls.is_some())]);
        if let Some(nulls) = nulls {
            self.bits(nulls.inner());
        }
    }

    fn bits(&mut self, bits: &BooleanBuffer) {
        let bytes = bits.len().div_ceil(8);
        match bits.offset() % 8 {
            0 => {
                let start = bits.offset() / 8;
                self.buffer(&bits.inner().as_slice()[start..start + bytes]);
            }
            _ => self.buffer(&bits.sliced().as_slice()[..bytes]),
        }
    }

    fn flat(&mut self, vector: &Vector) -> Result<()> {
        let values = vector.flat_values().ok_or_else(|| Error::internal("a vector is not flat"))?;
        let nulls = vector.null_buffer();
        self.head(FLAT, nulls);
        match values {
            Values::Null(_) => Ok(()),
            Values::Boolean(bits) => {
                self.bits(bits);
                Ok(())
            }
            Values::View(strings) => write_strings(self, strings, nulls),
            Values::Array(nested) | Values::Map(nested) => self.nested(nested, nulls),
            Values::FixedArray(arrays) => self.node(&arrays.elements),
            Values::Row { children, .. } => children.iter().try_for_each(|it| self.node(it)),
            fixed => {
                let bytes = fixed.fixed_bytes();
                self.buffer(bytes.ok_or_else(|| Error::unsupported("objects as bytes"))?);
                Ok(())
            }
        }
    }

    /// Writes arrays with the elements of valid rows only, in the order of rows.
    fn nested(&mut self, nested: &Nested, nulls: Option<&NullBuffer>) -> Result<()> {
        let rows = nested.offsets.len();
        let all = Picks::Range(0..rows);
        let is_valid = validity(nulls, &all);
        let elements = match all.elements(nested, &is_valid)? {
            Picks::Range(range) => nested.elements.slice(range.start, range.len()),
            Picks::Rows(rows) => nested.elements.gather(&rows)?,
        };
        let size = |row: usize| if is_valid(row) { nested.sizes[row] } else { 0 };
        self.describe_len(elements.len())?;
        let mut end = 0i32;
        let offsets = (0..rows).map(|row| {
            end += size(row);
            end - size(row)
        });
        let offsets: Vec<i32> = offsets.collect();
        self.buffer(ScalarBuffer::from(offsets).inner());
        let sizes: Vec<i32> = (0..rows).map(size).collect();
        self.buffer(ScalarBuffer::from(sizes).inner());
        self.node(&elements)
    }
}
