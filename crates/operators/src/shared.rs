//! A subplan's result that several nodes read.
//!
//! Writers append; every reading node sees every batch once, spread over its drivers, while the
//! subplan still runs or after. A batch goes when all reading nodes have taken it. Writers never
//! wait: a reader may only start when another one is done (a build and a probe side of the same
//! join), so that a bound would be a deadlock. The bytes are charged instead.
//!
//! When memory is short, batches that wait for slow readers are written to disk, in runs that each
//! reading node reads by itself.

mod pieces;
mod lower;
#[cfg(test)]
mod tests;

pub(crate) use lower::lower;

use pieces::{Piece, Pieces, Run};
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::Waker,
};
use volley_error::{Error, Result};
use volley_exec::{BlockedOn, Operator, OperatorMetrics, Spill, Step, StepContext, TaskContext};
use volley_memory::{Pool, spill::SpillSpace};
use volley_state::{
    barrier::Waiters,
    spill::{SPILL_BYTES_MIN, SPILLED_BYTES, SPILLED_ROWS, SPILLED_RUNS, SpillReader, SpillWriter},
};
use volley_types::Type;
use volley_vector::Batch;
use volley_wire::Encoder;

/// The batches between the writers and the readers.
#[derive(Debug)]
pub struct SharedRows {
    types: Vec<Type>,
    can_spill: bool,
    space: SpillSpace,
    pool: Pool,
    batch_rows: usize,
    state: Mutex<State>,
    /// What the batches in memory take.
    held_bytes: AtomicUsize,
}

#[derive(Debug)]
struct State {
    pieces: Pieces,
    /// All that were ever pushed.
    rows: usize,
    writers: usize,
    /// Per reading node: the next batch, counted from the very first; `None` when it is done.
    cursors: Vec<Option<usize>>,
    waiters: Waiters,
    /// Whether a driver writes batches to disk.
    is_spilling: bool,
}

/// One node that reads, shared by its drivers. Dropping it says that it needs no more.
#[derive(Debug)]
pub struct Cursor {
    rows: Arc<SharedRows>,
    index: usize,
    /// The rest of a run before the cursor's position.
    reading: Mutex<Option<SpillReader>>,
}

/// What a reader gets.
pub(crate) enum Next {
    Batch(Batch),
    Wait,
    End,
}

impl SharedRows {
    /// Of batches of `types`; charges to `pool`.
    pub fn new(types: Vec<Type>, pool: &Pool, task: &TaskContext) -> SharedRows {
        let state = State {
            pieces: Pieces::new(pool),
            rows: 0,
            writers: 0,
            cursors: Vec::new(),
            waiters: Waiters::default(),
            is_spilling: false,
        };
        SharedRows {
            can_spill: Encoder::new(&types).is_ok(),
            types,
            space: task.spill.clone(),
            pool: pool.clone(),
            batch_rows: task.batch_rows,
            state: Mutex::new(state),
            held_bytes: AtomicUsize::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Announces that `writers` more will come; before the task starts.
    pub fn expect_writers(&self, writers: usize) {
        self.lock().writers += writers;
    }

    /// Announces a reading node: before the task starts, or while another one has read nothing, and
    /// so keeps everything.
    pub fn add_reader(self: &Arc<Self>) -> Arc<Cursor> {
        let mut state = self.lock();
        let free = state.cursors.iter().position(Option::is_none);
        let index = free.unwrap_or(state.cursors.len());
        match state.cursors.get_mut(index) {
            Some(cursor) => *cursor = Some(0),
            None => state.cursors.push(Some(0)),
        }
        Arc::new(Cursor { rows: Arc::clone(self), index, reading: Mutex::default() })
    }

    /// The rows that were pushed so far.
    pub(crate) fn rows(&self) -> usize {
        self.lock().rows
    }

    /// Whether all writers are done; if not, `waker` is woken once they are.
    pub(crate) fn is_complete(&self, waker: &Waker) -> bool {
        let mut state = self.lock();
        if state.writers > 0 {
            state.waiters.add(waker);
        }
        state.writers == 0
    }

    /// Appends a batch; false if no reader is left.
    pub(crate) fn push(&self, batch: Batch) -> Result<bool> {
        let mut state = self.lock();
        if state.cursors.iter().all(Option::is_none) {
            return Ok(false);
        }
        state.rows += batch.rows();
        state.pieces.push(batch)?;
        self.note_bytes(&state);
        let waiters = state.waiters.take();
        drop(state);
        waiters.wake();
        Ok(true)
    }

    fn writer_done(&self) {
        let mut state = self.lock();
        state.writers -= 1;
        let waiters = state.waiters.take();
        drop(state);
        waiters.wake();
    }

    /// Drops what all readers have taken.
    fn trim(&self, state: &mut State) {
        let first = state.cursors.iter().flatten().copied().min();
        state.pieces.trim(first.unwrap_or(usize::MAX));
        self.note_bytes(state);
    }

    fn note_bytes(&self, state: &State) {
        self.held_bytes.store(state.pieces.bytes(), Ordering::Relaxed);
    }

    pub(crate) fn reclaimable_bytes(&self) -> usize {
        let bytes = self.held_bytes.load(Ordering::Relaxed);
        if bytes < SPILL_BYTES_MIN || !self.can_spill { 0 } else { bytes }
    }

    /// Spills the batches in memory, unless another driver does. Readers do not wait meanwhile:
    /// they take batches from memory until the run is complete.
    pub(crate) fn spill(&self, metrics: &OperatorMetrics) -> Result<()> {
        if !self.can_spill {
            return Ok(());
        }
        while let Some((start, batches)) = self.begin_spill()? {
            let mut writer = SpillWriter::new(&self.space, &self.types, &self.pool)?;
            let (mut rows, mut ends) = (0, Vec::with_capacity(batches.len()));
            for batch in &batches {
                writer.write(batch)?;
                rows += batch.rows();
                ends.push(rows);
            }
            drop(batches);
            let run = writer.finish()?;
            metrics.add(SPILLED_RUNS, 1);
            metrics.add(SPILLED_ROWS, run.rows() as u64);
            metrics.add(SPILLED_BYTES, run.bytes());
            let mut state = self.lock();
            state.pieces.replace(start, Run::new(run, ends));
            state.is_spilling = false;
            self.trim(&mut state);
        }
        Ok(())
    }

    /// Some neighboring batches in memory that no reader is among, and the first one's number.
    fn begin_spill(&self) -> Result<Option<(usize, Vec<Batch>)>> {
        let mut state = self.lock();
        if state.is_spilling {
            return Ok(None);
        }
        let found = state.pieces.first_batches(&state.cursors)?;
        state.is_spilling = found.is_some();
        Ok(found)
    }
}

impl Cursor {
    pub(crate) fn next(&self, cx: &StepContext<'_>) -> Result<Next> {
        let mut reading = lock(&self.reading);
        if let Some(reader) = &mut *reading {
            if let Some(batch) = reader.next()? {
                return Ok(Next::Batch(batch));
            }
            *reading = None;
        }
        let mut state = self.rows.lock();
        let Some(position) = state.cursors[self.index] else { return Ok(Next::End) };
        let Some((start, piece)) = state.pieces.at(position) else {
            if state.writers == 0 {
                return Ok(Next::End);
            }
            state.waiters.add(cx.waker);
            return Ok(Next::Wait);
        };
        state.cursors[self.index] = Some(start + piece.batches());
        self.rows.trim(&mut state);
        drop(state);
        match piece {
            Piece::Batch(batch) => Ok(Next::Batch(batch)),
            Piece::Run(run) => {
                let reader = run.read_from(position - start, &self.rows.pool, self.rows.batch_rows);
                let (batch, reader) = reader?;
                *reading = Some(reader);
                Ok(Next::Batch(batch))
            }
        }
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        let mut state = self.rows.lock();
        state.cursors[self.index] = None;
        self.rows.trim(&mut state);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sink of the subplan's pipeline.
pub struct SharedWriter {
    rows: Arc<SharedRows>,
    metrics: Arc<OperatorMetrics>,
    pending: Option<Batch>,
    input_done: bool,
}

impl SharedWriter {
    /// Appends to `rows`.
    pub fn new(rows: Arc<SharedRows>, metrics: &Arc<OperatorMetrics>) -> SharedWriter {
        SharedWriter { rows, metrics: Arc::clone(metrics), pending: None, input_done: false }
    }
}

impl Operator for SharedWriter {
    fn name(&self) -> &'static str {
        "shared writer"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.pending = Some(input.loaded()?);
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        self.input_done = true;
        self.rows.writer_done();
        Ok(())
    }

    fn step(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        if let Some(batch) = self.pending.take()
            && !self.rows.push(batch)?
        {
            return Ok(Step::Finished);
        }
        Ok(if self.input_done { Step::Finished } else { Step::NeedInput })
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        if self.rows.can_spill { Some(self) } else { None }
    }
}

impl Spill for SharedWriter {
    fn reclaimable_bytes(&self) -> usize {
        self.rows.reclaimable_bytes()
    }

    fn spill(&mut self) -> Result<()> {
        self.rows.spill(&self.metrics)
    }
}

/// The source of a pipeline that reads the subplan's result.
pub struct SharedReader {
    cursor: Arc<Cursor>,
    metrics: Arc<OperatorMetrics>,
}

impl SharedReader {
    /// Takes batches at `cursor`, together with the other drivers of the pipeline.
    pub fn new(cursor: Arc<Cursor>, metrics: &Arc<OperatorMetrics>) -> SharedReader {
        SharedReader { cursor, metrics: Arc::clone(metrics) }
    }
}

impl Operator for SharedReader {
    fn name(&self) -> &'static str {
        "shared reader"
    }

    fn accept(&mut self, _input: Batch) -> Result<()> {
        Err(Error::internal("input of a source"))
    }

    fn finish_input(&mut self) -> Result<()> {
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        Ok(match self.cursor.next(cx)? {
            Next::Batch(batch) => Step::Output(batch),
            Next::Wait => Step::Blocked(BlockedOn::Exchange),
            Next::End => Step::Finished,
        })
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        if self.cursor.rows.can_spill { Some(self) } else { None }
    }
}

impl Spill for SharedReader {
    fn reclaimable_bytes(&self) -> usize {
        self.cursor.rows.reclaimable_bytes()
    }

    fn spill(&mut self) -> Result<()> {
        self.cursor.rows.spill(&self.metrics)
    }
}
