//! ORDER BY among the arguments of a call: the order in which it sees the rows of a frame.

use super::run::Run;
use std::cmp::Ordering;
use volley_error::Result;
use volley_memory::{Pool, Reservation, check_cancelled};
use volley_plan::SortKey;
use volley_vector::{Comparator, comparator};

/// Where all rows of a run stand in an order of their own, whatever their partitions.
pub(super) struct ArgumentOrder {
    /// Per row, the number of its group of equal keys.
    groups: Vec<u32>,
    /// How many rows are sorted between two checks for cancellation.
    step_rows: usize,
    _charge: Reservation,
}

impl ArgumentOrder {
    /// The order by `keys`; `None` without any.
    pub(super) fn new(keys: &[SortKey], run: &Run, pool: &Pool) -> Result<Option<ArgumentOrder>> {
        if keys.is_empty() {
            return Ok(None);
        }
        let key = |it: &SortKey| {
            let column = run.column(it.column)?;
            Ok((*it, comparator(column, column)?))
        };
        let keys = keys.iter().map(key).collect::<Result<Vec<_>>>()?;
        let rows = run.rows();
        let mut charge = pool.reservation();
        // The rows, and room to merge and for the groups.
        charge.resize(rows * 3 * size_of::<u32>())?;
        let mut sorted: Vec<u32> = (0..rows as u32).collect();
        sort_in_steps(&mut sorted, run.step_rows(), |a, b| compare(&keys, a as usize, b as usize))?;
        let mut groups = vec![0; rows];
        let (mut group, mut before) = (0, None);
        for row in sorted {
            let row = row as usize;
            group += u32::from(before.is_some_and(|it| compare(&keys, it, row).is_ne()));
            groups[row] = group;
            before = Some(row);
        }
        charge.resize(rows * size_of::<u32>())?;
        Ok(Some(ArgumentOrder { groups, step_rows: run.step_rows(), _charge: charge }))
    }

    /// Brings rows into the order; those with equal keys in that of the partition.
    ///
    /// # Errors
    ///
    /// The statement is to stop.
    pub(super) fn sort(&self, rows: &mut [u32]) -> Result<()> {
        let key = |it: u32| (self.group(it), it);
        sort_in_steps(rows, self.step_rows, |a, b| key(a).cmp(&key(b)))
    }

    /// Equal for rows with equal keys, and ascending.
    pub(super) fn group(&self, row: u32) -> u32 {
        self.groups[row as usize]
    }
}

/// Sorts rows, equal ones in any order: short runs, which are then merged, with checks for
/// cancellation between them.
fn sort_in_steps(
    rows: &mut [u32],
    step_rows: usize,
    compare: impl Fn(u32, u32) -> Ordering,
) -> Result<()> {
    for piece in rows.chunks_mut(step_rows) {
        check_cancelled()?;
        piece.sort_unstable_by(|a, b| compare(*a, *b));
    }
    let mut sorted = step_rows;
    let mut merged = if rows.len() > sorted { vec![0; rows.len()] } else { Vec::new() };
    while sorted < rows.len() {
        for (pair, out) in rows.chunks(2 * sorted).zip(merged.chunks_mut(2 * sorted)) {
            let (mut left, mut right) = pair.split_at(sorted.min(pair.len()));
            for part in out.chunks_mut(step_rows) {
                check_cancelled()?;
                for place in part {
                    let from = match (left.first(), right.first()) {
                        (Some(a), Some(b)) if compare(*b, *a).is_lt() => &mut right,
                        (Some(_), _) => &mut left,
                        (None, _) => &mut right,
                    };
                    if let Some((first, rest)) = from.split_first() {
                        (*place, *from) = (*first, rest);
                    }
                }
            }
        }
        rows.copy_from_slice(&merged);
        sorted *= 2;
    }
    Ok(())
}

fn compare(keys: &[(SortKey, Comparator)], a: usize, b: usize) -> Ordering {
    let orders = keys.iter().map(|(key, comparator)| {
        let nulls = (comparator.left_is_null(a), comparator.right_is_null(b));
        match nulls {
            (true, true) => Ordering::Equal,
            (true, false) if key.nulls_first => Ordering::Less,
            (true, false) => Ordering::Greater,
            (false, true) if key.nulls_first => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) if key.descending => comparator.compare_valid(b, a),
            (false, false) => comparator.compare_valid(a, b),
        }
    });
    orders.fold(Ordering::Equal, Ordering::then)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_merged_into_one_order() {
        const STEP_ROWS: usize = 32;
        let mut random = 1u32;
        for len in [0, 1, STEP_ROWS - 1, STEP_ROWS, STEP_ROWS + 1, 5 * STEP_ROWS + 7] {
            let mut next = || {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                random >> 22
            };
            let mut rows: Vec<u32> = (0..len).map(|_| next()).collect();
            let mut expected = rows.clone();
            expected.sort_unstable();
            sort_in_steps(&mut rows, STEP_ROWS, |a, b| a.cmp(&b)).unwrap();
            assert!(rows == expected, "{len}");
        }
    }
}
