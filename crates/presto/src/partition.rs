//! Which partition of the output a row goes to.

#[cfg(test)]
mod tests;

use crate::partition_hash::{bucket_of, combine_hashes};
use volley_error::{Error, Result};
use volley_types::{Type, Value};
use volley_vector::{Batch, ScalarBuffer, Vector};

/// The output partitioning of a fragment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OutputPartitioning {
    pub function: PartitionFunction,
    /// The partition of each bucket; `None`: bucket and partition are the same.
    pub bucket_to_partition: Option<Vec<u32>>,
    /// Whether rows with a null key, and at least one row, go to all partitions
    /// (`replicateNullsAndAny`).
    pub replicates_nulls_and_any: bool,
}

/// How a row finds its bucket.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PartitionFunction {
    /// There is one bucket.
    Single,
    /// By Presto's hash of these keys.
    Hash(Vec<PartitionKey>),
    /// Rows in turn.
    RoundRobin,
}

/// A key of a partitioning.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum PartitionKey {
    /// A column of the output.
    Column(usize),
    Constant(Value, Type),
}

/// Rows, and the partition of each.
#[derive(Debug)]
pub(crate) struct PartitionedRows {
    pub batch: Batch,
    pub partitions: Vec<u32>,
}

/// Finds the partitions of the rows of one driver.
pub(crate) struct RowPartitioner {
    function: PartitionFunction,
    /// The partition of each bucket.
    buckets: Vec<u32>,
    partitions: u32,
    replicates_nulls: bool,
    /// Whether the next row must go to all partitions.
    replicates_next: bool,
    /// The bucket of the next row, where rows take turns.
    next_bucket: usize,
}

impl OutputPartitioning {
    /// All rows in one partition.
    pub(crate) fn single() -> OutputPartitioning {
        OutputPartitioning {
            function: PartitionFunction::Single,
            bucket_to_partition: None,
            replicates_nulls_and_any: false,
        }
    }

    /// The partitioner over `partitions` partitions.
    ///
    /// # Errors
    ///
    /// Invalid value: no bucket, or a bucket of a partition that does not exist.
    pub(crate) fn partitioner(&self, partitions: usize) -> Result<RowPartitioner> {
        let count = u32::try_from(partitions.max(1))
            .map_err(|_| Error::invalid_value("too many output partitions"))?;
        let buckets = match &self.bucket_to_partition {
            Some(buckets) => buckets.clone(),
            None => (0..count).collect(),
        };
        let is_right = !buckets.is_empty() && buckets.iter().all(|it| *it < count);
        if !is_right && self.function != PartitionFunction::Single {
            let message = format!("output buckets {buckets:?} of {count} partitions");
            return Err(Error::invalid_value(message));
        }
        Ok(RowPartitioner {
            function: self.function.clone(),
            buckets,
            partitions: count,
            replicates_nulls: self.replicates_nulls_and_any,
            replicates_next: self.replicates_nulls_and_any,
            next_bucket: 0,
        })
    }
}

impl RowPartitioner {
    /// The number of partitions.
    pub(crate) fn partitions(&self) -> usize {
        self.partitions as usize
    }

    /// The partition of each row of a loaded batch. Rows that go to all partitions are repeated at
    /// the end.
    ///
    /// # Errors
    ///
    /// Internal: a key that is no column.
    pub(crate) fn partition(&mut self, batch: Batch) -> Result<PartitionedRows> {
        let rows = batch.rows();
        let partitions = match &self.function {
            PartitionFunction::Single => vec![0; rows],
            PartitionFunction::RoundRobin => self.in_turn(rows),
            PartitionFunction::Hash(keys) => self.by_hash(&batch, keys)?,
        };
        if !self.replicates_nulls {
            return Ok(PartitionedRows { batch, partitions });
        }
        self.replicate(batch, partitions)
    }

    fn in_turn(&mut self, rows: usize) -> Vec<u32> {
        let first = self.next_bucket;
        self.next_bucket = (first + rows) % self.buckets.len().max(1);
        self.buckets.iter().copied().cycle().skip(first).take(rows).collect()
    }

    fn by_hash(&self, batch: &Batch, keys: &[PartitionKey]) -> Result<Vec<u32>> {
        let mut hashes = vec![0; batch.rows()];
        for key in keys {
            combine_hashes(&key.column(batch)?, &mut hashes)?;
        }
        let count = self.buckets.len() as u32;
        let partition = |hash: &u64| self.buckets.get(bucket_of(*hash, count) as usize).copied();
        Ok(hashes.iter().map(|it| partition(it).unwrap_or(0)).collect())
    }

    /// Repeats rows with a null in the first key, and the first row of all, for other partitions.
    fn replicate(&mut self, batch: Batch, mut partitions: Vec<u32>) -> Result<PartitionedRows> {
        let PartitionFunction::Hash(keys) = &self.function else {
            return Ok(PartitionedRows { batch, partitions });
        };
        let Some(key) = keys.first() else { return Ok(PartitionedRows { batch, partitions }) };
        let column = key.column(&batch)?;
        let decoded = volley_vector::Decoded::new(&column)?;
        let mut codes: Vec<u32> = (0..batch.rows() as u32).collect();
        for row in 0..batch.rows() {
            let is_next = std::mem::replace(&mut self.replicates_next, false);
            if !is_next && !decoded.is_null(row) {
                continue;
            }
            let own = partitions.get(row).copied();
            for partition in (0..self.partitions).filter(|it| Some(*it) != own) {
                codes.push(row as u32);
                partitions.push(partition);
            }
        }
        let batch = match codes.len() == batch.rows() {
            true => batch,
            false => batch.wrap(&ScalarBuffer::from(codes)),
        };
        Ok(PartitionedRows { batch, partitions })
    }
}

impl PartitionKey {
    fn column(&self, batch: &Batch) -> Result<Vector> {
        match self {
            PartitionKey::Column(position) => {
                let column = batch.columns().get(*position).cloned();
                column.ok_or_else(|| Error::internal("a partition key beyond the columns"))
            }
            PartitionKey::Constant(value, data_type) => {
                Ok(Vector::constant(data_type.clone(), value, batch.rows()))
            }
        }
    }
}
