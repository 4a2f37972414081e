//! Errors of single rows, stored next to the batch.

use volley_error::Error;
use volley_vector::Rows;

/// Which rows of a batch failed, and why. TRY, AND, OR and conditionals discard errors of rows
/// whose value they do not need; what remains at the end fails the query.
#[derive(Debug, Default)]
pub struct RowErrors {
    /// One per failed row, in order of detection; a row may repeat.
    failed: Vec<(u32, Option<Error>)>,
}

impl RowErrors {
    /// Records that `row` failed. `error` is `None` if its message is never read (inside TRY).
    pub fn add(&mut self, row: usize, error: Option<Error>) {
        self.failed.push((row as u32, error));
    }

    /// Whether no row failed.
    pub fn is_empty(&self) -> bool {
        self.failed.is_empty()
    }

    /// How many errors were recorded; a row may have several.
    pub fn len(&self) -> usize {
        self.failed.len()
    }

    /// Replaces the errors that were recorded after the first `before` ones.
    pub fn map_from(&mut self, before: usize, change: impl Fn(Error) -> Error) {
        for (_, error) in self.failed.iter_mut().skip(before) {
            *error = error.take().map(&change);
        }
    }

    /// The errors with their rows, in order of detection.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Option<&Error>)> + '_ {
        self.failed.iter().map(|(row, error)| (*row as usize, error.as_ref()))
    }

    /// Adds a copy of the errors of `other` for `rows`.
    pub fn copy_from(&mut self, other: &RowErrors, rows: &Rows) {
        for (row, error) in other.iter() {
            if rows.contains(row) {
                self.add(row, error.cloned());
            }
        }
    }

    /// The failed rows.
    pub fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.failed.iter().map(|(row, _)| *row as usize)
    }

    /// Forgets the errors of `rows`.
    pub fn discard(&mut self, rows: &Rows) {
        self.failed.retain(|(row, _)| !rows.contains(*row as usize));
    }

    /// Keeps only the errors of `rows`.
    pub fn retain(&mut self, rows: &Rows) {
        self.failed.retain(|(row, _)| rows.contains(*row as usize));
    }

    /// Adds all errors of `other`, whose row `i` is row `to_row(i)` here.
    pub fn append(&mut self, other: RowErrors, to_row: impl Fn(usize) -> usize) {
        self.failed.extend(
            other.failed.into_iter().map(|(row, error)| (to_row(row as usize) as u32, error)),
        );
    }

    /// Takes all errors, leaving none.
    pub fn take(&mut self) -> RowErrors {
        std::mem::take(self)
    }

    /// The error of the first failed row, if any failed.
    pub fn first(self) -> Option<Error> {
        let first = self.failed.into_iter().min_by_key(|(row, _)| *row)?;
        Some(first.1.unwrap_or_else(|| Error::internal("row error without a message")))
    }
}
