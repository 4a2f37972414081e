//! More groups than the caches hold: rows are partitioned by the hash of their keys, and grouped
//! partition by partition.
//!
//! ```text
//! table       outgrows the caches, and most rows begin a group ──> its groups go to partitions
//! batch       rows wait in their partitions
//! partition   has many more rows than groups ──> grouped: its groups wait instead
//! the end     partition after partition: grouped in the table, emitted
//! ```
//!
//! A row is copied twice, but found in a cache; and rows are smaller than states, of which only one
//! part's take memory at a time.

use volley_error::Result;
use volley_memory::Pool;
use volley_state::{
    BatchCharge, StateSizes,
    partition::{HashSalt, PartitionBuffer, Partitioner},
};
use volley_vector::Batch;

/// The parts, a power of two. Tables of this share of the groups fit the caches for some ten
/// million groups.
pub(super) const PARTS: usize = 64;

/// Rows of a part that are grouped early for each of its groups: those are taken out and put in
/// again, and their memory is cleared, which takes as long as to find them for some rows.
const ROWS_PER_GROUP: usize = 4;

/// When grouping a part early left more than this share of its rows, 3 of 4, such parts
const LEFT_SHARE: (usize, usize) = (3, 4);

/// wait for this many times the rows.
const WAIT_FACTOR: usize = 4;

/// Decides whether groups are spread.
#[derive(Debug)]
pub(super) struct RadixPolicy {
    /// Groups when the table was looked at last, and rows since.
    groups: usize,
    rows_since: usize,
    /// The table is looked at when it has this many bytes.
    due_bytes: usize,
}

/// Rows and groups by part.
pub(super) struct RadixPartitions {
    rows: PartitionBuffer,
    groups: Partitioner,
    parts: Vec<Part>,
    charge: BatchCharge,
    /// Rows after which a part is grouped early, and the least that this can be.
    part_rows: usize,
    part_rows_min: usize,
    /// A part that is due.
    due: Option<usize>,
}

/// What waits in a part.
#[derive(Default)]
struct Part {
    /// Keys and intermediate results, and how many.
    groups: Vec<Batch>,
    group_count: usize,
    /// Input rows, and how many.
    rows: Vec<Batch>,
    row_count: usize,
}

/// A batch of a part.
pub(super) enum Waiting {
    /// Keys and intermediate results.
    Groups(Batch),
    /// Input.
    Rows(Batch),
}

impl RadixPolicy {
    /// For tables that outgrow the caches with more than `table_bytes`.
    pub(super) fn new(table_bytes: usize) -> RadixPolicy {
        RadixPolicy { groups: 0, rows_since: 0, due_bytes: table_bytes }
    }

    /// Whether to spread a table of `groups` groups and `bytes` bytes after `rows` more rows: when
    /// most of the rows since the last look began a group.
    pub(super) fn wants_partitions(&mut self, rows: usize, groups: usize, bytes: usize) -> bool {
        self.rows_since += rows;
        if bytes <= self.due_bytes {
            return false;
        }
        let is_mostly_new = (groups - self.groups) * 2 > self.rows_since;
        self.due_bytes = bytes * 2;
        (self.groups, self.rows_since) = (groups, 0);
        is_mostly_new
    }
}

impl RadixPartitions {
    /// `keys`: the key columns of input rows; those of groups come first.
    pub(super) fn new(
        keys: &[usize],
        batch_rows: usize,
        sizes: StateSizes,
        pool: &Pool,
    ) -> RadixPartitions {
        let group_keys = (0..keys.len()).collect();
        RadixPartitions {
            rows: PartitionBuffer::new(keys.to_vec(), PARTS, batch_rows, pool),
            groups: Partitioner::new(group_keys, PARTS, HashSalt::Local, batch_rows, pool),
            parts: (0..PARTS).map(|_| Part::default()).collect(),
            charge: BatchCharge::new(pool),
            part_rows: sizes.group_early_rows,
            part_rows_min: sizes.group_early_rows,
            due: None,
        }
    }

    /// Takes a batch of input.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn push_rows(&mut self, batch: Batch) -> Result<()> {
        for (part, batch) in self.rows.split(batch)? {
            self.add_rows(part, batch)?;
        }
        Ok(())
    }

    /// Takes groups with their keys and intermediate results.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn push_groups(&mut self, batch: &Batch) -> Result<()> {
        for (part, batch) in self.groups.split(batch)? {
            self.add_groups(part, batch)?;
        }
        Ok(())
    }

    /// Takes what the partitioners hold, after the last batch.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn finish(&mut self) -> Result<()> {
        for (part, batch) in self.rows.finish()? {
            self.add_rows(part, batch)?;
        }
        for (part, batch) in self.groups.finish()? {
            self.add_groups(part, batch)?;
        }
        self.due = None;
        Ok(())
    }

    fn add_rows(&mut self, index: usize, batch: Batch) -> Result<()> {
        let batch = self.charge.keep(batch)?;
        let part = &mut self.parts[index];
        part.row_count += batch.rows();
        part.rows.push(batch);
        if part.row_count >= self.part_rows.max(part.group_count * ROWS_PER_GROUP) {
            self.due = Some(index);
        }
        Ok(())
    }

    /// Puts groups into a part.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn add_groups(&mut self, index: usize, batch: Batch) -> Result<()> {
        self.charge.add(&batch)?;
        let part = &mut self.parts[index];
        part.group_count += batch.rows();
        part.groups.push(batch);
        Ok(())
    }

    /// Bytes of what waits.
    pub(super) fn bytes(&self) -> usize {
        self.charge.bytes() + self.rows.bytes() + self.groups.growing_bytes()
    }

    /// A part that is to be grouped early.
    pub(super) fn take_due(&mut self) -> Option<usize> {
        self.due.take()
    }

    /// The next batch of a part, which leaves it; `None` when it is empty.
    pub(super) fn pop(&mut self, index: usize) -> Option<Waiting> {
        let part = self.parts.get_mut(index)?;
        let (batch, waiting) = match part.groups.pop() {
            Some(batch) => {
                part.group_count -= batch.rows();
                (batch.clone(), Waiting::Groups(batch))
            }
            None => {
                let batch = part.rows.pop()?;
                part.row_count -= batch.rows();
                (batch.clone(), Waiting::Rows(batch))
            }
        };
        self.charge.remove(&batch);
        Some(waiting)
    }

    /// How many rows and groups wait in a part.
    pub(super) fn waiting(&self, index: usize) -> usize {
        self.parts.get(index).map_or(0, |it| it.row_count + it.group_count)
    }

    /// Notes that grouping `waiting` rows and groups early left `groups`.
    pub(super) fn grouped(&mut self, waiting: usize, groups: usize) {
        if groups * LEFT_SHARE.1 > waiting * LEFT_SHARE.0 {
            self.part_rows = self.part_rows.saturating_mul(WAIT_FACTOR);
        }
    }

    /// Whether grouping a part early left most of its rows, the last time.
    pub(super) fn reduces_little(&self) -> bool {
        self.part_rows > self.part_rows_min
    }

    /// The first part in which something waits.
    pub(super) fn next_part(&self) -> Option<usize> {
        (0..PARTS).find(|it| self.waiting(*it) > 0)
    }
}
