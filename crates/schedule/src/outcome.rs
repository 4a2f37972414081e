//! How the tasks of a query end: the first real cause wins, and ends all of them.

use crate::{Processes, process_statistics::ProcessStatistics};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use volley_error::{Error, Result};
use volley_exchange::{Failure, FailureSlot, Rank};
use volley_exec::{Operator, OperatorContext, TaskOutput};
use volley_memory::{CancellationToken, Pool};
use volley_operators::PageOutput;
use volley_types::Type;

/// What the tasks of a query share.
pub(crate) struct Outcome {
    /// Of all tasks of this process.
    token: CancellationToken,
    failure: Mutex<FailureSlot>,
    /// Where the other tasks are.
    processes: Arc<dyn Processes>,
    /// What tasks of other processes did, once they have ended.
    statistics: Mutex<Vec<ProcessStatistics>>,
}

impl Outcome {
    pub(crate) fn new(token: CancellationToken, processes: Arc<dyn Processes>) -> Arc<Outcome> {
        let outcome = Arc::new(Outcome {
            token,
            failure: Mutex::default(),
            processes,
            statistics: Mutex::default(),
        });
        let noted = Arc::downgrade(&outcome);
        outcome.processes.on_failure(Box::new(move |failure| {
            if let Some(outcome) = noted.upgrade() {
                outcome.note(failure);
            }
        }));
        outcome
    }

    /// Where the other tasks are.
    pub(crate) fn processes(&self) -> &Arc<dyn Processes> {
        &self.processes
    }

    /// The token of all tasks.
    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Notes a failure. A real cause ends all tasks; what only follows from one does not.
    pub(crate) fn fail(&self, error: Error) {
        self.note(Failure::new(error));
    }

    fn note(&self, failure: Failure) {
        let wins = self.lock().record(failure.clone());
        if wins && failure.rank == Rank::Cause {
            self.token.cancel_with(failure.error.clone());
            self.processes.report(failure);
        }
    }

    /// What went wrong, if anything has; the cause, if it is known.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.lock().get().cloned()
    }

    /// Ends the query in the other processes, and notes what failed and what was done there.
    pub(crate) fn end_others(&self) {
        for ended in self.processes.end() {
            if let Some(failure) = ended.failure {
                self.lock().record(failure);
            }
            let found = ProcessStatistics::from_bytes(&ended.statistics);
            self.statistics.lock().unwrap_or_else(PoisonError::into_inner).extend(found);
        }
    }

    /// What was done in the other processes, once they have ended.
    pub(crate) fn statistics_of_others(&self) -> Vec<ProcessStatistics> {
        self.statistics.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
