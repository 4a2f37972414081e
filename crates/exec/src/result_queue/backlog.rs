//! The batches that the task's owner has not read yet: the oldest in spilled runs, the others in
//! memory.

use crate::TaskContext;
use std::collections::VecDeque;
use volley_error::Result;
use volley_memory::Pool;
use volley_state::{
    BatchCharge,
    charge::queue_bytes,
    spill::{SPILL_BYTES_MIN, SpillReader, SpillRun},
};
use volley_vector::Batch;

/// It is full with more bytes than this in memory, or their share of the memory limit,
const BYTES_MAX: usize = 32 << 20;

/// with more batches than this in memory,
const BATCHES_MAX: usize = 64;

/// or with more runs than this: on disk may be about as much as the memory limit.
pub(super) const RUNS_MAX: usize = 16;

/// Less than this part of the memory limit stays in memory.
const SPILL_SHARE: usize = 64;

/// Batches in the order in which they came.
#[derive(Debug)]
pub(super) struct Backlog {
    /// The rest of the run before all others.
    reading: Option<SpillReader>,
    runs: VecDeque<SpillRun>,
    /// Whether batches can be written, as far as that is known.
    is_writable: bool,
    /// Whether a driver is spilling batches between the runs and those in memory.
    is_writing: bool,
    batches: VecDeque<Batch>,
    charge: BatchCharge,
    bytes_max: usize,
    batch_rows: usize,
}

/// The first batch of a backlog.
pub(super) enum First {
    Batch(Batch),
    /// It is being written: it can be had afterwards.
    Later,
    Empty,
}

impl Backlog {
    /// An empty one, charged to `pool`.
    pub(super) fn new(is_writable: bool, pool: &Pool, task: &TaskContext) -> Backlog {
        Backlog {
            reading: None,
            runs: VecDeque::new(),
            is_writable,
            is_writing: false,
            batches: VecDeque::new(),
            charge: BatchCharge::new(pool),
            bytes_max: queue_bytes(pool, BYTES_MAX),
            batch_rows: task.batch_rows,
        }
    }

    pub(super) fn pool(&self) -> &Pool {
        self.charge.pool()
    }

    pub(super) fn is_full(&self) -> bool {
        self.batches.len() >= BATCHES_MAX
            || self.charge.bytes() >= self.bytes_max
            || self.runs.len() >= RUNS_MAX
    }

    /// The bytes that spilling the batches in memory would free; zero if that is not worth a file,
    /// or less than the arbiter asks for.
    pub(super) fn reclaimable_bytes(&self) -> usize {
        let bytes = self.charge.bytes();
        let least = SPILL_BYTES_MIN.max(self.pool().limit_bytes() / SPILL_SHARE);
        if self.is_writable && !self.is_writing && bytes >= least { bytes } else { 0 }
    }

    /// Appends a batch without unloaded lazy columns.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn push(&mut self, batch: Batch) -> Result<()> {
        let batch = self.charge.keep(batch)?;
        self.batches.push_back(batch);
        Ok(())
    }

    /// Takes the first batch.
    ///
    /// # Errors
    ///
    /// As [`SpillReader::next`]; then batches are lost.
    pub(super) fn pop(&mut self) -> Result<First> {
        loop {
            if let Some(reader) = &mut self.reading {
                if let Some(batch) = reader.next()? {
                    return Ok(First::Batch(batch));
                }
                self.reading = None;
            }
            if self.runs.is_empty() {
                break;
            }
            self.read_first_run()?;
        }
        if self.is_writing {
            return Ok(First::Later);
        }
        let Some(batch) = self.batches.pop_front() else { return Ok(First::Empty) };
        self.charge.remove(&batch);
        Ok(First::Batch(batch))
    }

    /// Begins to read the first run, unless one is being read.
    fn read_first_run(&mut self) -> Result<()> {
        if self.reading.is_none()
            && let Some(run) = self.runs.pop_front()
        {
            self.reading = Some(run.read(self.charge.pool(), self.batch_rows)?);
        }
        Ok(())
    }

    /// The batches in memory, for the caller to spill; none while another driver spills, or if
    /// spilling is not possible.
    pub(super) fn begin_writing(&mut self) -> Vec<Batch> {
        if self.is_writing || !self.is_writable {
            return Vec::new();
        }
        self.is_writing = !self.batches.is_empty();
        self.batches.drain(..).collect()
    }

    /// Replaces the `batches` by the run that was made of them, and releases their memory.
    ///
    /// # Errors
    ///
    /// Out of memory for reading what is on disk, which is charged ahead.
    pub(super) fn written(&mut self, batches: &[Batch], run: SpillRun) -> Result<()> {
        self.is_writing = false;
        batches.iter().for_each(|it| self.charge.remove(it));
        self.runs.push_back(run);
        self.read_first_run()
    }

    /// Puts batches back that could not be written; none are tried again.
    pub(super) fn not_written(&mut self, batches: Vec<Batch>) {
        (self.is_writing, self.is_writable) = (false, false);
        batches.into_iter().rev().for_each(|it| self.batches.push_front(it));
    }

    /// Drops everything but what is being written.
    pub(super) fn clear(&mut self) {
        self.reading = None;
        self.runs.clear();
        self.batches.clear();
        self.charge.clear();
    }
}
