//! What the drivers of both sides share.

use super::{
    HashJoinSpec,
    spill::{PartitionWriters, SpilledJoin},
};
use crate::{
    Barrier, OperatorMetrics, Promise, Ticket,
    hash_table::{JoinRows, JoinTable},
    join_filter::JoinFilterSetter,
};
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::Waker,
};
use volley_error::{Error, Result};
use volley_memory::{Pool, spill::SpillSpace};

/// The state of one join.
pub(super) struct JoinShared {
    pub(super) spec: Arc<HashJoinSpec>,
    /// Filters of scans on the probe side.
    filters: Vec<JoinFilterSetter>,
    pool: Pool,
    can_spill: bool,
    parts: Mutex<Parts>,
    /// What the rows of the ended build drivers take, until the tables are made of them.
    ended_bytes: AtomicUsize,
    build_drivers: usize,
    /// The tables, while rows are inserted.
    tables: Promise<Arc<BuildTables>>,
    /// The same, once all rows are.
    ready: Promise<Arc<BuildTables>>,
    probe_drivers: usize,
    ended_probes: AtomicUsize,
    /// All probe rows are written.
    written: Arc<Barrier>,
    /// For probe drivers that are still to be made.
    tickets: Mutex<Vec<Ticket>>,
}

/// What build drivers hand over.
#[derive(Default)]
struct Parts {
    /// Of the drivers that have ended.
    ended: Vec<BuildPart>,
    /// Once a driver was short of memory.
    writers: Option<Arc<PartitionWriters>>,
}

/// The rows of one build driver.
pub(super) struct BuildPart {
    pub(super) rows: JoinRows,
    /// Only for null-aware joins with correlation.
    pub(super) correlated: Option<CorrelatedRows>,
    /// Rows that came, also those not kept.
    pub(super) seen_rows: usize,
    /// Whether a null came in the last key.
    pub(super) has_null: bool,
}

/// For each probe row that is compared with `NOT IN` or `IN`: the rows that count.
pub(super) struct CorrelatedRows {
    pub(super) all: JoinRows,
    /// Those with a null in the last key.
    pub(super) nulls: JoinRows,
}

/// The finished build side.
pub(super) struct BuildTables {
    pub(super) table: JoinTable,
    /// All rows, and those with a null in the last key, by the other keys.
    pub(super) correlated: Option<(JoinTable, JoinTable)>,
    /// Whether no row came.
    pub(super) is_empty: bool,
    /// Whether a null came in the last key.
    pub(super) has_null: bool,
    /// All rows are there instead, where memory was short.
    pub(super) spilled: Option<Arc<SpilledJoin>>,
}

impl JoinShared {
    pub(super) fn new(
        spec: Arc<HashJoinSpec>,
        filters: Vec<JoinFilterSetter>,
        (build_drivers, probe_drivers): (usize, usize),
        pool: &Pool,
    ) -> JoinShared {
        let (written, tickets) = Barrier::new(probe_drivers);
        JoinShared {
            can_spill: spec.can_spill(),
            spec,
            filters,
            pool: pool.clone(),
            parts: Mutex::default(),
            ended_bytes: AtomicUsize::new(0),
            build_drivers,
            tables: Promise::new(),
            ready: Promise::new(),
            probe_drivers,
            ended_probes: AtomicUsize::new(0),
            written,
            tickets: Mutex::new(tickets),
        }
    }

    /// The tables to insert rows into; there once all build drivers have ended.
    pub(super) fn tables(&self) -> &Promise<Arc<BuildTables>> {
        &self.tables
    }

    /// The finished tables.
    pub(super) fn ready(&self) -> &Promise<Arc<BuildTables>> {
        &self.ready
    }

    /// Takes a driver's rows; the last one makes the tables.
    ///
    /// # Errors
    ///
    /// Out of memory; I/O.
    pub(super) fn add_part(
        &self,
        mut part: BuildPart,
        space: &SpillSpace,
        metrics: &OperatorMetrics,
    ) -> Result<()> {
        let writers = lock(&self.parts).writers.clone();
        if let Some(writers) = writers {
            part.spill(&self.spec, &writers)?;
        }
        let parts = {
            let mut parts = lock(&self.parts);
            self.ended_bytes.fetch_add(part.rows.bytes(), Ordering::Relaxed);
            parts.ended.push(part);
            if parts.ended.len() < self.build_drivers {
                return Ok(());
            }
            self.ended_bytes.store(0, Ordering::Relaxed);
            std::mem::take(&mut *parts)
        };
        let tables = BuildTables::new(self, parts, space, metrics)?;
        // Set once: this was the last driver.
        let _ = self.tables.set(Arc::new(tables));
        Ok(())
    }

    /// Whether rows can be written to disk. Those of a null-aware join that counts only some of
    /// them are in several tables, some kinds of values are nowhere but in memory.
    pub(super) fn can_spill(&self) -> bool {
        self.can_spill
    }

    /// What the rows of the ended build drivers take.
    pub(super) fn ended_bytes(&self) -> usize {
        self.ended_bytes.load(Ordering::Relaxed)
    }

    /// Where build rows are to be written; from then on, all will be.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn writers(&self, space: &SpillSpace) -> Result<Arc<PartitionWriters>> {
        self.writers_in(&mut lock(&self.parts), space)
    }

    fn writers_in(&self, parts: &mut Parts, space: &SpillSpace) -> Result<Arc<PartitionWriters>> {
        if let Some(writers) = &parts.writers {
            return Ok(Arc::clone(writers));
        }
        let types = self.spec.columns(self.spec.build_keys.len());
        let writers = Arc::new(PartitionWriters::new(&types, 0, space, &self.pool)?);
        parts.writers = Some(Arc::clone(&writers));
        Ok(writers)
    }

    /// Writes the rows of the drivers that have ended, unless a table is made of them. The last
    /// driver to end waits for that.
    ///
    /// # Errors
    ///
    /// Out of memory; I/O.
    pub(super) fn spill_ended(&self, space: &SpillSpace) -> Result<()> {
        if self.ended_bytes() == 0 {
            return Ok(());
        }
        let mut parts = lock(&self.parts);
        if parts.ended.iter().all(|it| it.rows.rows() == 0) {
            return Ok(());
        }
        let writers = self.writers_in(&mut parts, space)?;
        let mut ended = parts.ended.iter_mut();
        ended.try_for_each(|it| it.spill(&self.spec, &writers))?;
        self.ended_bytes.store(0, Ordering::Relaxed);
        Ok(())
    }

    /// The right of a probe driver to tell that its rows are written.
    ///
    /// # Errors
    ///
    /// Internal: more drivers than there should be.
    pub(super) fn take_ticket(&self) -> Result<Ticket> {
        let ticket = lock(&self.tickets).pop();
        ticket.ok_or_else(|| Error::internal("more drivers than a join was made for"))
    }

    /// Whether the rows of all probe drivers are; if not, `waker` is woken once they are.
    pub(super) fn probe_rows_written(&self, waker: &Waker) -> bool {
        self.written.wait(waker)
    }

    /// Whether no probe driver has ended early.
    pub(super) fn all_probes_ended(&self) -> bool {
        self.ended_probes.load(Ordering::Acquire) == self.probe_drivers
    }

    /// Inserts some rows; false when there are none left. Whoever inserts the last ones publishes
    /// the tables.
    ///
    /// # Errors
    ///
    /// As [`JoinTable::insert_next`].
    pub(super) fn insert_next(&self, tables: &Arc<BuildTables>) -> Result<bool> {
        let mut inserted = tables.table.insert_next()?;
        if let Some((all, nulls)) = &tables.correlated {
            inserted |= all.insert_next()? | nulls.insert_next()?;
        }
        if tables.is_complete() {
            for (index, setter) in self.filters.iter().enumerate() {
                let filter = tables.spilled.is_none().then(|| tables.table.filter(index));
                setter.set(filter.flatten());
            }
            // Two drivers may find this at the same time; the value is the same.
            let _ = self.ready.set(Arc::clone(tables));
        }
        Ok(inserted)
    }

    /// Notes that a probe driver has seen all of its input; true for the last one of all. A driver
    /// that ends early is not counted: then nobody needs what the last one would put out.
    pub(super) fn end_probe(&self) -> bool {
        self.ended_probes.fetch_add(1, Ordering::AcqRel) + 1 == self.probe_drivers
    }
}

impl BuildTables {
    fn new(
        shared: &JoinShared,
        Parts { ended: mut parts, writers }: Parts,
        space: &SpillSpace,
        metrics: &OperatorMetrics,
    ) -> Result<BuildTables> {
        let (spec, pool) = (&*shared.spec, &shared.pool);
        let spilled = match writers {
            Some(writers) => {
                // A driver may have ended before the first one was short of memory.
                parts.iter_mut().try_for_each(|it| it.spill(spec, &writers))?;
                Some(Arc::new(SpilledJoin::new(spec, &writers, (space, pool), metrics)?))
            }
            None => None,
        };
        let is_empty = parts.iter().all(|it| it.seen_rows == 0);
        let has_null = parts.iter().any(|it| it.has_null);
        let (mut rows, mut all, mut nulls) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            rows.push(part.rows);
            if let Some(correlated) = part.correlated {
                all.push(correlated.all);
                nulls.push(correlated.nulls);
            }
        }
        let correlated = if spec.has_correlation() {
            let table = |parts| JoinTable::new(spec.correlation_table(), parts, &[], pool);
            Some((table(all)?, table(nulls)?))
        } else {
            None
        };
        let filtered: Vec<usize> = shared.filters.iter().map(|it| it.key).collect();
        let table = JoinTable::new(spec.table(), rows, &filtered, pool)?;
        Ok(BuildTables { table, correlated, is_empty, has_null, spilled })
    }

    pub(super) fn is_complete(&self) -> bool {
        let correlated = self.correlated.as_ref();
        let correlated = correlated.is_none_or(|it| it.0.is_complete() && it.1.is_complete());
        correlated && self.table.is_complete()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
