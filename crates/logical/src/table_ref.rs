//! How a logical plan names tables.

use std::sync::{Arc, Mutex, PoisonError};
use volley_connector::{Table, TableId};
use volley_error::{Error, Result};
use volley_plan::TableHandle;

/// Names a table of a statement. It is data: a [`TableResolver`] knows the table behind it, as of
/// the moment that the statement sees.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TableRef {
    /// A table of an attached database.
    Stored {
        /// The name that the database is attached under, in lower case.
        database: String,
        /// Identifies the table in the database.
        table: TableId,
        /// Whether the rows have their ids behind the last column.
        row_ids: RowIds,
    },
    /// A table that is in no database, such as a file, by its number within the statement.
    External(u32),
}

/// Whether a scan returns the ids of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowIds {
    /// Only the columns of the table.
    Without,
    /// One more column behind the last, the id; see
    /// [`StoredTable::with_row_ids`](volley_connector::StoredTable::with_row_ids).
    Appended,
}

/// A table and how plans name it.
#[derive(Clone, Debug)]
pub struct NamedTable {
    /// How plans name it.
    pub reference: TableRef,
    /// The table.
    pub table: Arc<dyn Table>,
}

/// Finds the tables that a logical plan names.
pub trait TableResolver: Send + Sync {
    /// The table behind `reference`.
    ///
    /// # Errors
    ///
    /// Invalid query: no such table. I/O.
    fn resolve(&self, reference: &TableRef) -> Result<Arc<dyn Table>>;

    /// How plans name the table: two tables of a statement have different handles.
    ///
    /// # Errors
    ///
    /// As [`TableResolver::resolve`].
    fn handle(&self, reference: &TableRef) -> Result<TableHandle> {
        Ok(self.resolve(reference)?.handle())
    }
}

impl NamedTable {
    /// The same rows with their ids in one more column, if the table has ids.
    pub fn with_row_ids(&self) -> Option<NamedTable> {
        let TableRef::Stored { database, table, .. } = &self.reference else { return None };
        let (database, table, row_ids) = (database.clone(), *table, RowIds::Appended);
        let reference = TableRef::Stored { database, table, row_ids };
        Some(NamedTable { reference, table: self.table.as_stored()?.with_row_ids })
    }
}

/// The tables of a statement that are in no database. Tables with the same
/// [handle](Table::handle) are the same table, but for those [that a plan makes](Table::as_plan):
/// their names say nothing about the arguments of the plan.
#[derive(Debug, Default)]
pub struct ExternalTables(Mutex<Vec<Arc<dyn Table>>>);

impl ExternalTables {
    /// How plans name `table` from now on.
    pub fn add(&self, table: Arc<dyn Table>) -> TableRef {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = table.handle();
        let known = match table.as_plan() {
            Some(_) => None,
            None => tables.iter().position(|it| it.as_plan().is_none() && it.handle() == handle),
        };
        let index = known.unwrap_or_else(|| {
            tables.push(table);
            tables.len() - 1
        });
        TableRef::External(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// Table `number`.
    ///
    /// # Errors
    ///
    /// Internal: no such number.
    pub fn get(&self, number: u32) -> Result<Arc<dyn Table>> {
        let tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let table = tables.get(number as usize).cloned();
        table.ok_or_else(|| Error::internal("a table of another statement"))
    }
}
