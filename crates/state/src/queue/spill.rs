//! Spilling of batches that readers have not taken.
//!
//! One thread at a time writes runs: consecutive batches of one lane, none of them the next batch
//! of a reader but the first. Readers do not wait for it. They take batches from memory until the
//! run is complete, and then look for their next one in the run.

use super::{
    BatchQueue, Spilling, State,
    lane::{Lane, Run},
};
use crate::{
    barrier::Waiters,
    spill::{SpillRun, SpillWriter, Spilled, can_spill},
};
use std::{sync::MutexGuard, task::Waker};
use volley_error::Result;
use volley_memory::{Pool, spill::SpillSpace};
use volley_types::Type;
use volley_vector::Batch;

/// Where and how a queue spills.
#[derive(Debug)]
pub struct QueueSpill {
    /// Where files are made.
    pub space: SpillSpace,
    /// The types of the columns. Nothing is spilled if one has no form on disk.
    pub types: Vec<Type>,
    /// The most rows of a batch that is read from disk.
    pub batch_rows: usize,
    /// About how many bytes of batches make a run: their memory is released with each run.
    pub run_bytes: usize,
    /// Producers wait while no reader has begun to read this number of runs.
    pub runs_max: usize,
    /// When the memory for reading is reserved.
    pub reader_memory: ReaderMemory,
}

/// When the memory for reading a run is reserved (a quarter of a MiB).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReaderMemory {
    /// When the run that comes next was written, if there is memory: the reader may come late, when
    /// there is none.
    Ahead,
    /// When the run is read.
    WhenRead,
}

/// Batches that are being written.
pub(super) struct RunInWork {
    lane: usize,
    /// The number of the first batch.
    start: usize,
    batches: Vec<Batch>,
    pool: Pool,
}

impl QueueSpill {
    /// Whether the types have a form on disk.
    pub(super) fn is_possible(&self) -> bool {
        can_spill(&self.types)
    }
}

impl BatchQueue {
    /// Whether the queue was made with a place to spill to, and its types have a form on disk.
    pub fn spills(&self) -> bool {
        self.spill.is_some()
    }

    /// Whether the arbiter may ask for the memory of the batches; if so, `waker` is woken once that
    /// has changed.
    pub fn poll_reclaimable(&self, waker: &Waker) -> bool {
        let mut state = self.lock();
        let is_reclaimable = self.reclaimable_bytes() > 0;
        if is_reclaimable {
            state.waiting_for_spill.add(waker);
        }
        is_reclaimable
    }

    /// Writes the batches that are in memory now to disk, and releases their memory; nothing while
    /// another thread does so.
    ///
    /// # Errors
    ///
    /// I/O, a full disk, out of memory, cancelled. The queue is as before, but for complete runs;
    /// its memory is not offered any more.
    pub fn spill(&self) -> Result<Spilled> {
        let mut spilled = Spilled::default();
        let Some((spill, ends)) = self.begin_spill() else { return Ok(spilled) };
        let result = self.spill_lanes(spill, &ends, &mut spilled);
        self.end_spill(if result.is_ok() { Spilling::Possible } else { Spilling::Impossible });
        result.map(|()| spilled)
    }

    fn spill_lanes(&self, spill: &QueueSpill, ends: &[usize], spilled: &mut Spilled) -> Result<()> {
        for (lane, end) in ends.iter().enumerate() {
            while let Some(work) = self.begin_run(spill, lane, *end)? {
                let run = work.write(spill)?;
                spilled.runs += 1;
                spilled.rows += run.0.rows();
                spilled.bytes += run.0.bytes();
                self.finish_run(spill, work, run);
            }
        }
        Ok(())
    }

    /// Begins to spill: by lane, the end of what is to be written. `None` if that is not possible.
    pub(super) fn begin_spill(&self) -> Option<(&QueueSpill, Vec<usize>)> {
        let spill = self.spill.as_ref()?;
        let mut state = self.lock();
        if state.spilling != Spilling::Possible || state.totals.batches == 0 {
            return None;
        }
        state.spilling = Spilling::Running;
        let ends = state.lanes.iter().map(Lane::end).collect();
        self.notify(state);
        Some((spill, ends))
    }

    /// Ends what [`BatchQueue::begin_spill`] began.
    pub(super) fn end_spill(&self, next: Spilling) {
        let mut state = self.lock();
        state.spilling = next;
        self.notify(state);
    }

    /// The next batches of a lane to write.
    pub(super) fn begin_run(
        &self,
        spill: &QueueSpill,
        lane: usize,
        end: usize,
    ) -> Result<Option<RunInWork>> {
        let state = self.lock();
        let found = state.lanes[lane].next_run(end, spill.run_bytes)?;
        let pool = state.totals.charge.pool();
        let work = |(start, batches)| RunInWork { lane, start, batches, pool: pool.clone() };
        Ok(found.map(work))
    }

    /// Puts a run in the place of its batches.
    pub(super) fn finish_run(
        &self,
        spill: &QueueSpill,
        work: RunInWork,
        (run, ends): (SpillRun, Vec<usize>),
    ) {
        let RunInWork { lane, start, batches, pool: _ } = work;
        drop(batches);
        let run = Run::new(run, ends, spill.batch_rows);
        let mut guard = self.lock();
        let state = &mut *guard;
        let lane = &mut state.lanes[lane];
        lane.replace(start, run, &mut state.totals);
        if spill.reader_memory == ReaderMemory::Ahead {
            lane.prepare_readers(&state.totals);
        }
        self.notify(guard);
    }

    /// Wakes those that wait for what may have changed.
    fn notify(&self, mut state: MutexGuard<'_, State>) {
        let mut woken = Waiters::default();
        self.wake_producers(&mut state, &mut woken);
        self.update_reclaimable(&mut state, &mut woken);
        drop(state);
        woken.wake();
    }
}

impl RunInWork {
    /// Writes the batches; by batch, the rows up to its end.
    ///
    /// # Errors
    ///
    /// I/O, a full disk, out of memory, cancelled.
    pub(super) fn write(&self, spill: &QueueSpill) -> Result<(SpillRun, Vec<usize>)> {
        let mut writer = SpillWriter::new(&spill.space, &spill.types, &self.pool)?;
        let (mut rows, mut ends) = (0, Vec::with_capacity(self.batches.len()));
        for batch in &self.batches {
            writer.write(batch)?;
            rows += batch.rows();
            ends.push(rows);
        }
        Ok((writer.finish()?, ends))
    }
}
