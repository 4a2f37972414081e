//! Partitioned rows on disk: a run for each partition.
//!
//! ```text
//! write    rows ── hash of the keys ──> one run for each partition that gets rows
//! finish   the runs, to be read partition by partition, or partitioned again by other bits
//! ```
//!
//! Write buffers are the memory that spilling cannot do without: [`partitions_within`] says how
//! many partitions a fraction of the memory limit allows.

use super::{HashSalt, Partitioner};
use crate::spill::{SpillRun, SpillWriter};
use volley_error::Result;
use volley_memory::{Pool, spill::SpillSpace};
use volley_types::Type;
use volley_vector::Batch;

/// Rows of one driver, written by the hash of their keys.
pub struct PartitionedRuns {
    partitioner: Partitioner,
    /// `None` where no row has come.
    writers: Vec<Option<SpillWriter>>,
    space: SpillSpace,
    pool: Pool,
}

/// How many partitions may be written at once so that their buffers take at most 1/`share` of the
/// memory limit of `pool`: from 2 to `partitions_max`.
pub fn partitions_within(pool: &Pool, share: usize, partitions_max: usize) -> usize {
    (pool.limit_bytes() / share.max(1) / SpillWriter::BYTES).clamp(2, partitions_max.max(2))
}

impl PartitionedRuns {
    /// Rows that are split by columns `keys`, to files of `space`. Buffers are charged to `pool`
    /// when the first rows of a partition come.
    pub fn new(
        keys: Vec<usize>,
        partitions: usize,
        salt: HashSalt,
        batch_rows: usize,
        (space, pool): (&SpillSpace, &Pool),
    ) -> PartitionedRuns {
        PartitionedRuns {
            partitioner: Partitioner::new(keys, partitions, salt, batch_rows, pool),
            writers: (0..partitions).map(|_| None).collect(),
            space: space.clone(),
            pool: pool.clone(),
        }
    }

    /// Writes rows to their partitions; some are held back for larger batches.
    ///
    /// # Errors
    ///
    /// I/O; a full disk; out of memory; cancelled; types that have no form on disk.
    pub fn write(&mut self, batch: &Batch) -> Result<()> {
        let split = self.partitioner.split(batch)?;
        self.write_all(split)
    }

    /// Writes rows of one partition.
    ///
    /// # Errors
    ///
    /// As [`PartitionedRuns::write`].
    pub fn write_to(&mut self, partition: usize, rows: &Batch) -> Result<()> {
        let writer = match &mut self.writers[partition] {
            Some(writer) => writer,
            none => {
                let types: Vec<Type> =
                    rows.columns().iter().map(|it| it.data_type().clone()).collect();
                none.insert(SpillWriter::new(&self.space, &types, &self.pool)?)
            }
        };
        writer.write(rows)
    }

    /// Writes what is held back, after the last rows.
    ///
    /// # Errors
    ///
    /// As [`PartitionedRuns::write`].
    pub fn flush(&mut self) -> Result<()> {
        let rest = self.partitioner.finish()?;
        self.write_all(rest)
    }

    fn write_all(&mut self, split: Vec<(usize, Batch)>) -> Result<()> {
        split.iter().try_for_each(|(partition, rows)| self.write_to(*partition, rows))
    }

    /// The first partition that has a run.
    pub fn first_written(&self) -> Option<usize> {
        self.writers.iter().position(Option::is_some)
    }

    /// The run of a partition, if it has one; further rows go to another one. Rows that are held
    /// back are not in it.
    ///
    /// # Errors
    ///
    /// As [`PartitionedRuns::write`].
    pub fn take(&mut self, partition: usize) -> Result<Option<SpillRun>> {
        let writer = self.writers.get_mut(partition).and_then(Option::take);
        writer.map(SpillWriter::finish).transpose()
    }

    /// The runs of all partitions, with what was held back.
    ///
    /// # Errors
    ///
    /// As [`PartitionedRuns::write`].
    pub fn finish(&mut self) -> Result<Vec<Option<SpillRun>>> {
        self.flush()?;
        (0..self.writers.len()).map(|it| self.take(it)).collect()
    }
}
