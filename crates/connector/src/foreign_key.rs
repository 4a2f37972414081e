//! FOREIGN KEY: the rows that a statement wrote have keys of the referenced table, and the rows
//! that it removed or changed are referenced by none.
//!
//! ```text
//! written rows ── keys not null ──> each is in the referenced table, after the change
//! old rows ── keys that no written row has ──> none is in a table with a foreign key
//! ```
//!
//! Both are looked up in the rows that the transaction sees. What another transaction commits at
//! the same time is found at the commit, by hashes of these keys.

use crate::{CatalogSnapshot, ForeignKeyDefinition, KeyDefinition, NewKeys, TableEntry, TableId};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_memory::Pool;
use volley_types::Schema;
use volley_vector::Batch;

/// The rows of the tables of a transaction, after its change.
pub trait ForeignKeyTables {
    /// Marks the keys that rows of `table` have in `columns`: [`NewKeys::set_found`].
    ///
    /// # Errors
    ///
    /// Invalid query: no such table. I/O, corruption, out of memory, cancelled.
    fn find(&self, table: TableId, columns: &[usize], keys: &mut NewKeys) -> Result<()>;
}

/// Hashes of keys: of a table, and the columns that have the keys in the order of a foreign key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyHashes {
    /// The table with the keys.
    pub table: TableId,
    /// Its columns.
    pub columns: Vec<usize>,
    /// A hash per key that is not null; [`key_hashes`](crate::key_hashes).
    pub hashes: Vec<u64>,
}

/// What a statement expects of keys until its transaction has committed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReferencedKeys {
    /// Keys that written rows reference: others must not remove them.
    pub required: Vec<KeyHashes>,
    /// Keys that are gone: others must not reference them.
    pub removed: Vec<KeyHashes>,
}

/// A statement that changed rows of a table.
pub struct ForeignKeyCheck<'a> {
    /// The objects that the transaction sees.
    pub catalog: &'a CatalogSnapshot,
    /// The table.
    pub table: &'a TableEntry,
    /// The rows that were written: batches of the table's columns.
    pub written: &'a [Batch],
    /// The rows that were removed, and those that were changed as they were before.
    pub old: &'a [Batch],
    /// The columns that changed, if no row was added or removed; `None`: all.
    pub updated: Option<&'a [usize]>,
    /// What the check reserves memory of.
    pub pool: &'a Pool,
}

impl ForeignKeyCheck<'_> {
    /// Whether a foreign key references the table, so that a check needs `old`.
    pub fn needs_old_rows(catalog: &CatalogSnapshot, table: TableId, updated: &[usize]) -> bool {
        let is_updated = |it: &usize| updated.contains(it);
        catalog.references_to(table).any(|it| it.key.referenced.iter().any(is_updated))
    }

    /// Checks the rows against those of `tables`.
    ///
    /// # Errors
    ///
    /// Invalid value: a key that is not there, a key that is still referenced. Those of `tables`.
    pub fn run(&self, tables: &dyn ForeignKeyTables) -> Result<ReferencedKeys> {
        let mut keys = ReferencedKeys::default();
        for key in &self.table.definition.foreign_keys {
            if self.is_changed(&key.columns) && !self.written.is_empty() {
                keys.required.extend(self.check_written(key, tables)?);
            }
        }
        if self.old.is_empty() {
            return Ok(keys);
        }
        for reference in self.catalog.references_to(self.table.id) {
            if self.is_changed(&reference.key.referenced) {
                let (child, key) = (reference.table, reference.key);
                keys.removed.extend(self.check_removed(child, key, tables)?);
            }
        }
        Ok(keys)
    }

    fn is_changed(&self, columns: &[usize]) -> bool {
        self.updated.is_none_or(|it| columns.iter().any(|column| it.contains(column)))
    }

    /// The keys of `rows`, batches of the checked table, in `columns`.
    fn keys(&self, columns: &[usize], rows: &[Batch]) -> Result<NewKeys> {
        let key = KeyDefinition { columns: columns.to_vec(), is_primary: false, index: None };
        NewKeys::new(&key, &self.table.columns, rows, self.pool)
    }

    fn check_written(
        &self,
        key: &ForeignKeyDefinition,
        tables: &dyn ForeignKeyTables,
    ) -> Result<Option<KeyHashes>> {
        let mut keys = self.keys(&key.columns, self.written)?;
        if !keys.has_keys() {
            return Ok(None);
        }
        let target = key.target(self.table.id);
        tables.find(target, &key.referenced, &mut keys)?;
        if let Some(row) = keys.not_found().next() {
            let values = keys.keys().slice(row, 1);
            return Err(self.missing(key, &values)?);
        }
        let (columns, hashes) = (key.referenced.clone(), keys.hashes().collect());
        Ok(Some(KeyHashes { table: target, columns, hashes }))
    }

    fn check_removed(
        &self,
        child: &Arc<TableEntry>,
        key: &ForeignKeyDefinition,
        tables: &dyn ForeignKeyTables,
    ) -> Result<Option<KeyHashes>> {
        let mut gone = self.keys(&key.referenced, self.old)?;
        for written in self.written {
            gone.find_in(&written.project(&key.referenced), |_| true)?;
        }
        let rows: Vec<u32> = gone.not_found().map(|it| it as u32).collect();
        if rows.is_empty() {
            return Ok(None);
        }
        let gone = gone.keys().wrap(&rows.into());
        let (all, own) = ((0..key.referenced.len()).collect(), gone.clone());
        let own_key = KeyDefinition { columns: all, is_primary: false, index: None };
        let fields = key.referenced.iter().filter_map(|it| self.table.columns.fields.get(*it));
        let schema = Schema::new(fields.cloned().collect());
        let mut keys = NewKeys::new(&own_key, &schema, &[own], self.pool)?;
        let hashes = keys.hashes().collect();
        tables.find(child.id, &key.columns, &mut keys)?;
        if let Some(row) = keys.found().to_indices().first() {
            let values = gone.slice(*row as usize, 1);
            return Err(self.referenced(child, key, &values)?);
        }
        let columns = key.referenced.clone();
        Ok(Some(KeyHashes { table: self.table.id, columns, hashes }))
    }

    #[cold]
    fn missing(&self, key: &ForeignKeyDefinition, values: &Batch) -> Result<Error> {
        let target = self.catalog.table(key.target(self.table.id));
        let (_, target) = target.ok_or_else(|| Error::internal("no referenced table"))?;
        let (own, other) = (shown(&self.table.columns, &key.columns, values)?, &target.columns);
        let message = format!(
            "foreign key of table {}: {own} references no row of table {} with {}",
            self.table.name,
            target.name,
            shown(other, &key.referenced, values)?
        );
        Ok(Error::invalid_value(message))
    }

    #[cold]
    fn referenced(
        &self,
        child: &TableEntry,
        key: &ForeignKeyDefinition,
        values: &Batch,
    ) -> Result<Error> {
        let message = format!(
            "foreign key of table {}: rows with {} still reference the row of table {} with {}",
            child.name,
            shown(&child.columns, &key.columns, values)?,
            self.table.name,
            shown(&self.table.columns, &key.referenced, values)?
        );
        Ok(Error::invalid_value(message))
    }
}

/// The names of `columns` with the values of the one row of `values`.
fn shown(schema: &Schema, columns: &[usize], values: &Batch) -> Result<String> {
    let mut parts = Vec::with_capacity(columns.len());
    for (column, vector) in columns.iter().zip(values.columns()) {
        let Some(field) = schema.fields.get(*column) else { continue };
        let value = vector.value(0)?;
        parts.push(format!("{} = {}", field.name, value.display(&field.data_type)));
    }
    Ok(parts.join(", "))
}
