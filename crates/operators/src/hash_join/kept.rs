//! Build sides that are the same in all iterations of a recursion: their tables are made once.

use super::shared::{BuildTables, JoinShared};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The last join at each position of the step's plan. Tables are kept where all rows are in memory.
#[derive(Default)]
pub(crate) struct KeptBuilds(Mutex<HashMap<usize, Arc<JoinShared>>>);

impl KeptBuilds {
    /// Notes the join of this iteration.
    pub(super) fn keep(&self, position: usize, join: &Arc<JoinShared>) {
        self.lock().insert(position, Arc::clone(join));
    }

    /// The finished tables of the join at `position`.
    pub(super) fn tables(&self, position: usize) -> Option<Arc<BuildTables>> {
        let joins = self.lock();
        let tables = joins.get(&position)?.ready().get()?;
        tables.spilled.is_none().then(|| Arc::clone(tables))
    }

    /// Whether there are any.
    pub(crate) fn has(&self, position: usize) -> bool {
        self.tables(position).is_some()
    }

    /// Gives their memory back, once no probe uses them.
    pub(crate) fn forget(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<usize, Arc<JoinShared>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
