//! Statements that change the rows of a table.

use crate::Query;
use std::sync::Arc;
use volley_connector::{Scan, ScanRequest, Table, TableStatistics, WriteKind};
use volley_error::{Error, Result};
use volley_plan::TableHandle;
use volley_types::Schema;

/// A bound INSERT, UPDATE, DELETE, TRUNCATE or MERGE.
#[derive(Clone, Debug)]
pub struct Write {
    /// The table's name as written.
    pub table: String,
    /// The columns of the table.
    pub schema: Schema,
    /// What the rows of `query` are.
    pub kind: WriteKind,
    /// What to add, change or remove: the columns of `kind`, and behind them a BOOLEAN for each of
    /// `checks`, which is true for a row that violates it.
    pub query: Query,
    /// The errors of constraints that rows must satisfy before they are written.
    pub checks: Vec<String>,
    /// Conditions on the rows that are written, where that is known only afterwards: an INSERT that
    /// leaves out rows whose keys are there checks the others.
    pub late_checks: Vec<Check>,
    /// RETURNING: a query over the written rows, or the removed ones of a DELETE.
    pub returning: Option<Query>,
    /// What `late_checks` and `returning` scan: to be replaced by the rows, once they are known.
    /// Behind the columns of the table, `returning` of [`WriteKind::Merge`] may name one with the
    /// actions.
    pub written: TableHandle,
}

/// A CHECK constraint.
#[derive(Clone, Debug)]
pub struct Check {
    /// The error of a violation.
    pub message: String,
    /// The written rows that it is false for.
    pub violations: Query,
}

/// Rows that are only known when a statement runs: those that it writes, or those of a file.
#[derive(Debug)]
pub(crate) struct LaterRows {
    pub(crate) handle: TableHandle,
    pub(crate) schema: Schema,
}

/// How plans name the written rows.
pub(crate) fn written_handle() -> TableHandle {
    TableHandle { connector: "written rows".to_owned(), table: String::new() }
}

/// How plans name the text of a file.
pub(crate) fn text_handle(path: &str) -> TableHandle {
    TableHandle { connector: "text of a file".to_owned(), table: path.to_owned() }
}

impl Table for LaterRows {
    fn handle(&self) -> TableHandle {
        self.handle.clone()
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        Ok(Arc::default())
    }

    fn scan(&self, _request: ScanRequest) -> Result<Box<dyn Scan>> {
        Err(Error::internal("the rows are not known yet"))
    }
}
