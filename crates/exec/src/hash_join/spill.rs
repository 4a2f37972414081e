//! What a join that does not fit in memory keeps on disk.
//!
//! ```text
//! build   a driver that is short of memory writes its rows, by a hash of their keys, to the
//!         partitions on disk; from then on, all rows of all drivers go there at the latest when
//!         their input ends
//! probe   all rows go to partitions by the same hash
//! then    drivers claim partitions, and join each by itself (`partition_join`)
//! ```
//!
//! All drivers write to the same files, one per partition and side: buffers of writers are the
//! memory that a spilled join cannot do without.

use super::HashJoinSpec;
use crate::{
    OperatorMetrics, Waiters,
    hash_table::encode_key,
    partition::{Purpose, split_by_keys},
    spill::{SPILLED_BYTES, SPILLED_ROWS, SPILLED_RUNS, SpillRun, SpillWriter},
};
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::Waker,
};
use volley_error::{Error, Result};
use volley_memory::{Pool, spill::SpillSpace};
use volley_types::Type;
use volley_vector::{Batch, Vector};
use volley_wire::Encoder;

/// Partitions of each level: their writers take 2 MiB.
const PARTITIONS: usize = if cfg!(test) { 4 } else { 16 };

/// A row in memory takes at least this much, with its index.
const ROW_BYTES_MIN: usize = 32;

/// Rows of one side by the hash of their keys; drivers write side by side.
pub(super) struct PartitionWriters {
    level: u32,
    /// `None` while a driver writes, and after an error.
    writers: Vec<Mutex<Option<SpillWriter>>>,
    /// What the rows took in memory.
    memory_bytes: AtomicUsize,
}

/// Both sides of a partition on disk.
#[derive(Clone)]
pub(super) struct SpilledPartition {
    pub(super) build: Arc<SpillRun>,
    pub(super) probe: Arc<SpillRun>,
    pub(super) level: u32,
    /// Whether most rows have the same hash, so that another level would not help.
    pub(super) is_skewed: bool,
}

/// A join whose build side is on disk.
pub(super) struct SpilledJoin {
    /// Where probe rows go.
    pub(super) probe: PartitionWriters,
    /// What a build row takes in memory, index included, on average.
    pub(super) row_bytes: usize,
    queue: Mutex<Queue>,
}

struct Queue {
    /// The build sides of the first level, until the probe sides are complete.
    build: Vec<SpillRun>,
    waiting: VecDeque<SpilledPartition>,
    /// Partitions that drivers have claimed and not given back.
    active: usize,
    waiters: Waiters,
}

/// The answer to a driver that wants a partition.
pub(super) enum Claim {
    Partition(Claimed),
    /// There may be more: the driver is woken.
    Wait,
    /// All are joined.
    End,
}

/// A partition that one driver joins; others look again when it is dropped.
pub(super) struct Claimed {
    join: Arc<SpilledJoin>,
    pub(super) partition: SpilledPartition,
    is_given_back: bool,
}

impl PartitionWriters {
    /// Writers of rows of `types`.
    ///
    /// # Errors
    ///
    /// As [`SpillWriter::new`].
    pub(super) fn new(
        types: &[Type],
        level: u32,
        space: &SpillSpace,
        pool: &Pool,
    ) -> Result<PartitionWriters> {
        let writer = |_| SpillWriter::new(space, types, pool).map(|it| Mutex::new(Some(it)));
        let writers = (0..PARTITIONS).map(writer).collect::<Result<_>>()?;
        Ok(PartitionWriters { level, writers, memory_bytes: AtomicUsize::new(0) })
    }

    /// Writes each row of a batch to the partition of its `keys`, which stand beside it.
    ///
    /// # Errors
    ///
    /// As [`SpillWriter::write`].
    pub(super) fn write(&self, batch: &Batch, keys: &[Vector]) -> Result<()> {
        let purpose = Purpose::Spill(self.level);
        for (partition, rows) in split_by_keys(batch, keys, self.writers.len(), purpose)? {
            let mut slot = lock(&self.writers[partition]);
            let mut writer = slot.take().ok_or_else(unusable)?;
            writer.write(&rows)?;
            *slot = Some(writer);
        }
        Ok(())
    }

    /// Notes what rows took that were written.
    pub(super) fn add_memory(&self, bytes: usize) {
        self.memory_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The partitions, which are complete.
    ///
    /// # Errors
    ///
    /// As [`SpillWriter::finish`].
    pub(super) fn finish(&self, metrics: &OperatorMetrics) -> Result<Vec<SpillRun>> {
        let finish = |slot: &Mutex<Option<SpillWriter>>| {
            let run = lock(slot).take().ok_or_else(unusable)?.finish()?;
            metrics.add(SPILLED_RUNS, u64::from(run.rows() > 0));
            metrics.add(SPILLED_ROWS, run.rows() as u64);
            metrics.add(SPILLED_BYTES, run.bytes());
            Ok(run)
        };
        self.writers.iter().map(finish).collect()
    }
}

impl HashJoinSpec {
    /// Whether rows of both sides have a form on disk, and each partition can be joined by itself.
    pub(super) fn can_spill(&self) -> bool {
        let has_form = |types: &[Type]| Encoder::new(types).is_ok();
        !self.has_correlation()
            && has_form(&self.stored_probe_types())
            && has_form(&self.columns(self.build_keys.len()))
    }

    /// The types of probe rows on disk.
    pub(super) fn stored_probe_types(&self) -> Vec<Type> {
        self.used_probe.iter().map(|it| self.probe_types[*it].clone()).collect()
    }

    /// A probe batch as it was, but for columns that nobody uses.
    pub(super) fn restored_probe(&self, stored: Batch) -> Batch {
        let rows = stored.rows();
        let mut columns: Vec<Vector> =
            self.probe_types.iter().map(|it| Vector::nulls(it.clone(), rows)).collect();
        for (column, vector) in self.used_probe.iter().zip(stored.into_columns()) {
            columns[*column] = vector;
        }
        Batch::new(columns, rows)
    }

    /// The keys of a probe batch, as tables compare them.
    pub(super) fn encoded_probe_keys(&self, batch: &Batch) -> Result<Vec<Vector>> {
        self.probe_keys.iter().map(|it| encode_key(batch.column(*it))).collect()
    }

    /// Writes a probe batch.
    pub(super) fn spill_probe(&self, batch: &Batch, to: &SpilledJoin) -> Result<()> {
        let used = self.used_probe.iter().map(|it| batch.column(*it).loaded());
        let stored = Batch::new(used.collect::<Result<_>>()?, batch.rows());
        to.probe.write(&stored, &self.encoded_probe_keys(batch)?)
    }
}

impl SpilledJoin {
    /// A join of the rows that `build` holds, which are complete.
    ///
    /// # Errors
    ///
    /// As [`SpillWriter::finish`]; out of memory for the probe side's writers.
    pub(super) fn new(
        spec: &HashJoinSpec,
        build: &PartitionWriters,
        (space, pool): (&SpillSpace, &Pool),
        metrics: &OperatorMetrics,
    ) -> Result<SpilledJoin> {
        let runs = build.finish(metrics)?;
        let rows: usize = runs.iter().map(SpillRun::rows).sum();
        let bytes = build.memory_bytes.load(Ordering::Relaxed);
        Ok(SpilledJoin {
            probe: PartitionWriters::new(&spec.stored_probe_types(), 0, space, pool)?,
            row_bytes: (bytes / rows.max(1)).max(ROW_BYTES_MIN),
            queue: Mutex::new(Queue {
                build: runs,
                waiting: VecDeque::new(),
                active: 0,
                waiters: Waiters::default(),
            }),
        })
    }

    /// A partition for a driver, once all probe rows are written.
    ///
    /// # Errors
    ///
    /// As [`SpillWriter::finish`].
    pub(super) fn claim(
        self: &Arc<Self>,
        spec: &HashJoinSpec,
        metrics: &OperatorMetrics,
        waker: &Waker,
    ) -> Result<Claim> {
        let mut queue = lock(&self.queue);
        if !queue.build.is_empty() {
            let probe = self.probe.finish(metrics)?;
            let build = std::mem::take(&mut queue.build);
            queue.waiting.extend(SpilledPartition::zip(build, probe, 0));
        }
        while let Some(partition) = queue.waiting.pop_front() {
            if !spec.is_vain(partition.build.rows(), partition.probe.rows()) {
                queue.active += 1;
                let join = Arc::clone(self);
                return Ok(Claim::Partition(Claimed { join, partition, is_given_back: false }));
            }
        }
        if queue.active == 0 {
            return Ok(Claim::End);
        }
        queue.waiters.add(waker);
        Ok(Claim::Wait)
    }
}

impl SpilledPartition {
    /// Partitions of one level.
    pub(super) fn zip(
        build: Vec<SpillRun>,
        probe: Vec<SpillRun>,
        level: u32,
    ) -> impl Iterator<Item = SpilledPartition> {
        let rows: usize = build.iter().map(SpillRun::rows).sum();
        build.into_iter().zip(probe).map(move |(build, probe)| SpilledPartition {
            is_skewed: build.rows() > rows - rows / 8,
            build: Arc::new(build),
            probe: Arc::new(probe),
            level,
        })
    }
}

impl Claimed {
    /// Lets others go first, if there are any, and has `waker` woken when one of them is done;
    /// otherwise gives the claim back.
    pub(super) fn yield_to_others(mut self, waker: &Waker) -> Option<Claimed> {
        let mut queue = lock(&self.join.queue);
        if queue.active > 1 {
            queue.active -= 1;
            queue.waiting.push_front(self.partition.clone());
            // The others are woken when the next one is done: there is no more room before.
            queue.waiters.add(waker);
            self.is_given_back = true;
        }
        drop(queue);
        (!self.is_given_back).then_some(self)
    }

    /// Adds partitions that this one was split into.
    pub(super) fn add(&self, partitions: impl Iterator<Item = SpilledPartition>) {
        lock(&self.join.queue).waiting.extend(partitions);
    }

    pub(super) fn join(&self) -> &SpilledJoin {
        &self.join
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        if self.is_given_back {
            return;
        }
        let mut queue = lock(&self.join.queue);
        queue.active -= 1;
        let waiters = queue.waiters.take();
        drop(queue);
        waiters.wake();
    }
}

fn unusable() -> Error {
    Error::internal("a partition of a join is used after an error")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
