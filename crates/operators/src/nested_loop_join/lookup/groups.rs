//! Where build rows of equal keys stand, by a hash of the keys.

use std::{cmp::Ordering, collections::HashMap};
use volley_error::Result;
use volley_vector::{Batch, Comparator, Vector, comparator, hash_columns};

/// Groups of build rows with equal keys.
pub(super) struct Groups {
    /// The probe columns of the keys, and whether nulls are equal.
    keys: Vec<(usize, bool)>,
    /// The places of each group in the order.
    places: Vec<(u32, u32)>,
    /// The keys of each group.
    columns: Vec<Vector>,
    /// By hash, the first group; and for each group, the next one of the same hash.
    heads: HashMap<u64, u32, foldhash::fast::FixedState>,
    next: Vec<Option<u32>>,
}

impl Groups {
    /// The approximate bytes of this number of groups.
    pub(super) const BYTES: usize = 48;

    /// Groups of rows in their order; `sorted`: the build columns of the keys in that order.
    ///
    /// # Errors
    ///
    /// None: columns are loaded.
    pub(super) fn new(keys: Vec<(usize, bool)>, sorted: &[Vector], rows: usize) -> Result<Groups> {
        let same = sorted.iter().map(|it| comparator(it, it)).collect::<Result<Vec<_>>>()?;
        let begins = |row: &usize| *row == 0 || !same.iter().all(|it| equal(it, *row - 1, *row));
        let starts: Vec<u32> = (0..rows).filter(begins).map(|it| it as u32).collect();
        let ends = starts.iter().skip(1).copied().chain([rows as u32]);
        let places: Vec<(u32, u32)> = starts.iter().copied().zip(ends).collect();
        let columns = sorted.iter().map(|it| it.gather(&starts)).collect::<Result<Vec<_>>>()?;
        let mut hashes = vec![0; starts.len()];
        hash_columns(&columns, &mut hashes)?;
        let mut heads = HashMap::default();
        let next = hashes.iter().enumerate().map(|(group, hash)| heads.insert(*hash, group as u32));
        let next = next.collect();
        Ok(Groups { keys, places, columns, heads, next })
    }

    /// Per probe row, the places of build rows with its keys.
    ///
    /// # Errors
    ///
    /// None: columns are loaded.
    pub(super) fn places(&self, probe: &Batch) -> Result<Vec<(u32, u32)>> {
        let keys: Vec<Vector> = self.keys.iter().map(|it| probe.column(it.0).clone()).collect();
        let mut hashes = vec![0; probe.rows()];
        hash_columns(&keys, &mut hashes)?;
        let compared = keys.iter().zip(&self.columns).map(|(own, group)| comparator(own, group));
        let compared = compared.collect::<Result<Vec<_>>>()?;
        let is_null = |row: usize| {
            let mut keys = compared.iter().zip(&self.keys);
            keys.any(|(it, (_, nulls_equal))| !nulls_equal && it.left_is_null(row))
        };
        let find = |(row, hash): (usize, &u64)| {
            let mut group = self.heads.get(hash).copied().filter(|_| !is_null(row));
            while let Some(at) = group {
                if compared.iter().all(|it| equal(it, row, at as usize)) {
                    return self.places[at as usize];
                }
                group = self.next[at as usize];
            }
            (0, 0)
        };
        Ok(hashes.iter().enumerate().map(find).collect())
    }
}

/// Whether a left and a right row are equal, or both null.
fn equal(comparator: &Comparator, left: usize, right: usize) -> bool {
    match (comparator.left_is_null(left), comparator.right_is_null(right)) {
        (false, false) => comparator.compare_valid(left, right) == Ordering::Equal,
        (left, right) => left && right,
    }
}
