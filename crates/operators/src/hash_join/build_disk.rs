//! The partitions of a build side that are on disk while rows come.
//!
//! A driver that is to give memory back chooses partitions, the largest first, until a part of its
//! rows is in partitions on disk; it writes these rows, and makes the others anew. Other drivers
//! that come across the new partitions write new rows of theirs as well; those that they hold
//! already go when they are asked in turn, or at the end.

use super::{HashJoinSpec, shared::BuildPart};
use crate::dynamic_filters::JoinFilterSetter;
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};
use volley_error::Result;
use volley_expression::filter::{KeyFilter, KeyFilterBuilder};
use volley_memory::{Pool, Reservation, spill::SpillSpace};
use volley_state::{hash_table::KeyRange, partition::SharedRuns};
use volley_vector::{Batch, Decoded};

/// The minimum fraction of its rows that a driver spills when it is asked. A greater one leaves
/// memory unused, a smaller one moves the other rows more often.
pub(super) const GIVEN_BACK: (usize, usize) = (1, 2);

/// The part of the memory for giving memory back that a filter of keys may take.
const FILTER_SHARE: usize = 8;

/// A row in memory takes at least this much, with its index.
const ROW_BYTES_MIN: usize = 32;

/// What drivers of a build side write.
pub(super) struct BuildDisk {
    pub(super) writers: SharedRuns,
    keys: Vec<SpilledKey>,
    /// What the rows took that were in memory before, and how many they were.
    memory_bytes: AtomicUsize,
    memory_rows: AtomicUsize,
}

/// What is known of the values of a key that scans are to be filtered by.
struct SpilledKey {
    /// Which key of the join.
    key: usize,
    /// Of all values, how many these are, and the filter's memory.
    known: Mutex<(KeyRange, usize, Reservation)>,
    /// None where memory is too short.
    filter: Option<KeyFilterBuilder>,
}

impl BuildDisk {
    /// No partition is on disk yet. The build side has about `rows` rows so far.
    pub(super) fn new(
        spec: &HashJoinSpec,
        filters: &[JoinFilterSetter],
        rows: usize,
        (space, pool): (&SpillSpace, &Pool),
    ) -> BuildDisk {
        let types = spec.columns(spec.build_keys.len());
        BuildDisk {
            writers: SharedRuns::new(types, (spec.sizes.join_partitions, 0), space, pool),
            keys: filters.iter().map(|it| SpilledKey::new(it.key, rows, pool)).collect(),
            memory_bytes: AtomicUsize::new(0),
            memory_rows: AtomicUsize::new(0),
        }
    }

    /// Chooses more partitions to be on disk, where need be: a part of the rows of `parts` is in
    /// partitions on disk after that.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn choose<'a>(&self, parts: impl Iterator<Item = &'a mut BuildPart>) -> Result<()> {
        let mut rows = vec![0; self.writers.count()];
        for part in parts {
            part.rows.sample_keys(|keys, count| {
                let targets = self.writers.partitions(keys, count)?;
                targets.iter().for_each(|it| rows[*it as usize] += 1);
                Ok(())
            })?;
        }
        let total: usize = rows.iter().sum();
        let mut on_disk = self.writers.on_disk();
        let is_on_disk = |it: &usize| on_disk.contains(*it);
        let (known, mut others): (Vec<usize>, Vec<usize>) =
            (0..rows.len()).filter(|it| rows[*it] > 0).partition(is_on_disk);
        let mut gone: usize = known.iter().map(|it| rows[*it]).sum();
        others.sort_by_key(|it| std::cmp::Reverse(rows[*it]));
        for partition in others {
            if gone * GIVEN_BACK.1 >= total * GIVEN_BACK.0 {
                break;
            }
            gone += rows[partition];
            on_disk.insert(partition);
        }
        self.writers.open(on_disk)
    }

    /// Takes note of the keys of rows, which come once each; of all rows in the end.
    ///
    /// # Errors
    ///
    /// None: keys are loaded.
    pub(super) fn add_keys(&self, batch: &Batch) -> Result<()> {
        self.keys.iter().try_for_each(|it| it.add(batch))
    }

    /// Writes the rows whose partitions are on disk; the others.
    ///
    /// # Errors
    ///
    /// As [`SharedRuns::write`].
    pub(super) fn write(&self, spec: &HashJoinSpec, batch: &Batch) -> Result<Option<Batch>> {
        self.writers.write(batch, &batch.columns()[..spec.partition_keys()])
    }

    /// Takes note of what rows take that are moved.
    pub(super) fn add_memory(&self, rows: usize, bytes: usize) {
        self.memory_rows.fetch_add(rows, Ordering::Relaxed);
        self.memory_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// What a row takes in memory, index included, on average.
    pub(super) fn row_bytes(&self) -> usize {
        let rows = self.memory_rows.load(Ordering::Relaxed).max(1);
        (self.memory_bytes.load(Ordering::Relaxed) / rows).max(ROW_BYTES_MIN)
    }

    /// The filters asked for, once all rows have been noted.
    pub(super) fn filters(&self) -> Vec<Arc<KeyFilter>> {
        self.keys.iter().map(|it| Arc::new(it.finish())).collect()
    }
}

impl SpilledKey {
    fn new(key: usize, rows: usize, pool: &Pool) -> SpilledKey {
        // A smaller one lets more through.
        let bytes_max = pool.headroom_bytes() / FILTER_SHARE;
        let keys = rows.min(KeyFilterBuilder::bloom_keys_in(bytes_max));
        let mut charge = pool.reservation();
        let fits = charge.resize(KeyFilterBuilder::bytes_for_bloom(keys)).is_ok();
        let filter = fits.then(|| KeyFilterBuilder::bloom(keys));
        SpilledKey { key, known: Mutex::new((KeyRange::EMPTY, 0, charge)), filter }
    }

    fn add(&self, batch: &Batch) -> Result<()> {
        let decoded = Decoded::new(batch.column(self.key))?;
        if let Some(filter) = &self.filter {
            filter.insert(&decoded);
        }
        let range = KeyRange::of(&decoded);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.0 = known.0.union(range);
        known.1 += batch.rows();
        Ok(())
    }

    fn finish(&self) -> KeyFilter {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (range, rows, charge) = &mut *known;
        // What is given to scans is a copy.
        let bytes = charge.bytes();
        match self.filter.as_ref().filter(|_| charge.grow(bytes).is_ok()) {
            Some(filter) => filter.finish_bloom(range.min, range.max, *rows),
            None => KeyFilter::range(range.min, range.max),
        }
    }
}
