//! Keeps a range of rows of each group of adjacent rows. Where that is the first row, others are
//! dropped before they are sorted (see `first_rows`).

mod first_rows;
mod lower;
#[cfg(test)]
mod tests;

pub(crate) use first_rows::{FirstRowSorts, FirstRows, find};
pub(crate) use lower::lower;

use volley_error::Result;
use volley_exec::Transform;
use volley_plan::GroupLimitNode;
use volley_vector::{Batch, Comparator, ScalarBuffer, Vector, comparator};

/// Of each run of rows with equal keys, drops the first `offset` rows and passes the next ones.
pub struct GroupLimit {
    keys: Vec<usize>,
    offset: u64,
    /// One past the last row of a group that passes.
    end: u64,
    /// The keys of the last row seen.
    last: Option<Vec<Vector>>,
    /// How many rows of its group were seen.
    seen: u64,
}

impl GroupLimit {
    /// Keeps what `node` says.
    pub fn new(node: &GroupLimitNode) -> GroupLimit {
        let limit = node.limit.unwrap_or(u64::MAX);
        GroupLimit {
            keys: node.keys.clone(),
            offset: node.offset,
            end: node.offset.saturating_add(limit),
            last: None,
            seen: 0,
        }
    }

    /// The rows of a loaded batch that pass.
    fn passing(&mut self, batch: &Batch) -> Result<Vec<u32>> {
        let keys: Vec<Vector> = self.keys.iter().map(|it| batch.column(*it).clone()).collect();
        let continues = match &self.last {
            Some(last) => equal(&comparators(last, &keys)?, 0, 0),
            None => false,
        };
        if !continues {
            self.seen = 0;
        }
        let neighbors = comparators(&keys, &keys)?;
        let mut passing = Vec::new();
        for row in 0..batch.rows() {
            if row > 0 && !equal(&neighbors, row - 1, row) {
                self.seen = 0;
            }
            if (self.offset..self.end).contains(&self.seen) {
                passing.push(row as u32);
            }
            self.seen += 1;
        }
        self.last = Some(keys.iter().map(|it| it.slice(batch.rows() - 1, 1)).collect());
        Ok(passing)
    }
}

fn comparators(left: &[Vector], right: &[Vector]) -> Result<Vec<Comparator>> {
    left.iter().zip(right).map(|(left, right)| comparator(left, right)).collect()
}

fn equal(keys: &[Comparator], left: usize, right: usize) -> bool {
    keys.iter().all(|it| it.is_equal(left, right))
}

impl Transform for GroupLimit {
    fn name(&self) -> &'static str {
        "group limit"
    }

    fn transform(&mut self, batch: Batch) -> Result<Option<Batch>> {
        let batch = batch.loaded()?;
        let rows = self.passing(&batch)?;
        Ok(match rows.len() {
            0 => None,
            all if all == batch.rows() => Some(batch),
            _ => Some(batch.wrap(&ScalarBuffer::<u32>::from(rows))),
        })
    }
}
