//! Running sums of distances.

use crate::{VECTOR_ROWS, input::Input, input::corruption, pfor::Packed, vectors::Decode};
use volley_error::Result;
use volley_kernels::{delta::prefix_sum, pack::Lane};

/// Packed distances.
pub(crate) struct Deltas<T> {
    firsts: Vec<T>,
    deltas: Packed<T>,
}

impl<T: Lane> Deltas<T> {
    /// Reads the vectors of `rows` values and checks them.
    pub(crate) fn open(input: &mut Input, rows: usize) -> Result<Deltas<T>> {
        let firsts = input.integers(rows.div_ceil(VECTOR_ROWS))?;
        Ok(Deltas { firsts, deltas: Packed::open(input, rows)? })
    }
}

impl<T: Lane> Decode<T> for Deltas<T> {
    fn rows(&self) -> usize {
        self.deltas.rows()
    }

    fn vector(&self, index: usize, out: &mut Vec<T>) -> Result<()> {
        let start = out.len();
        let first = *self.firsts.get(index).ok_or_else(|| corruption("vector beyond the end"))?;
        self.deltas.vector(index, out)?;
        prefix_sum(&mut out[start..], first);
        Ok(())
    }

    fn single(&self, _index: usize, _row: usize) -> Option<T> {
        None
    }
}
