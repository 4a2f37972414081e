//! Bounds of RANGE frames: where the order key reaches a value.

use super::boundaries::BatchBoundaries;
use std::cmp::Ordering;
use volley_error::{Error, Result};
use volley_function::Ranges;
use volley_vector::{Comparator, Vector, comparator};

/// An end of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Start,
    End,
}

/// A search for the rows of a partition whose key is within a bound.
pub(super) struct ValueSearch<'a> {
    /// The order key, sorted within each partition, its nulls at one end.
    pub key: &'a Vector,
    /// Per row, the value to reach; null where it is beyond all values of the type.
    pub bound: &'a Vector,
    pub descending: bool,
    /// Whether the bound is PRECEDING.
    pub is_before: bool,
    pub side: Side,
    /// The ends of the groups of peers.
    pub groups: &'a [u32],
}

impl ValueSearch<'_> {
    /// The bound of each row: the first row that is in the frame, or the first one after it. The
    /// frame of a row whose key is null ends at its peers. Rows that follow one another have bounds
    /// close to one another, so each search begins where the one before ended.
    ///
    /// # Errors
    ///
    /// A negative offset.
    pub(super) fn positions(&self, batch: &BatchBoundaries, peers: &Ranges) -> Result<Vec<u32>> {
        let search = Search { of: self, comparator: comparator(self.key, self.bound)? };
        let mut positions = Vec::with_capacity(batch.rows.len());
        let mut partition = (0, 0);
        let (mut values, mut hint) = ((0, 0), 0);
        for (index, row) in batch.rows.clone().enumerate() {
            if batch.partitions.get(index) != partition {
                partition = batch.partitions.get(index);
                values = search.values(partition);
                hint = values.0;
            }
            positions.push(if search.comparator.left_is_null(row) {
                let (start, end) = peers.get(index);
                if self.side == Side::Start { start } else { end }
            } else if search.comparator.right_is_null(row) {
                if self.is_before { values.0 } else { values.1 }
            } else {
                search.check_offset(row)?;
                hint = search.first_outside(row, values, hint);
                hint
            });
        }
        Ok(positions)
    }
}

struct Search<'a> {
    of: &'a ValueSearch<'a>,
    /// Of keys with bounds.
    comparator: Comparator,
}

impl Search<'_> {
    /// The rows of a partition whose key is not null.
    fn values(&self, (start, end): (u32, u32)) -> (u32, u32) {
        let ends = self.of.groups;
        let is_null = |row: u32| self.comparator.left_is_null(row as usize);
        let first = match is_null(start) {
            true => ends[ends.partition_point(|it| *it <= start)],
            false => start,
        };
        let last = match is_null(end - 1) {
            true => match ends.partition_point(|it| *it < end) {
                0 => 0,
                group => ends[group - 1],
            },
            false => end,
        };
        (first, last.max(first))
    }

    /// How row `row`'s key compares with the bound of row `of`, in the order of the rows.
    fn compare(&self, row: u32, of: usize) -> Ordering {
        let order = self.comparator.compare_valid(row as usize, of);
        if self.of.descending { order.reverse() } else { order }
    }

    fn check_offset(&self, row: usize) -> Result<()> {
        let order = self.compare(row as u32, row);
        let is_negative = if self.of.is_before { order.is_lt() } else { order.is_gt() };
        if is_negative {
            let error = Error::invalid_value("frame offset is negative");
            return Err(error.hint("PRECEDING and FOLLOWING say the direction"));
        }
        Ok(())
    }

    /// Whether row `row` comes before the bound of row `of`.
    fn is_before(&self, row: u32, of: usize) -> bool {
        let order = self.compare(row, of);
        if self.of.side == Side::Start { order.is_lt() } else { order.is_le() }
    }

    /// The first row of `start..end` that does not come before the bound of row `of`; steps from
    /// `hint` double until the row is between two of them.
    fn first_outside(&self, of: usize, (start, end): (u32, u32), hint: u32) -> u32 {
        let hint = hint.clamp(start, end);
        let (mut low, mut high) = (start, hint);
        let mut step = 1;
        if hint < end && self.is_before(hint, of) {
            low = hint + 1;
            while low + step < end && self.is_before(low + step, of) {
                low += step + 1;
                step *= 2;
            }
            high = low.saturating_add(step).min(end);
        } else {
            while high - start >= step && !self.is_before(high - step, of) {
                high -= step;
                step *= 2;
            }
            low = high.saturating_sub(step).max(low);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.is_before(middle, of) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}
