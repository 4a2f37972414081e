//! USING KEY: a recursion that keeps the last row of each key, and emits these rows at its end.
//!
//! ```text
//! batches    all rows that are the last of a key, and some that were
//! latest     for each key, in the order in which keys came: the batch and the row
//! by_hash    hashes of keys to positions in `latest`
//! ```
//!
//! The rows must fit in memory. Batches are written anew when fewer than half of their rows are the
//! last of a key, so that an iteration costs as much as its own rows.

use std::collections::HashMap;
use volley_error::{Error, Result};
use volley_memory::{Pool, Reservation, check_cancelled};
use volley_types::Type;
use volley_vector::{Batch, Comparator, Vector, comparator, hash_columns};

/// Rows that are no longer the last of a key may be this many without being dropped.
const STALE_ROWS: usize = 1 << 12;

/// The last row of each key.
pub(super) struct KeyedRows {
    /// The columns of the key.
    keys: Vec<usize>,
    types: Vec<Type>,
    /// UNION without ALL: a row that is equal to the last one of its key is no change.
    distinct: bool,
    batches: Vec<Batch>,
    stored_rows: usize,
    latest: Vec<(u32, u32)>,
    by_hash: HashMap<u64, Vec<u32>>,
    /// For each key, the iteration that changed it last, from 1 on.
    changed_in: Vec<u32>,
    iteration: u32,
    /// The keys that this iteration changed, in the order of their first change.
    changed: Vec<u32>,
    charge: Reservation,
}

impl KeyedRows {
    /// None yet, of `types`; charged to `pool`.
    pub(super) fn new(keys: &[usize], types: &[Type], distinct: bool, pool: &Pool) -> KeyedRows {
        KeyedRows {
            keys: keys.to_vec(),
            types: types.to_vec(),
            distinct,
            batches: Vec::new(),
            stored_rows: 0,
            latest: Vec::new(),
            by_hash: HashMap::new(),
            changed_in: Vec::new(),
            iteration: 1,
            changed: Vec::new(),
            charge: pool.reservation(),
        }
    }

    /// Takes rows of an iteration: each replaces the row of its key.
    ///
    /// # Errors
    ///
    /// Out of memory; cancelled; what a lazy vector's loader reports.
    pub(super) fn insert(&mut self, batch: &Batch) -> Result<()> {
        check_cancelled()?;
        let columns = batch.columns().iter().map(|it| it.flatten()).collect::<Result<Vec<_>>>()?;
        let batch = Batch::new(columns, batch.rows());
        self.charge.grow(batch.retained_bytes() + batch.rows() * size_of::<[u64; 6]>())?;
        let keys: Vec<Vector> =
            self.keys.iter().filter_map(|it| batch.columns().get(*it).cloned()).collect();
        let mut hashes = vec![0; batch.rows()];
        hash_columns(&keys, &mut hashes)?;
        let own = u32::try_from(self.batches.len()).map_err(|_| Error::internal("batches"))?;
        self.stored_rows += batch.rows();
        self.batches.push(batch.clone());
        let mut compared: HashMap<u32, Vec<Comparator>> = HashMap::new();
        for (row, hash) in hashes.into_iter().enumerate() {
            self.insert_row(&batch, (own, row as u32), hash, &mut compared)?;
        }
        Ok(())
    }

    fn insert_row(
        &mut self,
        batch: &Batch,
        at: (u32, u32),
        hash: u64,
        compared: &mut HashMap<u32, Vec<Comparator>>,
    ) -> Result<()> {
        let candidates = self.by_hash.entry(hash).or_default();
        let mut found = None;
        for key in candidates.iter() {
            let Some((other, row)) = self.latest.get(*key as usize).copied() else { continue };
            if let std::collections::hash_map::Entry::Vacant(entry) = compared.entry(other) {
                let columns = self.batches.get(other as usize).map_or(&[][..], |it| it.columns());
                let both = batch.columns().iter().zip(columns);
                entry.insert(both.map(|(a, b)| comparator(a, b)).collect::<Result<_>>()?);
            }
            let comparators = compared.get(&other).map_or(&[][..], Vec::as_slice);
            let is_equal = |it: &Comparator| is_equal(it, at.1 as usize, row as usize);
            if self.keys.iter().filter_map(|it| comparators.get(*it)).all(is_equal) {
                found = Some((*key, comparators.iter().all(is_equal)));
                break;
            }
        }
        match found {
            Some((_, true)) if self.distinct => return Ok(()),
            Some((key, _)) => {
                self.latest[key as usize] = at;
                if std::mem::replace(&mut self.changed_in[key as usize], self.iteration)
                    != self.iteration
                {
                    self.changed.push(key);
                }
            }
            None => {
                let key = self.latest.len() as u32;
                candidates.push(key);
                self.latest.push(at);
                self.changed_in.push(self.iteration);
                self.changed.push(key);
            }
        }
        Ok(())
    }

    /// Ends an iteration; the rows of the keys that it changed.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn finish_iteration(&mut self) -> Result<Vec<Batch>> {
        let changed = std::mem::take(&mut self.changed);
        self.iteration += 1;
        let places = changed.iter().filter_map(|it| self.latest.get(*it as usize).copied());
        let places: Vec<(u32, u32)> = places.collect();
        // Rows of one batch at a time, in the order of their changes within it.
        let mut by_batch: Vec<(u32, Vec<u32>)> = Vec::new();
        for (batch, row) in places {
            match by_batch.last_mut().filter(|it| it.0 == batch) {
                Some((_, rows)) => rows.push(row),
                None => by_batch.push((batch, vec![row])),
            }
        }
        let rows = by_batch
            .into_iter()
            .filter_map(|(batch, rows)| Some(self.batches.get(batch as usize)?.gather(&rows)));
        let rows = rows.collect::<Result<Vec<_>>>()?;
        if self.stored_rows > 2 * self.latest.len() + STALE_ROWS {
            self.compact()?;
        }
        Ok(rows)
    }

    /// The last row of each key, in the order in which keys came, as one batch.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn all(&mut self) -> Result<Option<Batch>> {
        self.compact()?;
        Ok(self.batches.first().filter(|it| it.rows() > 0).cloned())
    }

    fn compact(&mut self) -> Result<()> {
        let mut begins = Vec::with_capacity(self.batches.len());
        let mut begin = 0_u32;
        for batch in &self.batches {
            begins.push(begin);
            begin += batch.rows() as u32;
        }
        let row = |(batch, row): &(u32, u32)| begins.get(*batch as usize).map(|it| it + row);
        let rows: Vec<u32> = self.latest.iter().filter_map(row).collect();
        let bytes: usize = self.batches.iter().map(Batch::retained_bytes).sum();
        self.charge.grow(bytes)?;
        let all = Batch::concat(&self.types, &self.batches)?.gather(&rows)?;
        let columns = all.columns().iter().map(|it| it.flatten()).collect::<Result<Vec<_>>>()?;
        let all = Batch::new(columns, all.rows());
        self.charge.resize(all.retained_bytes() + all.rows() * size_of::<[u64; 6]>())?;
        self.stored_rows = all.rows();
        self.latest = (0..all.rows() as u32).map(|it| (0, it)).collect();
        self.batches = vec![all];
        Ok(())
    }
}

/// Whether two rows of a column are the same; nulls are.
fn is_equal(comparator: &Comparator, left: usize, right: usize) -> bool {
    match (comparator.left_is_null(left), comparator.right_is_null(right)) {
        (false, false) => comparator.compare_valid(left, right).is_eq(),
        (left, right) => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_types::Value;

    fn batch(rows: &[(Option<i64>, i64)]) -> Batch {
        let value = |it: Option<i64>| it.map_or(Value::Null, Value::BigInt);
        let keys: Vec<Value> = rows.iter().map(|it| value(it.0)).collect();
        let values: Vec<Value> = rows.iter().map(|it| Value::BigInt(it.1)).collect();
        let column = |it: &[Value]| Vector::from_values(Type::BigInt, it);
        Batch::new(vec![column(&keys), column(&values)], rows.len())
    }

    fn values(batches: &[Batch]) -> Vec<(Value, Value)> {
        let rows = batches.iter().flat_map(|batch| {
            let columns: Vec<Vec<Value>> =
                batch.columns().iter().map(|it| it.to_values().unwrap()).collect();
            columns[0].clone().into_iter().zip(columns[1].clone())
        });
        rows.collect()
    }

    fn expected(rows: &[(Option<i64>, i64)]) -> Vec<(Value, Value)> {
        let value = |it: Option<i64>| it.map_or(Value::Null, Value::BigInt);
        rows.iter().map(|it| (value(it.0), Value::BigInt(it.1))).collect()
    }

    #[test]
    fn the_last_row_of_a_key_stays() {
        let pool = Pool::root("test", None);
        let types = [Type::BigInt, Type::BigInt];
        for distinct in [true, false] {
            let mut rows = KeyedRows::new(&[0], &types, distinct, &pool);
            rows.insert(&batch(&[(Some(1), 1), (Some(2), 2), (None, 3), (Some(1), 4)])).unwrap();
            let changed = rows.finish_iteration().unwrap();
            let all = [(Some(1), 4), (Some(2), 2), (None, 3)];
            assert_eq!(values(&changed), expected(&all));
            rows.insert(&batch(&[(None, 3), (Some(3), 0), (Some(2), 7)])).unwrap();
            let changed = rows.finish_iteration().unwrap();
            let new = [(None, 3), (Some(3), 0), (Some(2), 7)];
            assert_eq!(values(&changed), expected(&new[usize::from(distinct)..]));
            let all: Vec<Batch> = rows.all().unwrap().into_iter().collect();
            let last = [(Some(1), 4), (Some(2), 7), (None, 3), (Some(3), 0)];
            assert_eq!(values(&all), expected(&last));
        }
    }

    #[test]
    fn many_changes_of_few_keys_take_little_memory() {
        let pool = Pool::root("test", Some(4 << 20));
        let types = [Type::BigInt, Type::BigInt];
        let mut rows = KeyedRows::new(&[0], &types, true, &pool);
        for round in 0..3_000_i64 {
            let new: Vec<(Option<i64>, i64)> = (0..50).map(|it| (Some(it), round)).collect();
            rows.insert(&batch(&new)).unwrap();
            assert_eq!(values(&rows.finish_iteration().unwrap()).len(), 50);
        }
        assert_eq!(rows.all().unwrap().unwrap().rows(), 50);
        assert!(rows.all().unwrap().is_some());
        let empty = KeyedRows::new(&[0], &types, true, &pool).all().unwrap();
        assert!(empty.is_none());
    }
}
