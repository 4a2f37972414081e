//! FOREIGN KEY: checks of the rows that a statement changed, and of what two transactions made
//! together.

use super::State;
use crate::{MemoryTable, key};
use std::collections::BTreeMap;
use volley_connector::{
    CatalogSnapshot, Changed, ForeignKeyCheck, ForeignKeyTables, NewKeys, RowChanges, Table,
    TableEntry, TableId,
};
use volley_error::{Error, ErrorKind, Result};
use volley_memory::Pool;
use volley_vector::Batch;

/// What a check needs to know of a change before it is made.
pub(super) struct Before {
    updated_columns: Vec<usize>,
    /// The rows that are changed, if a foreign key references a column that changes.
    updated_rows: Vec<Batch>,
}

impl Before {
    pub(super) fn of(
        catalog: &CatalogSnapshot,
        id: TableId,
        table: &MemoryTable,
        changes: &RowChanges,
    ) -> Result<Before> {
        let updated_columns = changes.updated_columns.clone();
        let updated_rows = match ForeignKeyCheck::needs_old_rows(catalog, id, &updated_columns) {
            true => table.rows_before(&changes.updates)?,
            false => Vec::new(),
        };
        Ok(Before { updated_columns, updated_rows })
    }

    /// Checks what a change did to a table, whose next version `state` has.
    pub(super) fn check(&self, state: &State, table: TableId, changed: &Changed) -> Result<()> {
        let Some((_, entry)) = state.catalog.table(table) else { return Ok(()) };
        let is_update =
            changed.removed.is_empty() && changed.written.len() == changed.changed_batches;
        let old: Vec<Batch> = self.updated_rows.iter().chain(&changed.removed).cloned().collect();
        let check = ForeignKeyCheck {
            catalog: &state.catalog,
            table: entry,
            written: &changed.written,
            old: &old,
            updated: is_update.then_some(&self.updated_columns),
            pool: state.version(table)?.table.pool(),
        };
        check.run(state).map(drop)
    }
}

impl State {
    /// Checks all rows of a table against its foreign keys.
    pub(super) fn check_foreign_keys(&self, table: &TableEntry) -> Result<()> {
        let rows = &self.version(table.id)?.table;
        let check = ForeignKeyCheck {
            catalog: &self.catalog,
            table,
            written: &rows.all_rows(),
            old: &[],
            updated: None,
            pool: rows.pool(),
        };
        check.run(self).map(drop)
    }

    /// Checks foreign keys between a table that a transaction changed since `base` and another one
    /// that others changed since then.
    ///
    /// # Errors
    ///
    /// A conflict: the transactions changed both ends of a foreign key.
    pub(super) fn check_merged(&self, base: &State, own: &State, committed: &State) -> Result<()> {
        let number = |of: &State, id: TableId| of.tables.get(&id).map(|it| it.number);
        for reference in self.catalog.references() {
            let (child, parent) = (reference.table.id, reference.key.target(reference.table.id));
            let is_own = |id: TableId| number(base, id) != number(own, id);
            let is_other = |id: TableId| number(base, id) != number(committed, id);
            if !(is_own(child) && is_other(parent) || is_own(parent) && is_other(child)) {
                continue;
            }
            self.check_foreign_keys(reference.table).map_err(|it| match it.kind() {
                ErrorKind::InvalidValue => {
                    let (schema, name) = (&reference.schema.name, &reference.table.name);
                    CatalogSnapshot::conflict(&CatalogSnapshot::shown_name(schema, name))
                }
                _ => it,
            })?;
        }
        Ok(())
    }
}

impl ForeignKeyTables for State {
    fn find(&self, table: TableId, columns: &[usize], keys: &mut NewKeys) -> Result<()> {
        let table = &self.version(table)?.table;
        if columns.iter().any(|it| *it >= table.schema().len()) {
            return Err(Error::internal("a foreign key of columns that do not exist"));
        }
        let pool: &Pool = table.pool();
        key::find_keys(keys, columns, table.batches(), &BTreeMap::new(), pool)
    }
}
