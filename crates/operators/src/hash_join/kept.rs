//! Build sides that are the same in all iterations of a recursion: their tables are made once.

use super::shared::{BuildTables, JoinShared};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use volley_plan::PlanNodeId;

/// The last join of each join node of the step. Tables are kept where all rows are in memory.
#[derive(Default)]
pub(crate) struct CachedBuilds(Mutex<HashMap<PlanNodeId, Arc<JoinShared>>>);

impl CachedBuilds {
    /// Notes the join of this iteration.
    pub(super) fn keep(&self, node: PlanNodeId, join: &Arc<JoinShared>) {
        self.lock().insert(node, Arc::clone(join));
    }

    /// The finished tables of the join node.
    pub(super) fn tables(&self, node: PlanNodeId) -> Option<Arc<BuildTables>> {
        let joins = self.lock();
        let tables = joins.get(&node)?.ready().get()?;
        tables.spilled.is_none().then(|| Arc::clone(tables))
    }

    /// Whether there are any.
    pub(crate) fn has(&self, node: PlanNodeId) -> bool {
        self.tables(node).is_some()
    }

    /// Gives their memory back, once no probe uses them.
    pub(crate) fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PlanNodeId, Arc<JoinShared>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
