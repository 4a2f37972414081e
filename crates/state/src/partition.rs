//! Splits batches by the hash of key columns, column at a time.
//!
//! ```text
//! hashes      one pass per key column
//! partitions  hash -> 0..n by multiply and shift, no division, no branch
//! rows        counting sort of the row numbers by partition
//! columns     few partitions: dictionaries over the input's columns, nothing is copied
//!             many: each value is copied once, to where its partition's next batch grows
//! ```
//!
//! The steps are those of Presto's optimized repartitioning; the range reduction is Lemire's
//! (<https://lemire.me/blog/2016/06/27/a-fast-alternative-to-the-modulo-reduction/>).

mod input;
mod radix;
mod runs;
mod shared_runs;
#[cfg(test)]
mod tests;

pub use input::PartitionBuffer;
pub use radix::{RadixFunction, RadixSort};
pub use runs::{PartitionedRuns, partitions_within};
pub use shared_runs::{PartitionSet, SharedRuns};

use std::collections::HashSet;
use volley_error::Result;
use volley_memory::{Pool, Reservation};
use volley_vector::{Appender, Batch, Picked, ScalarBuffer, Vector, hash_columns};

/// With more partitions than this, pieces are copied: each is so small a part of its batch that
/// holding the whole batch for it would waste memory.
const PARTITIONS_WRAPPED_MAX: usize = 8;

/// Rows that take no more are not wide.
const NARROW_ROW_BYTES: usize = 128;

/// Buffers of narrow rows take at most about this fraction of the memory limit.
const GROWING_SHARE: usize = 32;

/// The initial capacity of a growing batch, in multiples of its first rows: not more, because many
/// partitions of many columns may never be filled.
const ROOM_PIECES: usize = 8;

/// Which bits of hashes choose the partition. Rows that one salt has split are split evenly by
/// the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashSalt {
    /// Drivers behind an exchange.
    Exchange,
    /// Parts of one driver's groups.
    Local,
    /// Files of rows that do not fit in memory, and how often they were partitioned before.
    Spill(u32),
}

/// One driver's splitter.
pub struct Partitioner {
    keys: Vec<usize>,
    partitions: usize,
    salt: HashSalt,
    /// The number of rows of a full batch.
    full_rows: usize,
    /// By partition, the columns of its next batch; none without rows, and when nothing is copied.
    growing: Vec<Vec<Appender>>,
    /// What grows.
    charge: Reservation,
    // Scratch, kept between batches to avoid allocations.
    hashes: Vec<u64>,
    targets: Vec<u32>,
}

impl Partitioner {
    /// Splits by columns `keys` into batches of about `batch_rows` rows; what grows is charged to
    /// `pool`.
    pub fn new(
        keys: Vec<usize>,
        partitions: usize,
        salt: HashSalt,
        batch_rows: usize,
        pool: &Pool,
    ) -> Partitioner {
        let room = pool.limit_bytes() / GROWING_SHARE / NARROW_ROW_BYTES / partitions.max(1);
        Partitioner {
            keys,
            partitions,
            salt,
            full_rows: batch_rows.div_ceil(2).min(room).max(1),
            growing: Vec::new(),
            charge: pool.reservation(),
            hashes: Vec::new(),
            targets: Vec::new(),
        }
    }

    /// The rows of a loaded batch by partition, or the batches that it made full; partitions
    /// without any are missing.
    ///
    /// # Errors
    ///
    /// Out of memory; elements of arrays beyond the layout's 32 bits.
    pub fn split(&mut self, batch: &Batch) -> Result<Vec<(usize, Batch)>> {
        let keys: Vec<Vector> = self.keys.iter().map(|it| batch.column(*it).clone()).collect();
        self.hashes.resize(batch.rows(), 0);
        hash_columns(&keys, &mut self.hashes)?;
        reduce(&self.hashes, self.partitions, self.salt, &mut self.targets);
        let (rows, ends) = rows_by_partition(&self.targets, self.partitions);
        if self.partitions <= PARTITIONS_WRAPPED_MAX {
            return Ok(wrap(batch, &rows.into(), &ends));
        }
        self.copy(batch, &rows, &ends)
    }

    /// What is left, smaller batches among it.
    ///
    /// # Errors
    ///
    /// As [`Partitioner::split`].
    pub fn finish(&mut self) -> Result<Vec<(usize, Batch)>> {
        let mut rest = Vec::new();
        for (partition, columns) in self.growing.drain(..).enumerate() {
            if !columns.is_empty() {
                rest.push((partition, finish(columns)?));
            }
        }
        self.charge.clear();
        Ok(rest)
    }

    /// Bytes of the batches that grow.
    pub fn growing_bytes(&self) -> usize {
        self.charge.bytes()
    }

    fn copy(&mut self, batch: &Batch, rows: &[u32], ends: &[usize]) -> Result<Vec<(usize, Batch)>> {
        self.growing.resize_with(self.partitions, Vec::new);
        for (column, vector) in batch.columns().iter().enumerate() {
            let picked = Picked::new(vector, rows)?;
            for (partition, start, end) in ranges(ends) {
                let growing = &mut self.growing[partition];
                if growing.len() == column {
                    let piece = end - start;
                    let room = (self.full_rows + piece).min(piece * ROOM_PIECES);
                    growing.push(Appender::with_capacity(vector.data_type().clone(), room));
                }
                growing[column].append(&picked, start..end)?;
            }
        }
        let mut full = Vec::new();
        for (partition, ..) in ranges(ends) {
            let rows = self.growing[partition].first().map_or(0, Appender::len);
            if rows >= self.full_rows {
                full.push((partition, finish(std::mem::take(&mut self.growing[partition]))?));
            }
        }
        let shared = self.shared_bytes();
        // Rows that are not wide wait for a full batch: a part of one takes all its room.
        let growing = self.growing.iter().filter_map(|it| it.first());
        let narrow = growing.map(Appender::len).sum::<usize>() * NARROW_ROW_BYTES;
        if shared + self.sum(Appender::bytes) > self.charge.pool().batch_bytes().max(narrow) {
            full.extend(self.finish()?);
        } else {
            self.charge.resize(shared + self.sum(Appender::retained_bytes))?;
        }
        Ok(full)
    }

    fn sum(&self, bytes_of: impl Fn(&Appender) -> usize) -> usize {
        self.growing.iter().flatten().map(bytes_of).sum()
    }

    /// What the columns that grow share with others, once.
    fn shared_bytes(&self) -> usize {
        let (mut shared, mut known) = (0, HashSet::new());
        for column in self.growing.iter().flatten() {
            column.for_each_allocation(&mut |address, bytes| {
                shared += if known.insert(address) { bytes } else { 0 };
            });
        }
        shared
    }
}

/// The partition of each of `rows` rows by the hash of their `keys`.
///
/// # Errors
///
/// What a lazy key's loader reports.
pub fn partitions_of(
    keys: &[Vector],
    rows: usize,
    partitions: usize,
    salt: HashSalt,
) -> Result<Vec<u32>> {
    let (mut hashes, mut targets) = (vec![0; rows], Vec::new());
    hash_columns(keys, &mut hashes)?;
    reduce(&hashes, partitions, salt, &mut targets);
    Ok(targets)
}

/// The rows of a batch by `targets`, which are below `partitions`; partitions without any are
/// missing. Nothing is copied.
pub fn split_by_targets(batch: &Batch, targets: &[u32], partitions: usize) -> Vec<(usize, Batch)> {
    let (rows, ends) = rows_by_partition(targets, partitions);
    wrap(batch, &rows.into(), &ends)
}

/// The batch of a partition.
fn finish(columns: Vec<Appender>) -> Result<Batch> {
    let rows = columns.first().map_or(0, Appender::len);
    let columns = columns.into_iter().map(Appender::finish).collect::<Result<Vec<_>>>()?;
    Ok(Batch::new(columns, rows))
}

/// Maps hashes to `0..partitions`. The hash is mixed once more: hash tables behind the exchange use
/// its own bits, which must not all be alike within a partition.
fn reduce(hashes: &[u64], partitions: usize, salt: HashSalt, targets: &mut Vec<u32>) {
    let mix: u64 = match salt {
        // 2^64 divided by the golden ratio, odd.
        HashSalt::Exchange => 0x9e37_79b9_7f4a_7c15,
        // A constant of splitmix64.
        HashSalt::Local => 0xbf58_476d_1ce4_e5b9,
        // The other one, times powers of a third odd number.
        HashSalt::Spill(level) => {
            0x94d0_49bb_1331_11eb_u64.wrapping_mul(0xd6e8_feb8_6659_fd93_u64.wrapping_pow(level))
        }
    };
    let partitions = partitions as u64;
    targets.clear();
    targets
        .extend(hashes.iter().map(|it| ((it.wrapping_mul(mix) >> 32) * partitions >> 32) as u32));
}

/// Row numbers sorted by partition, and where each partition's end.
fn rows_by_partition(targets: &[u32], partitions: usize) -> (Vec<u32>, Vec<usize>) {
    let mut starts = vec![0usize; partitions + 1];
    for target in targets {
        starts[*target as usize + 1] += 1;
    }
    for partition in 0..partitions {
        starts[partition + 1] += starts[partition];
    }
    // While rows are placed, `starts[p]` moves from the start to the end of partition `p`.
    let mut rows = vec![0u32; targets.len()];
    for (row, target) in targets.iter().enumerate() {
        let place = &mut starts[*target as usize];
        rows[*place] = row as u32;
        *place += 1;
    }
    starts.truncate(partitions);
    (rows, starts)
}

/// Partition, start and end of every partition that has rows.
fn ranges(ends: &[usize]) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
    let start = |partition: usize| if partition == 0 { 0 } else { ends[partition - 1] };
    let all =
        ends.iter().enumerate().map(move |(partition, end)| (partition, start(partition), *end));
    all.filter(|(_, start, end)| start < end)
}

fn wrap(batch: &Batch, rows: &ScalarBuffer<u32>, ends: &[usize]) -> Vec<(usize, Batch)> {
    ranges(ends)
        .map(|(partition, start, end)| match end - start == batch.rows() {
            true => (partition, batch.clone()),
            false => (partition, batch.wrap(&rows.slice(start, end - start))),
        })
        .collect()
}
