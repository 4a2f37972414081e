//! Rows of several drivers by a hash of their keys; some of the partitions are on disk.
//!
//! All drivers write to the same files, one per partition: buffers of writers are the memory that a
//! spilled join cannot do without.

use super::{HashSalt, partitions_of, split_by_targets};
use crate::spill::{SpillRun, SpillWriter};
use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU32, Ordering},
};
use volley_error::{Error, Result};
use volley_memory::{Pool, spill::SpillSpace};
use volley_types::Type;
use volley_vector::{Batch, Decoded, Vector};

/// Some of at most 32 partitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartitionSet(u32);

/// Writes rows whose partitions are on disk; drivers write side by side.
pub struct SharedRuns {
    types: Vec<Type>,
    level: u32,
    /// Keys by which rows whose key is null are not written: they match nothing.
    unmatched_nulls: Vec<usize>,
    space: SpillSpace,
    pool: Pool,
    /// The partitions whose rows are written, as [`PartitionSet`].
    on_disk: AtomicU32,
    /// `None` where a partition is not on disk, and after an error.
    writers: Vec<Mutex<Option<SpillWriter>>>,
    /// The first error, for the other drivers: any driver's error may be reported.
    failure: Mutex<Option<Error>>,
}

impl PartitionSet {
    /// The first `count` partitions, which are at most 32.
    pub fn first(count: usize) -> PartitionSet {
        PartitionSet(((1u64 << count.min(32)) - 1) as u32)
    }

    /// Whether a partition is one of them.
    pub fn contains(self, partition: usize) -> bool {
        self.0 >> partition & 1 == 1
    }

    /// Adds a partition.
    pub fn insert(&mut self, partition: usize) {
        self.0 |= 1 << partition;
    }
}

impl SharedRuns {
    /// Of rows of `types` in `count` partitions, none of them on disk yet; `level`: how often they
    /// were partitioned before. Buffers are charged to `pool`.
    pub fn new(
        types: Vec<Type>,
        (count, level): (usize, u32),
        space: &SpillSpace,
        pool: &Pool,
    ) -> SharedRuns {
        SharedRuns {
            types,
            level,
            unmatched_nulls: Vec::new(),
            space: space.clone(),
            pool: pool.clone(),
            on_disk: AtomicU32::new(0),
            writers: (0..count).map(|_| Mutex::default()).collect(),
            failure: Mutex::default(),
        }
    }

    /// How many partitions there are.
    pub fn count(&self) -> usize {
        self.writers.len()
    }

    /// The partition of every row by its keys.
    ///
    /// # Errors
    ///
    /// What a lazy key's loader reports.
    pub fn partitions(&self, keys: &[Vector], rows: usize) -> Result<Vec<u32>> {
        partitions_of(keys, rows, self.count(), HashSalt::Spill(self.level))
    }

    /// Opens all partitions.
    ///
    /// # Errors
    ///
    /// As [`SpillWriter::new`].
    pub fn open_all(&self) -> Result<()> {
        self.open(PartitionSet::first(self.count()))
    }

    /// Writes no rows with a null in one of `keys`.
    pub fn without_nulls(mut self, keys: Vec<usize>) -> SharedRuns {
        self.unmatched_nulls = keys;
        self
    }

    /// The partitions whose rows are written.
    pub fn on_disk(&self) -> PartitionSet {
        PartitionSet(self.on_disk.load(Ordering::Acquire))
    }

    /// From now on, rows of these partitions are written, too.
    ///
    /// # Errors
    ///
    /// As [`SpillWriter::new`].
    pub fn open(&self, partitions: PartitionSet) -> Result<()> {
        for partition in (0..self.count()).filter(|it| partitions.contains(*it)) {
            let mut slot = lock(&self.writers[partition]);
            if !self.on_disk().contains(partition) {
                *slot = Some(SpillWriter::new(&self.space, &self.types, &self.pool)?);
                self.on_disk.fetch_or(1 << partition, Ordering::Release);
            }
        }
        Ok(())
    }

    /// Writes the rows of a batch, by their `keys`, which stand beside it, whose partitions are on
    /// disk; the others, which may be rows without a match.
    ///
    /// # Errors
    ///
    /// As [`SpillWriter::write`], also when another driver came across it.
    pub fn write(&self, batch: &Batch, keys: &[Vector]) -> Result<Option<Batch>> {
        let on_disk = self.on_disk();
        let mut targets = self.partitions(keys, batch.rows())?;
        for target in targets.iter_mut().filter(|it| !on_disk.contains(**it as usize)) {
            *target = self.count() as u32;
        }
        for key in &self.unmatched_nulls {
            let decoded = Decoded::new(&keys[*key])?;
            let Some(nulls) = decoded.nulls() else { continue };
            let rows = targets.iter_mut().enumerate().filter(|(row, _)| nulls.is_null(*row));
            rows.for_each(|(_, target)| *target = self.count() as u32);
        }
        let mut others = None;
        for (partition, rows) in split_by_targets(batch, &targets, self.count() + 1) {
            match self.writers.get(partition) {
                Some(slot) => self.write_to(slot, &rows)?,
                None => others = Some(rows),
            }
        }
        Ok(others)
    }

    fn write_to(&self, slot: &Mutex<Option<SpillWriter>>, rows: &Batch) -> Result<()> {
        let mut slot = lock(slot);
        let mut writer = slot.take().ok_or_else(|| self.failure())?;
        writer.write(rows).inspect_err(|it| self.fail(it))?;
        *slot = Some(writer);
        Ok(())
    }

    /// The runs of the partitions on disk, which are complete.
    ///
    /// # Errors
    ///
    /// As [`SpillWriter::finish`].
    pub fn finish(&self) -> Result<Vec<Option<SpillRun>>> {
        let finish = |partition: usize| {
            if !self.on_disk().contains(partition) {
                return Ok(None);
            }
            let writer = lock(&self.writers[partition]).take();
            let run = writer.ok_or_else(|| self.failure())?.finish();
            run.inspect_err(|it| self.fail(it)).map(Some)
        };
        (0..self.count()).map(finish).collect()
    }

    fn fail(&self, error: &Error) {
        lock(&self.failure).get_or_insert_with(|| error.clone());
    }

    /// The error that another driver came across.
    fn failure(&self) -> Error {
        let unknown = || Error::internal("a partition is written after its run was finished");
        lock(&self.failure).clone().unwrap_or_else(unknown)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
