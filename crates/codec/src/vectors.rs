//! Columns of fixed-width values as vectors of 1024, and rows of them.

use crate::{VECTOR_ROWS, marks, marks::Mark};
use std::ops::Range;
use volley_error::Result;
use volley_kernels::gather::gather;

/// Up to this many rows of a vector are decoded one by one.
const SINGLE_ROWS_MAX: usize = 8;

/// When at least one of this many rows of a range is picked, all of them are decoded.
const DENSE_SHARE: usize = 2;

/// When fewer than one of this many rows of a range is missing, the rows between missing ones are
/// moved together.
const RUN_ROWS: usize = 32;

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
        Some(pick) if is_dense(pick, rows.len()) => {
            let mut values = read_range(column, rows)?;
            compact(&mut values, pick);
            Ok(values)
        }
        Some(pick) => read_picked(column, rows.start, pick),
        None => read_range(column, rows),
    }
}

/// Whether to decode all `rows` rows of a range for the sake of those at `pick`.
pub(crate) fn is_dense(pick: &[u32], rows: usize) -> bool {
    rows > SINGLE_ROWS_MAX && pick.len() * DENSE_SHARE >= rows
}

/// Keeps the values at the positions `pick`, which ascend.
pub(crate) fn compact<T: Copy>(values: &mut Vec<T>, pick: &[u32]) {
    let missing = values.len().saturating_sub(pick.len());
    if missing * RUN_ROWS < values.len() {
        marks::hit(Mark::Compacted);
        compact_runs(values, pick);
        return;
    }
    let mut picked = Vec::with_capacity(pick.len());
    gather(values, pick, &mut picked);
    *values = picked;
}

/// Moves runs of consecutive values.
fn compact_runs<T: Copy>(values: &mut Vec<T>, pick: &[u32]) {
    let mut to = 0;
    for from in runs(pick) {
        let rows = from.len();
        if from.start != to {
            values.copy_within(from, to);
        }
        to += rows;
    }
    values.truncate(to);
}

/// The ranges of positions that follow each other in `pick`, which ascends.
pub(crate) fn runs(pick: &[u32]) -> impl Iterator<Item = Range<usize>> {
    let mut rest = pick;
    std::iter::from_fn(move || {
        let first = *rest.first()?;
        let rows = run_rows(rest, first);
        rest = rest.get(rows..).unwrap_or_default();
        Some(first as usize..first as usize + rows)
    })
}

/// How many of the ascending positions, which begin with `first`, follow each other.
fn run_rows(pick: &[u32], first: u32) -> usize {
    let is_run = |len: usize| pick.get(len - 1).is_some_and(|it| (*it - first) as usize == len - 1);
    if is_run(pick.len()) {
        return pick.len();
    }
    let mut bound = 8;
    while bound < pick.len() && is_run(bound) {
        bound *= 2;
    }
    // The first position that does not follow is between half of the bound and the bound.
    let start = if bound == 8 { 1 } else { bound / 2 };
    let rest = pick.get(start..bound.min(pick.len())).unwrap_or_default();
    let (mut low, mut high) = (0, rest.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        if is_run(start + middle + 1) { low = middle + 1 } else { high = middle }
    }
    start + low
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
        let Some(first) = vector.first() else { continue };
        values.extend(rows.map(|row| vector.get(row).unwrap_or(first)));
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rows: usize, is_picked: impl Fn(u32) -> bool, is_run: bool) {
        let values: Vec<u32> = (0..rows as u32).map(|it| it * 3).collect();
        let pick: Vec<u32> = (0..rows as u32).filter(|it| is_picked(*it)).collect();
        let before = marks::count(Mark::Compacted);
        let mut compacted = values.clone();
        compact(&mut compacted, &pick);
        assert_eq!(marks::count(Mark::Compacted) > before, is_run);
        let expected: Vec<u32> = pick.iter().map(|it| values[*it as usize]).collect();
        assert_eq!(compacted, expected);
        let mut moved = values;
        compact_runs(&mut moved, &pick);
        assert_eq!(moved, expected);
    }

    #[test]
    fn picked_values_are_kept() {
        for rows in [1, 2, 3, 8, 9, 64, 1024, 3000] {
            check(rows, |_| true, true);
            check(rows, |_| false, false);
            check(rows, |it| it % 2 == 1, false);
            check(rows, |it| it != 0 || rows == 1, rows > 32 || rows == 1);
            check(rows, |it| it as usize != rows - 1 || rows == 1, rows > 32 || rows == 1);
            check(rows, |it| it % 61 != 7, rows <= 7 || rows > 32);
            check(rows, |it| it * 7 % 11 > 4, false);
        }
        check(0, |_| true, false);
    }
}
