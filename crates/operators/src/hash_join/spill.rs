//! What a join that does not fit in memory keeps on disk.
//!
//! ```text
//! build   drivers that are short of memory write rows, by a hash of their keys, to partitions on
//!         disk, more and more of them (`build_disk`); some may come back at the end (`reload`)
//! probe   rows go to the same partitions on disk; those of the other partitions, which are in
//!         memory, are looked up at once
//! then    drivers claim the partitions on disk, and join each by itself (`partition_join`)
//! ```

use super::{
    HashJoinSpec,
    build_disk::BuildDisk,
    shared::{BuildContext, BuildTables},
};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
};
use volley_error::Result;
use volley_exec::OperatorMetrics;
use volley_expression::filter::KeyFilter;
use volley_state::{
    Waiters,
    hash_table::encode_key,
    partition::{PartitionSet, SharedRuns},
    spill::{SpillRun, can_spill},
};
use volley_types::Type;
use volley_vector::{Batch, Vector};

/// Both sides of a partition on disk.
#[derive(Clone)]
pub(super) struct SpilledPartition {
    pub(super) build: Arc<SpillRun>,
    pub(super) probe: Arc<SpillRun>,
    pub(super) level: u32,
    /// Whether most rows have the same hash, so that another level would not help.
    pub(super) is_skewed: bool,
}

/// A join of whose build side some partitions are on disk.
pub(super) struct SpilledJoin {
    /// Where probe rows go.
    probe: SharedRuns,
    /// What scans on the probe side are filtered by.
    pub(super) filters: Vec<Arc<KeyFilter>>,
    /// The rows of the partitions in memory, until all probe rows have come.
    resident: Mutex<Option<Arc<BuildTables>>>,
    resident_rows: usize,
    /// What a build row takes in memory, index included, on average.
    pub(super) row_bytes: usize,
    queue: Mutex<Queue>,
}

struct Queue {
    /// The build sides of the first level, until the probe sides are complete.
    build: Vec<Option<SpillRun>>,
    waiting: VecDeque<SpilledPartition>,
    /// Partitions that drivers have claimed and not returned.
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

impl HashJoinSpec {
    /// Whether rows of both sides have a form on disk.
    pub(super) fn can_spill(&self) -> bool {
        can_spill(&self.stored_probe_types()) && can_spill(&self.columns(self.build_keys.len()))
    }

    /// The types of probe rows on disk.
    pub(super) fn stored_probe_types(&self) -> Vec<Type> {
        self.used_probe.iter().map(|it| self.probe_types[*it].clone()).collect()
    }

    /// A probe batch without unused columns.
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

    /// The keys of a probe batch by which rows are spread over partitions.
    pub(super) fn probe_partition_keys(&self, batch: &Batch) -> Result<Vec<Vector>> {
        let keys = self.probe_keys.iter().take(self.partition_keys());
        keys.map(|it| encode_key(batch.column(*it))).collect()
    }

    /// Writes the rows of a probe batch whose partitions are on disk; the others.
    pub(super) fn spill_probe(&self, batch: &Batch, to: &SpilledJoin) -> Result<Option<Batch>> {
        let used = self.used_probe.iter().map(|it| batch.column(*it).loaded());
        let stored = Batch::new(used.collect::<Result<_>>()?, batch.rows());
        let others = to.probe.write(&stored, &self.probe_partition_keys(batch)?)?;
        Ok(others.map(|it| self.restored_probe(it)))
    }
}

impl SpilledJoin {
    /// A join of the rows of `resident` and of the partitions `build` on disk.
    ///
    /// # Errors
    ///
    /// Out of memory for the probe side's writers.
    pub(super) fn new(
        spec: &HashJoinSpec,
        disk: &BuildDisk,
        build: Vec<Option<SpillRun>>,
        resident: BuildTables,
        cx: &BuildContext,
    ) -> Result<SpilledJoin> {
        let partitions = (spec.sizes.join_partitions, 0);
        let types = spec.stored_probe_types();
        let probe = SharedRuns::new(types, partitions, &cx.space, &cx.pool);
        let keys = 0..spec.partition_keys();
        let probe = probe.without_nulls(keys.filter(|it| !spec.nulls_equal[*it]).collect());
        let mut on_disk = PartitionSet::default();
        let partitions = (0..build.len()).filter(|it| build[*it].is_some());
        partitions.for_each(|it| on_disk.insert(it));
        probe.open(on_disk)?;
        Ok(SpilledJoin {
            probe,
            filters: disk.filters(),
            row_bytes: disk.row_bytes(),
            resident_rows: resident.rows(),
            resident: Mutex::new(Some(Arc::new(resident))),
            queue: Mutex::new(Queue {
                build,
                waiting: VecDeque::new(),
                active: 0,
                waiters: Waiters::default(),
            }),
        })
    }

    /// The tables of the rows in memory, until all probe rows have come.
    pub(super) fn resident(&self) -> Option<Arc<BuildTables>> {
        lock(&self.resident).clone()
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
        // No driver needs them any more, so that this gives their memory back.
        lock(&self.resident).take();
        let mut queue = lock(&self.queue);
        if !queue.build.is_empty() {
            let probe = self.probe.finish()?;
            metrics.add_runs(probe.iter().flatten());
            let build = std::mem::take(&mut queue.build);
            queue.waiting.extend(SpilledPartition::zip(build, probe, self.resident_rows, 0));
        }
        while let Some(partition) = queue.waiting.pop_front() {
            if !spec.produces_nothing(partition.build.rows(), partition.probe.rows()) {
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
    /// Partitions of one level, of which `other_rows` rows of the build side are elsewhere.
    pub(super) fn zip(
        build: Vec<Option<SpillRun>>,
        probe: Vec<Option<SpillRun>>,
        other_rows: usize,
        level: u32,
    ) -> impl Iterator<Item = SpilledPartition> {
        let rows = other_rows + build.iter().flatten().map(SpillRun::rows).sum::<usize>();
        let both = build.into_iter().zip(probe).filter_map(|(build, probe)| build.zip(probe));
        both.map(move |(build, probe)| SpilledPartition {
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
