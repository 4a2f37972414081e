//! What the drivers of both sides share.

use super::HashJoinSpec;
use crate::{
    Promise,
    hash_table::{JoinRows, JoinTable},
    join_filter::JoinFilterSetter,
};
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};
use volley_error::Result;
use volley_memory::Pool;

/// The state of one join.
pub(super) struct JoinShared {
    pub(super) spec: Arc<HashJoinSpec>,
    /// Filters of scans on the probe side.
    filters: Vec<JoinFilterSetter>,
    pool: Pool,
    /// Rows of the build drivers that have ended.
    parts: Mutex<Vec<BuildPart>>,
    build_drivers: usize,
    /// The tables, while rows are inserted.
    tables: Promise<Arc<BuildTables>>,
    /// The same, once all rows are.
    ready: Promise<Arc<BuildTables>>,
    probe_drivers: usize,
    ended_probes: AtomicUsize,
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
}

impl JoinShared {
    pub(super) fn new(
        spec: Arc<HashJoinSpec>,
        filters: Vec<JoinFilterSetter>,
        (build_drivers, probe_drivers): (usize, usize),
        pool: &Pool,
    ) -> JoinShared {
        JoinShared {
            spec,
            filters,
            pool: pool.clone(),
            parts: Mutex::default(),
            build_drivers,
            tables: Promise::new(),
            ready: Promise::new(),
            probe_drivers,
            ended_probes: AtomicUsize::new(0),
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
    /// Out of memory.
    pub(super) fn add_part(&self, part: BuildPart) -> Result<()> {
        let parts = {
            let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
            parts.push(part);
            if parts.len() < self.build_drivers {
                return Ok(());
            }
            std::mem::take(&mut *parts)
        };
        let tables = BuildTables::new(self, parts)?;
        // Set once: this was the last driver.
        let _ = self.tables.set(Arc::new(tables));
        Ok(())
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
                setter.set(tables.table.filter(index));
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
    fn new(shared: &JoinShared, parts: Vec<BuildPart>) -> Result<BuildTables> {
        let (spec, pool) = (&*shared.spec, &shared.pool);
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
        Ok(BuildTables { table, correlated, is_empty, has_null })
    }

    fn is_complete(&self) -> bool {
        let correlated = self.correlated.as_ref();
        let correlated = correlated.is_none_or(|it| it.0.is_complete() && it.1.is_complete());
        correlated && self.table.is_complete()
    }
}
