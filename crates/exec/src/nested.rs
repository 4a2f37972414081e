//! Chains that run within the steps of other drivers.
//!
//! ```text
//! step   takes a chain that is ready and not running; runs it for a moment
//! wake   marks a chain as ready, and wakes drivers that found none
//! over   when the chains of the last pipeline have ended; the others are dropped then
//! ```
//!
//! The surrounding driver spills, and asks the arbiter, between the steps of its chains; the chains
//! do not ask the arbiter themselves.

use crate::{
    Lowering,
    chain::{Chain, Progress},
    make_chains::make_chains,
    statistics::{OperatorRecord, StepRecords},
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Wake, Waker},
    time::Duration,
};
use volley_error::Result;
use volley_memory::check_cancelled;
use volley_state::barrier::Waiters;

/// How long a chain runs before others, and the driver around, have their turn: an iteration of few
/// rows is over before that.
const MOMENT: Duration = Duration::from_micros(50);

/// The chains of one iteration.
pub struct NestedRun {
    /// `None` once a chain has ended.
    chains: Vec<Mutex<Option<Chain>>>,
    wakers: Vec<Waker>,
    state: Mutex<State>,
    records: Vec<OperatorRecord>,
    totals: Arc<StepRecords>,
}

struct State {
    chains: Vec<ChainState>,
    /// Chains of the last pipeline that have not ended.
    open: usize,
    /// Chains that take a step now.
    running: usize,
    waiters: Waiters,
}

#[derive(Clone, Copy)]
struct ChainState {
    is_ready: bool,
    is_running: bool,
    is_last: bool,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A chain ran.
    Worked,
    /// No chain is ready; the waker is woken when one is.
    Wait,
    /// The rows are complete, and no chain runs any more.
    Over,
}

struct ChainWaker {
    run: Weak<NestedRun>,
    index: usize,
}

impl NestedRun {
    /// Makes the operators of a plan that was lowered with [`Lowering::nested`]; its last pipeline
    /// is the one that was sealed last.
    ///
    /// # Errors
    ///
    /// What making an operator reports.
    pub fn of(lowering: Lowering) -> Result<Arc<NestedRun>> {
        let task = Arc::clone(lowering.task());
        let (mut chains, mut records) = (Vec::new(), Vec::new());
        let pipelines = lowering.into_pipelines();
        let last_pipeline = pipelines.len().saturating_sub(1);
        for (number, pipeline) in pipelines.into_iter().enumerate() {
            let made = make_chains(pipeline, number, &task, &mut records)?;
            chains.extend(made.into_iter().map(|it| (it.nested(), number == last_pipeline)));
        }
        Ok(NestedRun::new(chains, records, &task.steps))
    }

    /// Of chains, each with whether it is of the last pipeline.
    fn new(
        chains: Vec<(Chain, bool)>,
        records: Vec<OperatorRecord>,
        totals: &Arc<StepRecords>,
    ) -> Arc<NestedRun> {
        let states = chains.iter().map(|(_, is_last)| ChainState {
            is_ready: true,
            is_running: false,
            is_last: *is_last,
        });
        let state = State {
            chains: states.collect(),
            open: chains.iter().filter(|it| it.1).count(),
            running: 0,
            waiters: Waiters::default(),
        };
        Arc::new_cyclic(|run| NestedRun {
            wakers: (0..chains.len())
                .map(|index| Waker::from(Arc::new(ChainWaker { run: run.clone(), index })))
                .collect(),
            chains: chains.into_iter().map(|it| Mutex::new(Some(it.0))).collect(),
            state: Mutex::new(state),
            records,
            totals: Arc::clone(totals),
        })
    }

    /// Lets a chain run for a moment.
    ///
    /// # Errors
    ///
    /// Any; the task fails with it.
    pub fn step(&self, waker: &Waker) -> Result<Turn> {
        let index = match self.take(waker) {
            Ok(index) => index,
            Err(turn) => return Ok(turn),
        };
        let mut chain = lock(&self.chains[index]);
        let progress = match chain.as_mut() {
            Some(chain) => {
                let interrupted = || check_cancelled().is_err();
                chain.run(&self.wakers[index], MOMENT, &interrupted)
            }
            None => Ok(Progress::Finished),
        };
        if !matches!(progress, Ok(Progress::Ready | Progress::Blocked)) {
            *chain = None;
        }
        drop(chain);
        self.put_back(index, progress.as_ref().ok().copied());
        progress.map(|_| Turn::Worked)
    }

    /// A chain that is ready, or what there is to do instead.
    fn take(&self, waker: &Waker) -> Result<usize, Turn> {
        let mut state = lock(&self.state);
        if state.open == 0 {
            if state.running == 0 {
                return Err(Turn::Over);
            }
            state.waiters.add(waker);
            return Err(Turn::Wait);
        }
        // The last pipelines first: what they hold goes soonest.
        let found = state.chains.iter().rposition(|it| it.is_ready && !it.is_running);
        let Some(index) = found else {
            state.waiters.add(waker);
            return Err(Turn::Wait);
        };
        let chain = &mut state.chains[index];
        (chain.is_ready, chain.is_running) = (false, true);
        state.running += 1;
        Ok(index)
    }

    fn put_back(&self, index: usize, progress: Option<Progress>) {
        let mut state = lock(&self.state);
        let has_ended = !matches!(progress, Some(Progress::Ready | Progress::Blocked));
        state.running -= 1;
        let chain = &mut state.chains[index];
        chain.is_ready |= progress == Some(Progress::Ready);
        // What has ended is never taken again.
        chain.is_running = has_ended;
        if has_ended && chain.is_last {
            state.open -= 1;
        }
        let waiters = if has_ended || chain_waits(&state) {
            state.waiters.take()
        } else {
            Waiters::default()
        };
        drop(state);
        waiters.wake();
    }

    /// About what the largest chain that is not running could spill.
    pub fn reclaimable_bytes(&self) -> usize {
        let bytes = self.chains.iter().filter_map(|it| it.try_lock().ok()?.as_mut()?.reclaimable());
        bytes.max().unwrap_or(0)
    }

    /// Lets that chain give memory back.
    ///
    /// # Errors
    ///
    /// As [`crate::Spill::spill`].
    pub fn spill(&self) -> Result<()> {
        let largest = self.chains.iter().max_by_key(|it| {
            it.try_lock().ok().and_then(|mut it| it.as_mut()?.reclaimable()).unwrap_or(0)
        });
        match largest.map(|it| it.try_lock()) {
            Some(Ok(mut chain)) => chain.as_mut().map_or(Ok(()), Chain::reclaim),
            _ => Ok(()),
        }
    }

    /// Takes back what others can see of unfinished work.
    pub fn abort(&self) {
        self.chains.iter().for_each(|it| lock(it).iter_mut().for_each(Chain::abort));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a chain is ready and not running.
fn chain_waits(state: &State) -> bool {
    state.chains.iter().any(|it| it.is_ready && !it.is_running)
}

impl Drop for NestedRun {
    fn drop(&mut self) {
        for chain in &mut self.chains {
            let chain = chain.get_mut().unwrap_or_else(PoisonError::into_inner);
            // The iteration is over, or the task has failed already.
            let _ = chain.as_mut().map_or(Ok(()), Chain::dismantle);
        }
        self.totals.add(&self.records);
    }
}

impl Wake for ChainWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let Some(run) = self.run.upgrade() else { return };
        let mut state = lock(&run.state);
        let chain = &mut state.chains[self.index];
        chain.is_ready = true;
        let waiters = if chain.is_running { Waiters::default() } else { state.waiters.take() };
        drop(state);
        waiters.wake();
    }
}
