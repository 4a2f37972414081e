//! ORDER BY among the arguments of a call: the order in which it sees the rows of a frame.

use super::run::Run;
use std::cmp::Ordering;
use volley_error::Result;
use volley_memory::{Pool, Reservation};
use volley_plan::SortKey;
use volley_vector::{Comparator, comparator};

/// Where all rows of a run stand in an order of their own, whatever their partitions.
pub(super) struct ArgumentOrder {
    /// Per row, the number of its group of equal keys.
    groups: Vec<u32>,
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
        charge.resize(rows * 2 * size_of::<u32>())?;
        let mut sorted: Vec<u32> = (0..rows as u32).collect();
        sorted.sort_unstable_by(|a, b| compare(&keys, *a as usize, *b as usize));
        let mut groups = vec![0; rows];
        let (mut group, mut before) = (0, None);
        for row in sorted {
            let row = row as usize;
            group += u32::from(before.is_some_and(|it| compare(&keys, it, row).is_ne()));
            groups[row] = group;
            before = Some(row);
        }
        charge.resize(rows * size_of::<u32>())?;
        Ok(Some(ArgumentOrder { groups, _charge: charge }))
    }

    /// Brings rows into the order; those with equal keys in that of the partition.
    pub(super) fn sort(&self, rows: &mut [u32]) {
        rows.sort_unstable_by_key(|it| (self.group(*it), *it));
    }

    /// Equal for rows with equal keys, and ascending.
    pub(super) fn group(&self, row: u32) -> u32 {
        self.groups[row as usize]
    }
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
