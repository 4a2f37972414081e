//! The tasks of a query in a process that does not answer it.

use crate::{
    ProcessEnd,
    filters::FilterBoard,
    outcome::Outcome,
    query::{RunningFragment, process_statistics},
};
use std::{collections::BTreeMap, sync::Arc};
use volley_connector::Split;
use volley_error::{Error, Result};
use volley_exchange::EdgeId;
use volley_exec::{SplitReceiver, Task};
use volley_plan::PlanNodeId;

/// The tasks of a query in one of several processes: at most one per fragment. Dropping it cancels
/// what still runs and waits until no task does.
pub struct PartialQuery {
    fragments: Vec<RunningFragment>,
    /// The scans that get their splits from process 0, by fragment.
    scans: BTreeMap<(EdgeId, PlanNodeId), Arc<dyn SplitReceiver>>,
    outcome: Arc<Outcome>,
    /// Takes filters of process 0 for as long as scans may wait for them.
    _filters: Option<Arc<FilterBoard>>,
}

impl PartialQuery {
    pub(crate) fn new(
        fragments: Vec<RunningFragment>,
        scans: BTreeMap<(EdgeId, PlanNodeId), Arc<dyn SplitReceiver>>,
        outcome: Arc<Outcome>,
        filters: Option<Arc<FilterBoard>>,
    ) -> PartialQuery {
        PartialQuery { fragments, scans, outcome, _filters: filters }
    }

    /// Takes further splits of a scan of a fragment.
    ///
    /// # Errors
    ///
    /// Invalid query: no such scan, or no more splits were announced.
    pub fn add_splits(&self, fragment: EdgeId, scan: PlanNodeId, splits: Vec<Split>) -> Result<()> {
        self.scan(fragment, scan)?.add(splits)
    }

    /// Tells that a scan gets no more splits.
    ///
    /// # Errors
    ///
    /// Invalid query: no such scan.
    pub fn no_more_splits(&self, fragment: EdgeId, scan: PlanNodeId) -> Result<()> {
        self.scan(fragment, scan)?.finish();
        Ok(())
    }

    /// Fails the query in all processes.
    pub fn fail(&self, error: Error) {
        self.outcome.fail(error);
    }

    /// Ends all tasks and waits until none runs; what had gone wrong in them before, and what they
    /// did.
    pub fn end(self) -> ProcessEnd {
        let failure = self.outcome.failure();
        self.outcome.token().cancel();
        self.fragments.iter().flat_map(|it| &it.tasks).for_each(Task::wait_idle);
        ProcessEnd { failure, statistics: process_statistics(&self.fragments).to_bytes() }
    }

    fn scan(&self, fragment: EdgeId, scan: PlanNodeId) -> Result<&Arc<dyn SplitReceiver>> {
        self.scans.get(&(fragment, scan)).ok_or_else(|| {
            let message = format!("no scan {scan} in fragment {}", fragment.0);
            Error::invalid_query(message)
        })
    }
}

impl Drop for PartialQuery {
    fn drop(&mut self) {
        // All at once: tasks that are dropped one by one would wait for each other.
        self.outcome.token().cancel();
    }
}
