//! What the drivers of both sides share.

use super::{
    HashJoinSpec, build_disk::BuildDisk, build_rows::BuildRows, reload::Reload, spill::SpilledJoin,
};
use crate::dynamic_filters::JoinFilterSetter;
use std::{
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::Waker,
};
use volley_error::{Error, Result};
use volley_exec::{OperatorContext, OperatorMetrics};
use volley_memory::{Pool, spill::SpillSpace};
use volley_state::{
    Barrier, OnceValue, Ticket, hash_table::JoinTable, partition::PartitionSet, spill::SpillRun,
};

/// The state of one join.
pub(super) struct JoinShared {
    pub(super) spec: Arc<HashJoinSpec>,
    /// Filters of scans on the probe side.
    filters: Vec<JoinFilterSetter>,
    pool: Pool,
    can_spill: bool,
    /// The rows of the drivers that have ended, but for those that are being written.
    ended: Mutex<Vec<BuildPart>>,
    /// What these take, until the tables are made of them.
    ended_bytes: AtomicUsize,
    /// Once a driver was short of memory.
    disk: OnceLock<BuildDisk>,
    build_drivers: usize,
    /// The tables, while rows are inserted.
    tables: OnceValue<Arc<BuildTables>>,
    /// The same, once all rows are.
    ready: OnceValue<Arc<BuildTables>>,
    probe_drivers: usize,
    ended_probes: AtomicUsize,
    /// All probe rows are written.
    written: Arc<Barrier>,
    /// For probe drivers that are still to be made.
    tickets: Mutex<Vec<Ticket>>,
}

/// What a build driver spills with.
pub(super) struct BuildContext {
    pub(super) space: SpillSpace,
    pub(super) pool: Pool,
    pub(super) metrics: Arc<OperatorMetrics>,
    pub(super) batch_rows: usize,
    /// For tests: partitions come back from disk though others spill.
    pub(super) spill_always: bool,
}

/// The rows of one build driver.
pub(super) struct BuildPart {
    pub(super) rows: BuildRows,
    /// Rows that came, also those not kept.
    pub(super) seen_rows: usize,
    /// Whether a null came in the last key.
    pub(super) has_null: bool,
    /// The partitions of which it has no rows; `None` while it was not asked to write any.
    pub(super) on_disk: Option<PartitionSet>,
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
    /// Where memory was short: all rows are there instead.
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
            ended: Mutex::default(),
            ended_bytes: AtomicUsize::new(0),
            disk: OnceLock::new(),
            build_drivers,
            tables: OnceValue::new(),
            ready: OnceValue::new(),
            probe_drivers,
            ended_probes: AtomicUsize::new(0),
            written,
            tickets: Mutex::new(tickets),
        }
    }

    /// The tables to insert rows into; there once all build drivers have ended.
    pub(super) fn tables(&self) -> &OnceValue<Arc<BuildTables>> {
        &self.tables
    }

    /// The finished tables.
    pub(super) fn ready(&self) -> &OnceValue<Arc<BuildTables>> {
        &self.ready
    }

    /// Whether rows can be written to disk: some kinds of values are nowhere but in memory.
    pub(super) fn can_spill(&self) -> bool {
        self.can_spill
    }

    /// Where rows are written, once a driver was short of memory.
    pub(super) fn disk(&self) -> Option<&BuildDisk> {
        self.disk.get()
    }

    /// As [`JoinShared::disk`]; made by a driver that holds `rows` rows.
    pub(super) fn make_disk(&self, rows: usize, cx: &BuildContext) -> &BuildDisk {
        let rows = rows.saturating_mul(self.build_drivers);
        let make = || BuildDisk::new(&self.spec, &self.filters, rows, (&cx.space, &self.pool));
        self.disk.get_or_init(make)
    }

    /// What the rows of the ended build drivers take.
    pub(super) fn ended_bytes(&self) -> usize {
        self.ended_bytes.load(Ordering::Relaxed)
    }

    /// Takes the rows of the drivers that have ended, to write some of them: no tables are made
    /// until the rows are published again.
    pub(super) fn take_ended(&self) -> Vec<BuildPart> {
        if self.ended_bytes() == 0 {
            return Vec::new();
        }
        let mut ended = lock(&self.ended);
        self.ended_bytes.store(0, Ordering::Relaxed);
        std::mem::take(&mut *ended)
    }

    /// Takes rows of drivers that have ended. Once those of all are there, makes the tables, or
    /// answers what is to be done before that.
    ///
    /// # Errors
    ///
    /// Out of memory; I/O.
    pub(super) fn publish(
        &self,
        parts: Vec<BuildPart>,
        cx: &BuildContext,
    ) -> Result<Option<Reload>> {
        let mut parts = {
            let mut ended = lock(&self.ended);
            ended.extend(parts);
            let is_complete = ended.len() == self.build_drivers;
            let bytes = ended.iter().map(|it| it.rows.bytes()).sum();
            self.ended_bytes.store(if is_complete { 0 } else { bytes }, Ordering::Relaxed);
            if !is_complete {
                return Ok(None);
            }
            std::mem::take(&mut *ended)
        };
        let Some(disk) = self.disk() else {
            self.make_tables(parts, None, cx)?;
            return Ok(None);
        };
        loop {
            parts.iter_mut().try_for_each(|it| it.spill(&self.spec, disk, &cx.pool))?;
            // A table cannot be released, and later operators need memory: it takes at most half of
            // the memory.
            let bytes: usize = parts.iter().map(|it| it.rows.bytes()).sum();
            let rows: usize = parts.iter().map(|it| it.rows.rows()).sum();
            if rows == 0 || bytes <= cx.pool.spare_bytes() {
                break;
            }
            disk.choose(parts.iter_mut())?;
        }
        let runs = disk.writers.finish()?;
        cx.metrics.add_runs(runs.iter().flatten());
        self.reload(Reload::new(&self.spec, disk, parts, runs, cx)?, cx)
    }

    /// Reads a batch of rows back to memory; makes the tables once all are there.
    ///
    /// # Errors
    ///
    /// Out of memory; I/O.
    pub(super) fn reload(&self, mut reload: Reload, cx: &BuildContext) -> Result<Option<Reload>> {
        if reload.step(cx)? {
            return Ok(Some(reload));
        }
        let (parts, runs) = reload.into_parts();
        let disk = self.disk().filter(|_| runs.iter().any(Option::is_some));
        self.make_tables(parts, disk.map(|it| (it, runs)), cx)?;
        Ok(None)
    }

    /// Makes the tables of all rows in memory; `spilled`: the other ones.
    fn make_tables(
        &self,
        parts: Vec<BuildPart>,
        spilled: Option<(&BuildDisk, Vec<Option<SpillRun>>)>,
        cx: &BuildContext,
    ) -> Result<()> {
        let (spec, pool) = (&*self.spec, &self.pool);
        let tables = match spilled {
            None => {
                let filtered: Vec<usize> = self.filters.iter().map(|it| it.key).collect();
                BuildTables::new(spec, parts, &filtered, pool)?
            }
            Some((disk, runs)) => {
                let resident = BuildTables::new(spec, parts, &[], pool)?;
                BuildTables {
                    table: JoinTable::new(spec.table(), Vec::new(), &[], pool)?,
                    correlated: None,
                    is_empty: resident.is_empty,
                    has_null: resident.has_null,
                    spilled: Some(Arc::new(SpilledJoin::new(spec, disk, runs, resident, cx)?)),
                }
            }
        };
        // Set once: all drivers have published their rows.
        let _ = self.tables.set(Arc::new(tables));
        Ok(())
    }

    /// Takes the finished tables of an equal join.
    pub(super) fn adopt(&self, tables: Arc<BuildTables>) {
        for (index, setter) in self.filters.iter().enumerate() {
            setter.set(tables.table.filter(index));
        }
        // No other driver makes them.
        let _ = self.ready.set(tables);
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

    /// Inserts some rows; false if there are none left. The driver that inserts the last ones
    /// publishes the tables.
    ///
    /// # Errors
    ///
    /// As [`JoinTable::insert_next`].
    pub(super) fn insert_next(&self, tables: &Arc<BuildTables>) -> Result<bool> {
        let resident = tables.spilled.as_ref().and_then(|it| it.resident());
        let inserting = resident.as_ref().unwrap_or(tables);
        let inserted = inserting.insert_next()?;
        if inserting.is_complete() {
            let filters = tables.spilled.as_ref().map(|it| &it.filters);
            for (index, setter) in self.filters.iter().enumerate() {
                setter.set(match filters {
                    Some(filters) => filters.get(index).cloned(),
                    None => tables.table.filter(index),
                });
            }
            // Two drivers may find this at the same time; the value is the same.
            let _ = self.ready.set(Arc::clone(tables));
        }
        Ok(inserted)
    }

    /// Notes that a probe driver has seen all of its input; true for the last one of all. A driver
    /// that ends early is not counted: then the output of the last one is not needed.
    pub(super) fn end_probe(&self) -> bool {
        self.ended_probes.fetch_add(1, Ordering::AcqRel) + 1 == self.probe_drivers
    }
}

impl BuildContext {
    pub(super) fn new(cx: &OperatorContext) -> BuildContext {
        BuildContext {
            space: cx.task.spill.clone(),
            pool: cx.pool.clone(),
            metrics: Arc::clone(&cx.metrics),
            batch_rows: cx.task.batch_rows,
            spill_always: cx.task.spill_always,
        }
    }
}

impl BuildTables {
    /// Tables of the rows of `parts`, not yet inserted; with filters of the keys at `filtered`.
    fn new(
        spec: &HashJoinSpec,
        parts: Vec<BuildPart>,
        filtered: &[usize],
        pool: &Pool,
    ) -> Result<BuildTables> {
        let is_empty = parts.iter().all(|it| it.seen_rows == 0);
        let has_null = parts.iter().any(|it| it.has_null);
        let rows = parts.into_iter().map(|it| it.rows).collect();
        let tables = BuildTables::of_rows(spec, rows, filtered, pool)?;
        Ok(BuildTables { is_empty, has_null, ..tables })
    }

    /// As [`BuildTables::new`], without what is known of the whole build side.
    pub(super) fn of_rows(
        spec: &HashJoinSpec,
        rows: Vec<BuildRows>,
        filtered: &[usize],
        pool: &Pool,
    ) -> Result<BuildTables> {
        let (mut matching, mut all, mut nulls) = (Vec::new(), Vec::new(), Vec::new());
        for rows in rows {
            matching.push(rows.matching);
            if let Some(correlated) = rows.correlated {
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
        let table = JoinTable::new(spec.table(), matching, filtered, pool)?;
        Ok(BuildTables { table, correlated, is_empty: false, has_null: false, spilled: None })
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.correlated.as_ref().map_or(&self.table, |it| &it.0).len()
    }

    /// Inserts some rows; false when there are none left.
    ///
    /// # Errors
    ///
    /// As [`JoinTable::insert_next`].
    pub(super) fn insert_next(&self) -> Result<bool> {
        let mut inserted = self.table.insert_next()?;
        if let Some((all, nulls)) = &self.correlated {
            inserted |= all.insert_next()? | nulls.insert_next()?;
        }
        Ok(inserted)
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
