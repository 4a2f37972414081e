//! A subplan's result that several nodes read.
//!
//! Writers append; every reading node sees every batch once, spread over its drivers, while the
//! subplan still runs or after. A batch goes when all reading nodes have taken it. Writers never
//! wait: a reader may only start when another one is done (a build and a probe side of the same
//! join), so that a bound would be a deadlock. The bytes are charged instead.

#[cfg(test)]
mod tests;

use crate::{BatchCharge, BlockedOn, Operator, Step, StepContext, barrier::Waiters};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use volley_error::{Error, Result};
use volley_memory::Pool;
use volley_vector::Batch;

/// The batches between the writers and the readers.
#[derive(Debug)]
pub struct SharedRows {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    batches: VecDeque<Batch>,
    /// How many batches are gone from the front.
    gone: usize,
    charge: BatchCharge,
    writers: usize,
    /// Per reading node: the next batch, counted from the very first; `None` when it is done.
    cursors: Vec<Option<usize>>,
    waiters: Waiters,
}

/// One node that reads, shared by its drivers. Dropping it says that it needs no more.
#[derive(Debug)]
pub struct Cursor {
    rows: Arc<SharedRows>,
    index: usize,
}

/// What a reader gets.
enum Next {
    Batch(Batch),
    Wait,
    End,
}

impl SharedRows {
    /// Charges to `pool`.
    pub fn new(pool: &Pool) -> SharedRows {
        let state = State {
            batches: VecDeque::new(),
            gone: 0,
            charge: BatchCharge::new(pool),
            writers: 0,
            cursors: Vec::new(),
            waiters: Waiters::default(),
        };
        SharedRows { state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces that `writers` more will come; before the task starts.
    pub fn expect_writers(&self, writers: usize) {
        self.lock().writers += writers;
    }

    /// Announces a reading node; before the task starts.
    pub fn add_reader(self: &Arc<Self>) -> Arc<Cursor> {
        let mut state = self.lock();
        state.cursors.push(Some(0));
        Arc::new(Cursor { rows: Arc::clone(self), index: state.cursors.len() - 1 })
    }

    fn push(&self, batch: Batch) -> Result<bool> {
        let mut state = self.lock();
        if state.cursors.iter().all(Option::is_none) {
            return Ok(false);
        }
        state.charge.add(&batch)?;
        state.batches.push_back(batch);
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
}

impl State {
    /// Drops batches that all readers have taken.
    fn trim(&mut self) {
        let first = self.cursors.iter().flatten().copied().min();
        let end = self.gone + self.batches.len();
        while self.gone < first.unwrap_or(end) {
            let Some(batch) = self.batches.pop_front() else { return };
            self.charge.remove(&batch);
            self.gone += 1;
        }
    }
}

impl Cursor {
    fn next(&self, cx: &StepContext<'_>) -> Next {
        let mut state = self.rows.lock();
        let Some(position) = state.cursors[self.index] else { return Next::End };
        let found = state.batches.get(position - state.gone).cloned();
        match found {
            Some(batch) => {
                state.cursors[self.index] = Some(position + 1);
                state.trim();
                Next::Batch(batch)
            }
            None if state.writers == 0 => Next::End,
            None => {
                state.waiters.add(cx.waker);
                Next::Wait
            }
        }
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        let mut state = self.rows.lock();
        state.cursors[self.index] = None;
        state.trim();
    }
}

/// The sink of the subplan's pipeline.
pub struct SharedWriter {
    rows: Arc<SharedRows>,
    pending: Option<Batch>,
    input_done: bool,
}

impl SharedWriter {
    /// Appends to `rows`.
    pub fn new(rows: Arc<SharedRows>) -> SharedWriter {
        SharedWriter { rows, pending: None, input_done: false }
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
}

/// The source of a pipeline that reads the subplan's result.
pub struct SharedReader {
    cursor: Arc<Cursor>,
}

impl SharedReader {
    /// Takes batches at `cursor`, together with the other drivers of the pipeline.
    pub fn new(cursor: Arc<Cursor>) -> SharedReader {
        SharedReader { cursor }
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
        Ok(match self.cursor.next(cx) {
            Next::Batch(batch) => Step::Output(batch),
            Next::Wait => Step::Blocked(BlockedOn::Exchange),
            Next::End => Step::Finished,
        })
    }
}
