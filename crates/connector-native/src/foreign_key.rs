//! FOREIGN KEY: checks of the rows that a statement changed. The commit compares hashes of the keys
//! with those of other transactions.

use crate::key::KeySearch;
use std::{collections::BTreeSet, sync::Arc};
use volley_connector::{
    Changed, ForeignKeyCheck, ForeignKeyTables, NewKeys, ReferencedKeys, TableEntry, TableId,
};
use volley_error::{Error, Result};
use volley_pdt::RowId;
use volley_storage::{Changes, Storage, TableView};
use volley_vector::Batch;

/// Checks what a statement did to a table. `updated`: the rows of `before` whose values in the
/// updated columns changed.
pub(crate) fn check(
    changes: &mut Changes,
    table: TableId,
    (changed, updated_columns): (&Changed, &[usize]),
    before: &TableView,
    updated: &[RowId],
    storage: &Storage,
) -> Result<()> {
    let Some(entry) = changes.catalog.table(table).map(|it| Arc::clone(it.1)) else {
        return Ok(());
    };
    let mut old = changed.removed.clone();
    let needs_old = ForeignKeyCheck::needs_old_rows(&changes.catalog, table, updated_columns);
    if needs_old && !updated.is_empty() {
        let all: Vec<usize> = (0..entry.columns.len()).collect();
        old.push(before.fetch(updated, &all)?);
    }
    let is_update = changed.removed.is_empty() && changed.written.len() == changed.changed_batches;
    let updated = is_update.then_some(updated_columns);
    let keys = run(changes, &entry, (&changed.written, &old), updated, storage)?;
    note(changes, table, keys, storage)
}

/// Checks all rows of a table against its foreign keys.
pub(crate) fn check_rows(
    changes: &mut Changes,
    table: TableId,
    rows: &[Batch],
    storage: &Storage,
) -> Result<()> {
    let Some(entry) = changes.catalog.table(table).map(|it| Arc::clone(it.1)) else {
        return Ok(());
    };
    let keys = run(changes, &entry, (rows, &[]), None, storage)?;
    note(changes, table, keys, storage)
}

fn run(
    changes: &Changes,
    entry: &TableEntry,
    (written, old): (&[Batch], &[Batch]),
    updated: Option<&[usize]>,
    storage: &Storage,
) -> Result<ReferencedKeys> {
    let catalog = &changes.catalog;
    let pool = storage.pool();
    let check = ForeignKeyCheck { catalog, table: entry, written, old, updated, pool };
    check.run(&Rows(changes))
}

fn note(
    changes: &mut Changes,
    table: TableId,
    keys: ReferencedKeys,
    storage: &Storage,
) -> Result<()> {
    if keys != ReferencedKeys::default() {
        changes.table_mut(table)?.references.add(keys, storage.key_budget())?;
    }
    Ok(())
}

/// The rows that a transaction sees.
struct Rows<'a>(&'a Changes);

impl ForeignKeyTables for Rows<'_> {
    fn find(&self, table: TableId, columns: &[usize], keys: &mut NewKeys) -> Result<()> {
        let (view, gone) = (self.0.view(table)?, BTreeSet::new());
        if columns.iter().any(|it| *it >= view.types.len()) {
            return Err(Error::internal("a foreign key of columns that do not exist"));
        }
        KeySearch { view: &view, gone: &gone }.find(columns, keys)
    }
}
