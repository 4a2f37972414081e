//! Dynamic filters between the tasks of a query: keys of joins, for scans of other fragments.
//!
//! ```text
//! each task of a join      publish: its keys ──> process 0
//! process 0                unites the keys of all tasks, and sends them to all processes
//! each process             the listeners of its scans, which wait
//! ```
//!
//! A task that ends without a table publishes that all values may be keys, so that no scan waits
//! for ever.

use crate::{Processes, TaskNumbers};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use volley_exec::{TaskFilterId, TaskFilterListener, TaskFilters};
use volley_expression::filter::KeyFilter;
use volley_memory::{Pool, Reservation};
use volley_plan::{DistributedPlan, FragmentId, PlanNodeId, TaskFilter};

/// The bytes of the keys of all tasks, at most; beyond, only their range is known.
const FILTER_BYTES_MAX: usize = 8 << 20;

/// The keys of a join as they cross processes; `None`: all values may be keys.
pub type FilterKeys = Option<Arc<KeyFilter>>;

/// The filters of a query in one process.
pub(crate) struct FilterBoard {
    filters: Vec<TaskFilter>,
    slots: Mutex<Vec<Slot>>,
    processes: Arc<dyn Processes>,
    /// Whether this is process 0, which unites.
    is_first: bool,
    /// For the keys of all tasks.
    pool: Pool,
}

/// What is known of a filter.
#[derive(Default)]
struct Slot {
    /// The tasks whose keys are not known, by their numbers.
    missing: Vec<usize>,
    /// The keys so far; `None` before the first.
    united: Option<KeyFilter>,
    /// Some task has no filter.
    is_open: bool,
    known: Option<FilterKeys>,
    listeners: Vec<TaskFilterListener>,
    charge: Option<Reservation>,
}

/// What became of a filter between tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilterStatistics {
    /// The fragment whose join has made it.
    pub made_by: FragmentId,
    /// A fragment that applies it.
    pub applied_by: FragmentId,
    /// The bytes of its members; `None` while it is not known, or if all values may be keys.
    pub bytes: Option<usize>,
}

impl FilterBoard {
    /// The filters of a plan whose fragments run as `tasks` tasks each, or as one.
    pub(crate) fn new(
        plan: &DistributedPlan,
        numbers: &TaskNumbers,
        processes: &Arc<dyn Processes>,
        pool: &Pool,
    ) -> Arc<FilterBoard> {
        let filters = plan.task_filters();
        let slot = |it: &TaskFilter| Slot {
            missing: (0..numbers.tasks(it.fragment.0 as usize, plan)).collect(),
            ..Slot::default()
        };
        let board = Arc::new(FilterBoard {
            slots: Mutex::new(filters.iter().map(slot).collect()),
            filters,
            processes: Arc::clone(processes),
            is_first: processes.has_task(0),
            pool: pool.child("filters of tasks"),
        });
        if !board.filters.is_empty() {
            let received: Weak<FilterBoard> = Arc::downgrade(&board);
            processes.on_filter(Box::new(move |filter, task, keys| {
                if let Some(board) = received.upgrade() {
                    board.receive(filter, task, keys);
                }
            }));
        }
        board
    }

    /// The filters as one task sees them; `None` if it has none.
    pub(crate) fn of_task(
        self: &Arc<FilterBoard>,
        fragment: usize,
        number: usize,
    ) -> Option<Arc<dyn TaskFilters>> {
        let fragment = FragmentId(fragment as u32);
        let is_its_own = |it: &TaskFilter| {
            it.fragment == fragment || it.scans.iter().any(|it| it.fragment == fragment)
        };
        let board = Arc::clone(self);
        let of_task = || Arc::new(FiltersOfTask { board, fragment, number }) as _;
        self.filters.iter().any(is_its_own).then(of_task)
    }

    /// What became of each filter, for each fragment that applies it.
    pub(crate) fn statistics(&self) -> Vec<FilterStatistics> {
        let slots = self.lock();
        let mut statistics = Vec::new();
        for (filter, slot) in self.filters.iter().zip(&*slots) {
            let keys = slot.known.as_ref().and_then(Option::as_ref);
            let (made_by, bytes) = (filter.fragment, keys.map(|it| it.bytes()));
            for scan in &filter.scans {
                statistics.push(FilterStatistics { made_by, applied_by: scan.fragment, bytes });
            }
        }
        statistics
    }

    /// Keys from another process: those of all tasks, or in process 0 those of one.
    fn receive(&self, filter: u32, task: usize, keys: FilterKeys) {
        match self.is_first {
            true => self.unite(filter, task, keys),
            false => self.know(filter, keys),
        }
    }

    /// The keys of a task of this process.
    fn publish(&self, filter: u32, task: usize, keys: FilterKeys) {
        match self.is_first {
            true => self.unite(filter, task, keys),
            false => self.processes.send_filter(filter, task, keys),
        }
    }

    /// Adds the keys of a task. Those of the last one make the filter known.
    fn unite(&self, filter: u32, task: usize, keys: FilterKeys) {
        let mut slots = self.lock();
        let Some(slot) = slots.get_mut(filter as usize) else { return };
        let Some(place) = slot.missing.iter().position(|it| *it == task) else { return };
        slot.missing.swap_remove(place);
        match keys {
            None => slot.is_open = true,
            Some(keys) => {
                let mut bytes_max = FILTER_BYTES_MAX;
                let charge = slot.charge.get_or_insert_with(|| self.pool.reservation());
                let before = slot.united.take().unwrap_or_else(|| KeyFilter::range(1, 0));
                if charge.resize(FILTER_BYTES_MAX.min(before.bytes() + keys.bytes())).is_err() {
                    // Without memory the range has to do.
                    bytes_max = 0;
                }
                let united = before.union(&keys, bytes_max);
                if charge.resize(united.bytes()).is_err() {
                    slot.is_open = true;
                }
                slot.united = Some(united);
            }
        }
        if !slot.missing.is_empty() {
            return;
        }
        let united = slot.united.take().filter(|_| !slot.is_open).map(Arc::new);
        drop(slots);
        self.processes.send_filter(filter, 0, united.clone());
        self.know(filter, united);
    }

    fn know(&self, filter: u32, keys: FilterKeys) {
        let mut slots = self.lock();
        let Some(slot) = slots.get_mut(filter as usize) else { return };
        if slot.known.is_some() {
            return;
        }
        slot.known = Some(keys.clone());
        let listeners = std::mem::take(&mut slot.listeners);
        // Listeners wake drivers.
        drop(slots);
        listeners.into_iter().for_each(|it| it(keys.clone()));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The filters as one task sees them.
struct FiltersOfTask {
    board: Arc<FilterBoard>,
    fragment: FragmentId,
    number: usize,
}

impl FiltersOfTask {
    fn filters(&self) -> impl Iterator<Item = (TaskFilterId, &TaskFilter)> {
        (0..).map(TaskFilterId).zip(&self.board.filters)
    }
}

impl TaskFilters for FiltersOfTask {
    fn made_by(&self, join: PlanNodeId) -> Vec<(usize, TaskFilterId)> {
        let made = self.filters().filter(|(_, it)| it.fragment == self.fragment && it.join == join);
        made.map(|(id, it)| (it.key, id)).collect()
    }

    fn applied_by(&self, scan: PlanNodeId) -> Vec<(usize, TaskFilterId)> {
        let mut applied = Vec::new();
        for (id, filter) in self.filters() {
            let scans = filter.scans.iter();
            let scans = scans.filter(|it| it.fragment == self.fragment && it.scan == scan);
            applied.extend(scans.map(|it| (it.column, id)));
        }
        applied
    }

    fn publish(&self, filter: TaskFilterId, keys: FilterKeys) {
        self.board.publish(filter.0, self.number, keys);
    }

    fn when_known(&self, filter: TaskFilterId, listener: TaskFilterListener) {
        let mut slots = self.board.lock();
        let keys = match slots.get_mut(filter.0 as usize) {
            None => None,
            Some(Slot { known: Some(keys), .. }) => keys.clone(),
            Some(slot) => return slot.listeners.push(listener),
        };
        drop(slots);
        listener(keys);
    }
}
