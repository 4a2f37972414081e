//! What makes rows of a row.

use super::{elements::Elements, series::SeriesRows};
use volley_error::{Error, Result};
use volley_plan::GeneratorKind;
use volley_vector::Vector;

/// A generator over the rows of a batch.
pub(super) enum Rows {
    Elements(Elements),
    Series(SeriesRows),
}

impl Rows {
    /// The generator of `kind` over its arguments.
    pub(super) fn new(kind: GeneratorKind, args: &[Vector]) -> Result<Rows> {
        match (kind, args) {
            (GeneratorKind::Elements, [list]) => Ok(Rows::Elements(Elements::new(list)?)),
            (GeneratorKind::Range | GeneratorKind::Series, [start, end, step]) => {
                let includes_end = kind == GeneratorKind::Series;
                Ok(Rows::Series(SeriesRows::new([start, end, step], includes_end)?))
            }
            _ => Err(Error::internal("a generator with another number of arguments")),
        }
    }

    /// Raises each count to what is made of that row.
    pub(super) fn raise_counts(&self, counts: &mut [u64]) {
        for (row, count) in counts.iter_mut().enumerate() {
            let own = match self {
                Rows::Elements(elements) => elements.count(row),
                Rows::Series(series) => series.count(row),
            };
            *count = own.max(*count);
        }
    }

    /// Makes the rows `from..from + rows` of a row, nulls where it has no more. Calls for a row
    /// follow each other.
    pub(super) fn make(&mut self, row: usize, from: u64, rows: usize) {
        match self {
            Rows::Elements(elements) => elements.make(row, from, rows),
            Rows::Series(series) => series.make(row, from, rows),
        }
    }

    /// The columns of what was made since the last call.
    pub(super) fn take(&mut self) -> Vec<Vector> {
        match self {
            Rows::Elements(elements) => elements.take(),
            Rows::Series(series) => vec![series.take()],
        }
    }
}
