//! The rows that a recursion with UNION has made so far.
//!
//! ```text
//! in memory   a table of groups without aggregates: a row that begins a group is new
//! on disk     parts by the hash of rows; rows that come are candidates, written to their part's
//!             file; once an iteration is complete, each part is read, and its candidates looked up
//! ```
//!
//! Once on disk, they stay there: what there is to look up in is larger than memory.

use super::{lock, settle::Settling};
use crate::spool::SpoolSink;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};
use volley_error::Result;
use volley_exec::{BatchSink, OperatorMetrics, Spill, TaskContext};
use volley_memory::{Pool, Reservation, check_cancelled, spill::SpillSpace};
use volley_state::{
    StateSizes,
    hash_table::{GroupCursor, GroupTable},
    partition::{HashSalt, PartitionedRuns, partitions_within},
    queue::Room,
    spill::{SPILL_BYTES_MIN, SPILLED_PARTITIONS, SpillRun, SpillWriter, can_spill},
};
use volley_types::Type;
use volley_vector::Batch;

/// The most parts on disk.
const PARTS_MAX: usize = 16;

/// The fraction of the memory limit that write buffers of files take.
const WRITERS_SHARE: usize = 32;

/// The rows that came so far.
#[derive(Clone)]
pub(super) struct SeenRows {
    pub(super) types: Arc<[Type]>,
    pub(super) pool: Pool,
    pub(super) space: SpillSpace,
    pub(super) batch_rows: usize,
    can_spill: bool,
    state: Arc<Mutex<Seen>>,
    /// What the table in memory takes.
    held_bytes: Arc<AtomicUsize>,
    pub(super) sizes: StateSizes,
}

enum Seen {
    Memory(Memory),
    Disk(SpilledDistinct),
}

struct Memory {
    table: GroupTable,
    /// Charged for the next growth, and for files.
    ahead: Reservation,
}

/// Rows on disk.
pub(super) struct SpilledDistinct {
    /// Rows that maybe came before.
    candidates: PartitionedRuns,
    /// Rows that did, by partition.
    seen: Vec<Vec<SpillRun>>,
}

/// Rows of some hashes.
pub(super) struct Part {
    pub(super) number: usize,
    /// Rows that came before.
    pub(super) seen: Vec<SpillRun>,
    /// Rows that maybe did.
    pub(super) candidates: Option<SpillRun>,
}

impl SeenRows {
    /// None, of `types`; charges to `pool`.
    pub(super) fn new(types: &[Type], pool: &Pool, task: &TaskContext) -> SeenRows {
        let table = GroupTable::new(types.to_vec(), Vec::new(), task.sizes, pool);
        let memory = Memory { table, ahead: pool.reserve_ahead() };
        SeenRows {
            sizes: task.sizes,
            types: types.into(),
            pool: pool.clone(),
            space: task.spill.clone(),
            batch_rows: task.batch_rows,
            can_spill: can_spill(types),
            state: Arc::new(Mutex::new(Seen::Memory(memory))),
            held_bytes: Arc::default(),
        }
    }

    /// The rows of a batch that did not come before; `None` also when that is not yet known.
    ///
    /// # Errors
    ///
    /// Out of memory; I/O.
    fn insert(&self, batch: &Batch) -> Result<Option<Batch>> {
        match &mut *lock(&self.state) {
            Seen::Memory(memory) => {
                // Otherwise the growth would have to be paid for twice.
                if memory.table.may_grow(batch.rows()) {
                    memory.ahead.clear();
                }
                let new = new_rows(&mut memory.table, batch)?;
                let bytes = memory.table.bytes();
                if bytes >= SPILL_BYTES_MIN {
                    let files = self.parts() * SpillWriter::BYTES;
                    // Without room, memory is scarce already, and will be asked for.
                    let _ = memory.ahead.resize(files + memory.table.growth_bytes());
                }
                self.held_bytes.store(bytes, Ordering::Relaxed);
                Ok(new)
            }
            Seen::Disk(disk) => {
                disk.candidates.write(batch)?;
                Ok(None)
            }
        }
    }

    pub(super) fn reclaimable_bytes(&self) -> usize {
        let bytes = self.held_bytes.load(Ordering::Relaxed);
        if bytes < SPILL_BYTES_MIN || !self.can_spill { 0 } else { bytes }
    }

    fn parts(&self) -> usize {
        partitions_within(&self.pool, WRITERS_SHARE, PARTS_MAX)
    }

    /// Writes all rows to disk, if there are any in memory.
    ///
    /// # Errors
    ///
    /// I/O, a full disk, out of memory, cancelled.
    pub(super) fn spill(&self, metrics: &OperatorMetrics) -> Result<()> {
        let mut state = lock(&self.state);
        let Seen::Memory(memory) = &mut *state else { return Ok(()) };
        if memory.table.is_empty() || !self.can_spill {
            return Ok(());
        }
        memory.ahead.clear();
        let (keys, place) = ((0..self.types.len()).collect(), (&self.space, &self.pool));
        let salt = HashSalt::Spill(0);
        let mut rows = PartitionedRuns::new(keys, self.parts(), salt, self.batch_rows, place);
        for_each_batch(&mut memory.table, self.batch_rows, |batch| rows.write(batch))?;
        let runs = rows.finish()?;
        metrics.add_runs(runs.iter().flatten());
        metrics.add(SPILLED_PARTITIONS, runs.len() as u64);
        self.held_bytes.store(0, Ordering::Relaxed);
        let seen = runs.into_iter().map(Vec::from_iter).collect();
        *state = Seen::Disk(SpilledDistinct { candidates: rows, seen });
        Ok(())
    }

    /// What is to be done for a complete iteration; `None` when all its new rows are known.
    ///
    /// # Errors
    ///
    /// I/O, a full disk, out of memory.
    pub(super) fn settle(&self) -> Result<Option<Settling>> {
        let mut state = lock(&self.state);
        let Seen::Disk(disk) = &mut *state else { return Ok(None) };
        disk.candidates.flush()?;
        let has_candidates = disk.candidates.first_written().is_some();
        Ok(has_candidates.then(|| Settling::new(self.clone())))
    }

    /// The next part with candidates, which is taken out.
    ///
    /// # Errors
    ///
    /// I/O, a full disk.
    pub(super) fn take_part(&self) -> Result<Option<Part>> {
        let mut state = lock(&self.state);
        let Seen::Disk(disk) = &mut *state else { return Ok(None) };
        let Some(number) = disk.candidates.first_written() else { return Ok(None) };
        let candidates = disk.candidates.take(number)?;
        let seen = disk.seen.get_mut(number).map(std::mem::take).unwrap_or_default();
        Ok(Some(Part { number, seen, candidates }))
    }

    pub(super) fn put_back(&self, number: usize, seen: Vec<SpillRun>) {
        if let Seen::Disk(disk) = &mut *lock(&self.state)
            && let Some(part) = disk.seen.get_mut(number)
        {
            *part = seen;
        }
    }
}

/// The rows of a batch that begin a group of `table`, if there are any.
///
/// # Errors
///
/// Out of memory.
pub(super) fn new_rows(table: &mut GroupTable, batch: &Batch) -> Result<Option<Batch>> {
    table.find_or_insert(batch.columns(), batch.rows())?;
    let new = table.new_rows();
    match new.len() {
        0 => Ok(None),
        count if count == batch.rows() => Ok(Some(batch.clone())),
        _ => {
            let mut new = new.to_vec();
            new.sort_unstable();
            batch.gather(&new).map(Some)
        }
    }
}

/// Calls `take` with the rows of a table.
///
/// # Errors
///
/// Those of `take`; cancelled.
pub(super) fn for_each_batch(
    table: &mut GroupTable,
    batch_rows: usize,
    mut take: impl FnMut(&Batch) -> Result<()>,
) -> Result<()> {
    table.freeze()?;
    let mut cursor = GroupCursor::default();
    loop {
        check_cancelled()?;
        let groups = table.next_groups(&mut cursor, batch_rows);
        if groups.is_empty() {
            return Ok(());
        }
        take(&Batch::new(table.keys_of(&groups)?, groups.len()))?;
    }
}

/// Passes the rows that did not come before to a sink.
pub(super) struct DistinctSink {
    sink: SpoolSink,
    seen: Arc<SeenRows>,
    metrics: Arc<OperatorMetrics>,
}

impl DistinctSink {
    pub(super) fn new(
        sink: SpoolSink,
        seen: Arc<SeenRows>,
        metrics: &Arc<OperatorMetrics>,
    ) -> DistinctSink {
        DistinctSink { sink, seen, metrics: Arc::clone(metrics) }
    }
}

impl BatchSink for DistinctSink {
    fn name(&self) -> &'static str {
        self.sink.name()
    }

    fn push(&mut self, batch: Batch) -> Result<Room> {
        self.seen.insert(&batch)?.map_or(Ok(Room::Free), |new| self.sink.push(new))
    }

    fn finish(&mut self) -> Result<()> {
        self.sink.finish()
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        if self.seen.can_spill { Some(self) } else { None }
    }
}

impl Spill for DistinctSink {
    fn reclaimable_bytes(&self) -> usize {
        self.seen.reclaimable_bytes().max(self.sink.reclaimable_bytes())
    }

    fn spill(&mut self) -> Result<()> {
        if self.sink.reclaimable_bytes() > self.seen.reclaimable_bytes() {
            return self.sink.spill();
        }
        self.seen.spill(&self.metrics)
    }
}
