//! Columns of fixed-width values as vectors of 1024, and rows of them.

use crate::{VECTOR_ROWS, marks, marks::Mark};
use std::ops::Range;
use volley_error::Result;

/// Up to this many rows of a vector are decoded one by one.
const SINGLE_ROWS_MAX: usize = 8;

/// Decodes vectors.
pub(crate) trait Decode<T>: Send {
    /// Rows of the column.
    fn rows(&self) -> usize;

    /// Appends the values of all rows of a vector.
    fn vector(&self, index: usize, out: &mut Vec<T>) -> Result<()>;

    /// The value of a row of a vector, if that is faster than to decode the vector.
    fn single(&self, index: usize, row: usize) -> Option<T>;
}

/// The vectors that have rows of a range, with the range of their own rows.
pub(crate) fn split(rows: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
    let vectors = match rows.is_empty() {
        true => 0..0,
        false => rows.start / VECTOR_ROWS..rows.end.div_ceil(VECTOR_ROWS),
    };
    vectors.map(move |index| {
        let first = index * VECTOR_ROWS;
        let start = rows.start.max(first) - first;
        (index, start..(rows.end - first).min(VECTOR_ROWS))
    })
}

/// Rows of vector `index` of a column of `rows` rows.
pub(crate) fn rows_of(index: usize, rows: usize) -> usize {
    (rows - index * VECTOR_ROWS).min(VECTOR_ROWS)
}

/// Positions of a range, ascending, by vector: the vector, and the rows there.
pub(crate) fn groups(
    start: usize,
    pick: &[u32],
) -> impl Iterator<Item = (usize, impl ExactSizeIterator<Item = usize> + '_)> {
    let vector = move |it: &u32| (start + *it as usize) / VECTOR_ROWS;
    pick.chunk_by(move |a, b| vector(a) == vector(b)).map(move |group| {
        let index = group.first().map_or(0, vector);
        (index, group.iter().map(move |it| (start + *it as usize) % VECTOR_ROWS))
    })
}

/// The values of rows, or of positions in them.
pub(crate) fn read<T: Copy>(
    column: &dyn Decode<T>,
    rows: Range<usize>,
    pick: Option<&[u32]>,
) -> Result<Vec<T>> {
    match pick {
        Some(pick) => read_picked(column, rows.start, pick),
        None => read_range(column, rows),
    }
}

fn read_range<T: Copy>(column: &dyn Decode<T>, rows: Range<usize>) -> Result<Vec<T>> {
    // Vectors are decoded where they stay, and so the last one needs room for all of it.
    let mut values = Vec::with_capacity(rows.len() + VECTOR_ROWS);
    for (index, within) in split(rows) {
        let start = values.len();
        column.vector(index, &mut values)?;
        values.truncate(start + within.end);
        if within.start > 0 {
            values.drain(start..start + within.start);
        }
    }
    Ok(values)
}

fn read_picked<T: Copy>(column: &dyn Decode<T>, start: usize, pick: &[u32]) -> Result<Vec<T>> {
    let (mut values, mut vector) = (Vec::with_capacity(pick.len()), Vec::new());
    for (index, rows) in groups(start, pick) {
        let is_few = rows.len() <= SINGLE_ROWS_MAX;
        let first = is_few.then(|| column.single(index, 0)).flatten();
        if first.is_some() {
            marks::hit(Mark::Single);
            values.extend(rows.filter_map(|row| column.single(index, row)));
            continue;
        }
        vector.clear();
        column.vector(index, &mut vector)?;
        values.extend(rows.filter_map(|row| vector.get(row).copied()));
    }
    Ok(values)
}
