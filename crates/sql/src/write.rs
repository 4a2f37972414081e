//! Statements that change the rows of a table.

use crate::Query;
use std::sync::Arc;
use volley_connector::{Scan, ScanRequest, Table, TableStatistics};
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
    /// What to add, change or remove.
    pub query: Query,
    /// Conditions on the rows that are written.
    pub checks: Vec<Check>,
    /// RETURNING: a query over the written rows, or the removed ones of a DELETE.
    pub returning: Option<Query>,
    /// What `checks` and `returning` scan: to be replaced by the rows, once they are known. Behind
    /// the columns of the table, `returning` of [`WriteKind::Merge`] may name one with the actions.
    pub written: TableHandle,
}

/// What the rows of a query that changes a table are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// Rows to add: the columns of the table.
    Insert {
        /// The keys of the table, by position, for which rows that are there already are left out.
        skipping_keys: Vec<usize>,
    },
    /// The ids of rows to remove; the same may come several times.
    Delete,
    /// The ids of rows to change, then the new values of these columns. When an id comes several
    /// times, any of its rows holds.
    Update {
        /// By position in the table.
        columns: Vec<usize>,
    },
    /// An id, an action ([`MergeAction`] as INTEGER), then all columns of the table. An id that
    /// comes several times is an error.
    Merge {
        /// What the statement is, for that error.
        statement: &'static str,
    },
}

/// What to do with a row of MERGE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeAction {
    /// Add it; it has no id.
    Insert,
    /// Change the one with the id.
    Update,
    /// Remove the one with the id.
    Delete,
}

/// A CHECK constraint.
#[derive(Clone, Debug)]
pub struct Check {
    /// Its name, or its text.
    pub name: String,
    /// The written rows that it is false for.
    pub violations: Query,
}

impl MergeAction {
    /// The number that represents it.
    pub fn code(self) -> i32 {
        match self {
            MergeAction::Insert => 0,
            MergeAction::Update => 1,
            MergeAction::Delete => 2,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            MergeAction::Insert => "INSERT",
            MergeAction::Update => "UPDATE",
            MergeAction::Delete => "DELETE",
        }
    }

    /// The meaning of the number.
    pub fn of_code(code: i32) -> Option<MergeAction> {
        [MergeAction::Insert, MergeAction::Update, MergeAction::Delete]
            .into_iter()
            .find(|it| it.code() == code)
    }
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
