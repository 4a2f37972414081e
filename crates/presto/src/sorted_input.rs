//! Merges the sorted rows of remote sources.
//!
//! ```text
//! location ── pages ── BatchQueue ─┐
//! location ── pages ── BatchQueue ─┼── RunMerge in one driver ──> rows in order
//! location ── pages ── BatchQueue ─┘
//! ```
//!
//! The merge starts once all locations are known. Each queue has a bound of its own, so that a
//! location whose rows come late does not stop the others. Rows with equal keys come in the order
//! of the locations.

#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::Waker,
};
use volley_error::{Error, Result};
use volley_exec::{
    BlockedOn, Operator, OperatorContext, Step, StepContext, TaskSource, merge_queues,
};
use volley_memory::Pool;
use volley_plan::PageSourceNode;
use volley_state::{
    barrier::Waiters,
    queue::{BatchQueue, QueueReader},
    sort::{MergeStep, RunMerge},
};
use volley_types::{SortKey, Type};
use volley_vector::Batch;

/// Rows that several locations have in the same order, for one plan node of a task.
pub(crate) struct SortedInput(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Set when the task starts.
    node: Option<OpenedNode>,
    locations: Locations,
    /// The driver, while it waits for all locations.
    waiting: Waiters,
    /// Whether the driver needs no rows any more, or never will.
    is_closed: bool,
}

struct OpenedNode {
    types: Vec<Type>,
    keys: Vec<SortKey>,
    pool: Pool,
}

/// What is known about the locations.
#[derive(Default)]
enum Locations {
    /// More may come.
    #[default]
    Incomplete,
    /// All are known: the readers of their queues, until the driver takes them.
    Complete { queues: Vec<Arc<BatchQueue>>, readers: Vec<QueueReader> },
    /// The rows ended with an error before all locations were known.
    Failed(Error),
}

impl SortedInput {
    /// Without locations.
    pub(crate) fn new() -> SortedInput {
        SortedInput(Arc::default())
    }

    /// Starts the merge of this number of locations: a queue for the rows of each, in order.
    ///
    /// # Errors
    ///
    /// Internal: the task has not started, or the merge has.
    pub(crate) fn start(&self, locations: usize) -> Result<Vec<Arc<BatchQueue>>> {
        let mut state = self.lock();
        if !matches!(state.locations, Locations::Incomplete) {
            return Err(Error::internal("a merge of locations that started or failed"));
        }
        let node = state.node.as_ref();
        let node = node.ok_or_else(|| Error::internal("a merge that is not open"))?;
        let (queues, mut readers) = merge_queues(locations, &node.pool);
        if state.is_closed {
            readers.clear();
        }
        state.locations = Locations::Complete { queues: queues.clone(), readers };
        let waiting = state.waiting.take();
        drop(state);
        waiting.wake();
        Ok(queues)
    }

    /// Ends the rows of all locations with an error; only the first one counts.
    pub(crate) fn fail(&self, error: Error) {
        let mut state = self.lock();
        let (mut ended, waiting) = (Vec::new(), state.waiting.take());
        match &state.locations {
            Locations::Incomplete => state.locations = Locations::Failed(error.clone()),
            Locations::Complete { queues, .. } => ended.clone_from(queues),
            Locations::Failed(_) => {}
        }
        drop(state);
        ended.iter().for_each(|it| it.close(Err(error.clone())));
        waiting.wake();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        locked(&self.0)
    }
}

impl TaskSource for SortedInput {
    fn name(&self) -> &'static str {
        "page source"
    }

    fn open(&self, node: &PageSourceNode, _drivers: usize, pool: &Pool) -> Result<usize> {
        let types = node.schema.types().cloned().collect();
        let opened = OpenedNode { types, keys: node.merge.clone(), pool: pool.clone() };
        self.lock().node = Some(opened);
        Ok(1)
    }

    fn source(&self, cx: &OperatorContext) -> Result<Box<dyn Operator>> {
        let state = Arc::clone(&self.0);
        Ok(Box::new(SortedSource { state, merge: None, rows_max: cx.task.batch_rows.max(1) }))
    }
}

/// The source of the pipeline that reads the rows.
struct SortedSource {
    state: Arc<Mutex<State>>,
    merge: Option<RunMerge<QueueReader>>,
    rows_max: usize,
}

impl SortedSource {
    /// The merge, if all locations are known; otherwise `waker` is woken then.
    fn merge(&mut self, waker: &Waker) -> Result<Option<&mut RunMerge<QueueReader>>> {
        if self.merge.is_none() {
            let mut state = locked(&self.state);
            let State { node, locations, waiting, .. } = &mut *state;
            match locations {
                Locations::Incomplete => waiting.add(waker),
                Locations::Failed(error) => return Err(error.clone()),
                Locations::Complete { readers, .. } => {
                    let node = node.as_ref();
                    let node = node.ok_or_else(|| Error::internal("a merge that is not open"))?;
                    let readers = std::mem::take(readers);
                    let merge = RunMerge::new(&node.types, &node.keys, readers, self.rows_max);
                    self.merge = Some(merge);
                }
            }
        }
        Ok(self.merge.as_mut())
    }
}

impl Operator for SortedSource {
    fn name(&self) -> &'static str {
        "page source"
    }

    fn accept(&mut self, _input: Batch) -> Result<()> {
        Err(Error::internal("input of a source"))
    }

    fn finish_input(&mut self) -> Result<()> {
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        let Some(merge) = self.merge(cx.waker)? else {
            return Ok(Step::Blocked(BlockedOn::Exchange));
        };
        Ok(match merge.next(cx.waker)? {
            MergeStep::Batch(batch) => Step::Output(batch),
            MergeStep::Wait => Step::Blocked(BlockedOn::Exchange),
            MergeStep::End => Step::Finished,
        })
    }
}

impl Drop for SortedSource {
    fn drop(&mut self) {
        let mut state = locked(&self.state);
        state.is_closed = true;
        let mut dropped = Vec::new();
        if let Locations::Complete { readers, .. } = &mut state.locations {
            dropped = std::mem::take(readers);
        }
        // The waker holds this driver.
        let waiting = state.waiting.take();
        drop(state);
        drop((dropped, waiting));
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
