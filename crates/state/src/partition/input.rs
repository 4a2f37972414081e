//! Partitions input of any batch size into many partitions.

use super::{HashSalt, Partitioner};
use crate::coalesce::Coalescer;
use volley_error::Result;
use volley_memory::Pool;
use volley_vector::Batch;

/// Rows that are split at a time: with fewer, the pieces would cost more than the rows in them.
const SPLIT_ROWS: usize = 1 << 14;

/// Spreads the rows of one driver over parts: joins batches until splitting them is worth it.
pub struct PartitionBuffer {
    /// Joins input batches; made with the first one.
    joined: Option<Coalescer>,
    partitioner: Partitioner,
    pool: Pool,
}

impl PartitionBuffer {
    /// Splits by columns `keys` into batches of about `batch_rows` rows; what waits is charged to
    /// `pool`.
    pub fn new(keys: Vec<usize>, parts: usize, batch_rows: usize, pool: &Pool) -> PartitionBuffer {
        PartitionBuffer {
            joined: None,
            partitioner: Partitioner::new(keys, parts, HashSalt::Local, batch_rows, pool),
            pool: pool.clone(),
        }
    }

    /// Takes a batch; the batches that it made full, and their parts.
    ///
    /// # Errors
    ///
    /// What a lazy column's loader reports; out of memory; elements of arrays beyond the layout's
    /// 32 bits.
    pub fn split(&mut self, batch: Batch) -> Result<Vec<(usize, Batch)>> {
        let types = || batch.columns().iter().map(|it| it.data_type().clone()).collect();
        let input = match &mut self.joined {
            Some(input) => input,
            None => self.joined.insert(Coalescer::new(types(), SPLIT_ROWS, &self.pool)),
        };
        let joined = input.push(batch.loaded()?)?;
        joined.map_or(Ok(Vec::new()), |it| self.partitioner.split(&it))
    }

    /// What waits, in smaller batches.
    ///
    /// # Errors
    ///
    /// As [`PartitionBuffer::split`].
    pub fn finish(&mut self) -> Result<Vec<(usize, Batch)>> {
        let rest = self.joined.take().map(|mut it| it.flush()).transpose()?.flatten();
        let mut split = rest.map_or(Ok(Vec::new()), |it| self.partitioner.split(&it))?;
        split.extend(self.partitioner.finish()?);
        Ok(split)
    }

    /// Bytes of the rows that wait: to be split, or for more rows of their parts.
    pub fn bytes(&self) -> usize {
        self.joined.as_ref().map_or(0, Coalescer::bytes) + self.partitioner.growing_bytes()
    }
}
