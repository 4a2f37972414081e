//! PRIMARY KEY and UNIQUE: rows to be written against all others.
//!
//! Few keys are looked up in indexes. For many keys all rows are read; segments and zones whose
//! bounds rule all new keys out are skipped. Keys that others commit at the same time are found at
//! the commit, by their hashes.

use crate::change::{base_ranges, read_base};
use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use volley_connector::{
    Bounds, KeyDefinition, NewKeys, TableDefinition, are_apart, duplicate_key, without_rows,
};
use volley_error::Result;
use volley_memory::{Pool, check_cancelled};
use volley_pdt::{Budget, RowId, RowName};
use volley_storage::{SegmentView, TableChange, TableView, ZONE_ROWS, bounds_of};
use volley_types::Schema;
use volley_vector::{Batch, Vector};

/// Checks that keys of rows to be written are new.
pub(crate) struct UniqueCheck<'a> {
    pub(crate) columns: &'a Schema,
    pub(crate) definition: &'a TableDefinition,
    /// The rows before the change.
    pub(crate) before: &'a TableView,
    /// The rows whose keys do not count any more.
    pub(crate) gone: &'a BTreeSet<RowId>,
    /// How many batches hold changed rows; those after them are to be added.
    pub(crate) changed_batches: usize,
    pub(crate) pool: &'a Pool,
    /// What written keys are charged to.
    pub(crate) key_budget: &'a Arc<Budget>,
}

/// The minimum ratio of rows of a table to keys for which these are looked up by index.
const ROWS_PER_LOOKUP: u64 = 16;

/// Checks that looked keys up: tests use it as proof of the path taken.
pub(crate) static LOOKED_UP: AtomicU64 = AtomicU64::new(0);

/// Whether the rows of `keys` keys are looked up by index.
pub(crate) fn is_lookup(keys: usize, view: &TableView) -> bool {
    (keys as u64).saturating_mul(ROWS_PER_LOOKUP) <= view.rows()
}

impl UniqueCheck<'_> {
    /// The rows that are left to be written. Notes their keys in `change`.
    pub(crate) fn check(
        &self,
        mut written: Vec<Batch>,
        updated: &[usize],
        skipping: &[usize],
        change: &mut TableChange,
    ) -> Result<Vec<Batch>> {
        if written.is_empty() || self.definition.keys.is_empty() {
            return Ok(written);
        }
        for key in skipping.iter().filter_map(|it| self.definition.keys.get(*it)) {
            let found = self.new_keys(key, &written)?.found();
            written = without_rows(written, &found)?;
        }
        for (index, key) in self.definition.keys.iter().enumerate() {
            let changes = key.columns.iter().any(|it| updated.contains(it));
            if written.len() == self.changed_batches && !changes {
                continue;
            }
            let keys = self.new_keys(key, &written)?;
            if !skipping.contains(&index)
                && let Some(row) = keys.found().to_indices().first()
            {
                return Err(duplicate_key(key, self.columns, &written, *row as usize)?);
            }
            change.add_keys(&key.columns, keys.hashes(), self.key_budget)?;
        }
        Ok(written)
    }

    /// The keys of `written`, with those marked that other rows have.
    fn new_keys(&self, key: &KeyDefinition, written: &[Batch]) -> Result<NewKeys> {
        let mut keys = NewKeys::new(key, self.columns, written, self.pool)?;
        KeySearch { view: self.before, gone: self.gone }.find(&key.columns, &mut keys)?;
        Ok(keys)
    }
}

/// A search for keys in the rows of a table.
pub(crate) struct KeySearch<'a> {
    pub(crate) view: &'a TableView,
    /// The rows that do not count.
    pub(crate) gone: &'a BTreeSet<RowId>,
}

impl KeySearch<'_> {
    /// Marks the keys that rows have in `columns`.
    pub(crate) fn find(&self, columns: &[usize], keys: &mut NewKeys) -> Result<()> {
        if !keys.has_keys() {
            return Ok(());
        }
        if is_lookup(keys.rows(), self.view)
            && let Some(found) = self.view.find(columns, keys.keys())?
        {
            LOOKED_UP.fetch_add(1, Ordering::Relaxed);
            for found in found.iter().filter(|it| !self.gone.contains(&it.row)) {
                keys.set_found(found.key as usize);
            }
            return Ok(());
        }
        self.scan(columns, keys)
    }

    /// Finds the keys by reading all rows.
    fn scan(&self, columns: &[usize], keys: &mut NewKeys) -> Result<()> {
        let columns_of_keys = keys.keys().columns().iter();
        let bounds: Vec<Bounds> =
            columns_of_keys.map(|it| bounds_of(&it.flatten()?)).collect::<Result<_>>()?;
        for segment in &self.view.segments {
            self.find_in_base(columns, segment, &bounds, keys)?;
            for inserted in segment.plan()?.inserted_with_ids(columns) {
                check_cancelled()?;
                let segment = segment.segment_id();
                let counts = |row: usize| {
                    let id = inserted.ids.get(row).copied().unwrap_or_default();
                    !self.gone.contains(&RowId { segment, row: RowName::Inserted(id) })
                };
                keys.find_in(&flat(&inserted.rows)?, counts)?;
            }
        }
        Ok(())
    }

    fn find_in_base(
        &self,
        columns: &[usize],
        segment: &SegmentView,
        bounds: &[Bounds],
        keys: &mut NewKeys,
    ) -> Result<()> {
        let rows = &segment.version().segment;
        let plan = segment.plan()?;
        let is_apart = |of: &dyn Fn(usize) -> Bounds| {
            columns.iter().zip(bounds).any(|(column, new)| are_apart(new, &of(*column)))
        };
        let of_segment = |column: usize| match plan.modifies(column as u32) {
            true => Bounds::default(),
            false => rows.bounds(column),
        };
        if rows.rows() == 0 || is_apart(&of_segment) {
            return Ok(());
        }
        let zones = rows.zones(&self.view.types)?;
        for sids in base_ranges(segment) {
            check_cancelled()?;
            let changes = plan.range(sids.clone());
            let zone = (sids.start / ZONE_ROWS) as usize;
            let of_zone = |column: usize| match changes.modified(column as u32) {
                Some(_) => Bounds::default(),
                None => zones.get(column).and_then(|it| it.get(zone)).cloned().unwrap_or_default(),
            };
            if is_apart(&of_zone) {
                continue;
            }
            let (ids, batch) = read_base(self.view, segment, sids, columns)?;
            let counts = |row: usize| ids.get(row).is_some_and(|it| !self.gone.contains(it));
            keys.find_in(&flat(&batch)?, counts)?;
        }
        Ok(())
    }
}

/// Checks that no two rows have the same key.
pub(crate) fn check_among_themselves(
    definition: &TableDefinition,
    columns: &Schema,
    rows: &[Batch],
    pool: &Pool,
) -> Result<()> {
    for key in &definition.keys {
        let found = NewKeys::new(key, columns, rows, pool)?.found();
        if let Some(row) = found.to_indices().first() {
            return Err(duplicate_key(key, columns, rows, *row as usize)?);
        }
    }
    Ok(())
}

fn flat(rows: &Batch) -> Result<Batch> {
    let columns = rows.columns().iter().map(Vector::flatten).collect::<Result<_>>()?;
    Ok(Batch::new(columns, rows.rows()))
}
