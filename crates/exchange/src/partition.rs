//! Which lane a row goes to.

use std::{cmp::Ordering, sync::Arc};
use volley_error::{Error, Result};
use volley_kernels::scatter::lane_of_hashes;
use volley_types::SortKey;
use volley_vector::{Batch, Comparator, Vector, comparator, hash_columns};

/// How an edge distributes rows over its lanes.
#[derive(Clone, Debug)]
pub enum Partitioning {
    /// All rows to lane 0. A reader of many producers takes pages as they come (gather), or merges
    /// sorted ones (merge).
    Gather,
    /// Batches to lanes in turn: any distribution is right.
    Any,
    /// By the hash of these columns: equal keys meet in one lane.
    Hash(Vec<usize>),
    /// By ranges of sort keys: lanes are in the order of keys, equal keys meet in one lane.
    Range(Arc<RangeBounds>),
    /// All rows to every lane.
    Broadcast,
    /// All rows to one lane: that of the task with the same number.
    Forward(usize),
    /// The caller computes the lanes: [`PageSink::push_to`](crate::PageSink::push_to).
    Given,
}

/// The bounds between the lanes of a range partitioning.
#[derive(Debug)]
pub struct RangeBounds {
    keys: Vec<SortKey>,
    bounds: Batch,
}

/// An odd number: the multiplier of edges between tasks. It is another one than that of exchanges
/// between the drivers of a task, so that each splits the rows of a lane evenly.
pub const LANE_MIX: u64 = 0xda94_2042_e4dd_58b5;

impl RangeBounds {
    /// Bounds in the order of `keys`: a row is of lane `k` if `k` bounds are not after it.
    /// `bounds`: one row per bound, one column per key.
    ///
    /// # Errors
    ///
    /// Internal: not one column per key.
    pub fn new(keys: Vec<SortKey>, bounds: Batch) -> Result<RangeBounds> {
        if keys.len() != bounds.columns().len() {
            return Err(Error::internal("bounds of a range need one column per key"));
        }
        Ok(RangeBounds { keys, bounds: bounds.loaded()? })
    }

    fn append(&self, batch: &Batch, out: &mut Vec<u32>) -> Result<()> {
        let comparators = self.keys.iter().zip(self.bounds.columns());
        let comparators = comparators
            .map(|(key, bounds)| Ok((*key, comparator(bounds, batch.column(key.column))?)))
            .collect::<Result<Vec<_>>>()?;
        let is_after = |bound: usize, row: usize| {
            let orders = comparators.iter().map(|(key, it)| order(key, it, bound, row));
            orders.fold(Ordering::Equal, Ordering::then).is_gt()
        };
        for row in 0..batch.rows() {
            // The first bound after the row.
            let (mut low, mut high) = (0, self.bounds.rows());
            while low < high {
                let middle = low + (high - low) / 2;
                if is_after(middle, row) { high = middle } else { low = middle + 1 }
            }
            out.push(low as u32);
        }
        Ok(())
    }
}

/// The order of a bound and a row.
fn order(key: &SortKey, compared: &Comparator, bound: usize, row: usize) -> Ordering {
    let nulls_first = |left: bool, right: bool| match key.nulls_first {
        true => right.cmp(&left),
        false => left.cmp(&right),
    };
    let (left, right) = (compared.left_is_null(bound), compared.right_is_null(row));
    if left || right {
        return nulls_first(left, right);
    }
    let order = compared.compare_valid(bound, row);
    if key.descending { order.reverse() } else { order }
}

/// Computes the lanes of rows.
#[derive(Debug)]
pub struct LaneFunction {
    partitioning: Partitioning,
    lanes: usize,
    /// The lane of the next batch, where lanes are taken in turn.
    next: usize,
    hashes: Vec<u64>,
}

impl LaneFunction {
    /// A partitioning over `lanes` lanes, at least one.
    pub fn new(partitioning: Partitioning, lanes: usize) -> LaneFunction {
        LaneFunction { partitioning, lanes: lanes.max(1), next: 0, hashes: Vec::new() }
    }

    /// The number of lanes.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// Whether every lane has all rows.
    pub fn is_replicated(&self) -> bool {
        matches!(self.partitioning, Partitioning::Broadcast)
    }

    /// Appends the lane of each row of a loaded batch; 0 for a broadcast.
    ///
    /// # Errors
    ///
    /// Internal: a lane beyond the last one.
    pub fn append(&mut self, batch: &Batch, out: &mut Vec<u32>) -> Result<()> {
        let (rows, start) = (batch.rows(), out.len());
        match &self.partitioning {
            Partitioning::Gather | Partitioning::Broadcast => out.resize(start + rows, 0),
            Partitioning::Forward(lane) => out.resize(start + rows, *lane as u32),
            Partitioning::Any => {
                out.resize(start + rows, self.next as u32);
                self.next = (self.next + 1) % self.lanes;
            }
            Partitioning::Hash(keys) => {
                let keys: Vec<Vector> = keys.iter().map(|it| batch.column(*it).clone()).collect();
                self.hashes.resize(rows, 0);
                hash_columns(&keys, &mut self.hashes)?;
                out.resize(start + rows, 0);
                let (_, out) = out.split_at_mut(start);
                lane_of_hashes(&self.hashes, LANE_MIX, self.lanes as u32, out);
            }
            Partitioning::Range(bounds) => bounds.append(batch, out)?,
            Partitioning::Given => {
                return Err(Error::internal("rows without lanes, which the caller computes"));
            }
        }
        self.check(&out[start..])
    }

    /// Appends lanes that the caller computed.
    ///
    /// # Errors
    ///
    /// Internal: a lane beyond the last one.
    pub(crate) fn append_given(&self, lanes: &[u32], out: &mut Vec<u32>) -> Result<()> {
        out.extend_from_slice(lanes);
        self.check(lanes)
    }

    fn check(&self, lanes: &[u32]) -> Result<()> {
        let greatest = volley_kernels::order::max_u32(lanes) as usize;
        if greatest >= self.lanes {
            return Err(Error::internal(format!("lane {greatest} of {}", self.lanes)));
        }
        Ok(())
    }
}
