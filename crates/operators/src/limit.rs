//! Keeps a range of rows.

mod lower;
#[cfg(test)]
mod tests;

pub(crate) use lower::lower;

use volley_error::Result;
use volley_exec::Transform;
use volley_vector::{Batch, ScalarBuffer};

/// `OFFSET`, `LIMIT`: drops the first rows of its stream and all rows after the last wanted one,
/// and finishes as soon as it has that one.
pub struct Limit {
    /// Rows still to drop.
    skip: u64,
    /// Rows still to pass; `None`: all.
    rest: Option<u64>,
}

impl Limit {
    /// Drops `offset` rows, then passes `limit` rows (all, when `None`).
    pub fn new(offset: u64, limit: Option<u64>) -> Limit {
        Limit { skip: offset, rest: limit }
    }

    /// Whether all wanted rows were passed.
    pub(crate) fn is_reached(&self) -> bool {
        self.rest == Some(0)
    }

    /// The wanted rows of a batch.
    fn cut(&mut self, batch: Batch) -> Batch {
        let start = self.skip.min(batch.rows() as u64) as usize;
        self.skip -= start as u64;
        let mut rows = batch.rows() - start;
        if let Some(rest) = &mut self.rest {
            rows = rows.min(usize::try_from(*rest).unwrap_or(usize::MAX));
            *rest -= rows as u64;
        }
        range(batch, start, rows)
    }
}

/// The rows from `start` on. Lazy columns stay lazy: they would be decoded for rows cut off.
fn range(batch: Batch, start: usize, rows: usize) -> Batch {
    if rows == batch.rows() {
        return batch;
    }
    if batch.columns().iter().any(|it| it.is_lazy()) {
        let codes: ScalarBuffer<u32> = (start as u32..(start + rows) as u32).collect();
        return batch.wrap(&codes);
    }
    batch.slice(start, rows)
}

impl Transform for Limit {
    fn name(&self) -> &'static str {
        "limit"
    }

    fn transform(&mut self, batch: Batch) -> Result<Option<Batch>> {
        Ok(Some(self.cut(batch)).filter(|it| it.rows() > 0))
    }

    fn is_finished(&self) -> bool {
        self.is_reached()
    }
}
