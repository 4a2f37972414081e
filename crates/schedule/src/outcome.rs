//! How the tasks of a query end: the first real cause wins, and ends all of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use volley_error::{Error, Result};
use volley_exchange::{Failure, FailureSlot, Rank};
use volley_exec::{Operator, OperatorContext, TaskOutput};
use volley_memory::{CancellationToken, Pool};
use volley_operators::PageOutput;
use volley_types::Type;

/// What the tasks of a query share.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Of all tasks.
    token: CancellationToken,
    failure: Mutex<FailureSlot>,
}

impl Outcome {
    pub(crate) fn new(token: CancellationToken) -> Arc<Outcome> {
        Arc::new(Outcome { token, failure: Mutex::default() })
    }

    /// The token of all tasks.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Notes a failure. A real cause ends all tasks; what only follows from one does not.
    pub(crate) fn fail(&self, error: Error) {
        let failure = Failure::new(error.clone());
        let is_cause = failure.rank == Rank::Cause;
        let wins = self.lock().record(failure);
        if wins && is_cause {
            self.token.cancel_with(error);
        }
    }

    /// What the caller gets for `error`: the real cause, if it is known.
    pub(crate) fn cause(&self, error: Error) -> Error {
        let mut slot = self.lock();
        slot.record(Failure::new(error.clone()));
        slot.get().map_or(error, |it| it.error.clone())
    }

    fn lock(&self) -> MutexGuard<'_, FailureSlot> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The output of a task, which reports how the task ended.
pub(crate) struct ReportedOutput {
    pub(crate) pages: Arc<PageOutput>,
    pub(crate) outcome: Arc<Outcome>,
}

impl TaskOutput for ReportedOutput {
    fn name(&self) -> &'static str {
        self.pages.name()
    }

    fn open(&self, types: &[Type], drivers: usize, pool: &Pool) -> Result<()> {
        self.pages.open(types, drivers, pool)
    }

    fn sink(&self, cx: &OperatorContext) -> Result<Box<dyn Operator>> {
        self.pages.sink(cx)
    }

    fn close(&self, outcome: Result<()>) {
        if let Err(error) = &outcome {
            // Before readers see it: what they report follows from it.
            self.outcome.fail(error.clone());
        }
        self.pages.close(outcome);
    }
}
