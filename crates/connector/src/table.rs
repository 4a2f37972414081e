//! Tables.

use crate::{KeyLookup, PlanTable, Scan, StoredTable, TableStatistics};
use std::{fmt, sync::Arc};
use volley_error::Result;
use volley_expression::{
    Expr,
    filter::{ColumnFilter, Conjuncts, ConjunctsSpec},
};
use volley_function::{QueryConstants, Registry};
use volley_memory::Pool;
use volley_plan::TableHandle;
use volley_types::{Field, Schema};
use volley_vector::Batch;

/// A table as of one moment: its files or rows do not change while somebody holds it.
pub trait Table: Send + Sync + fmt::Debug {
    /// How a plan names it.
    fn handle(&self) -> TableHandle;

    /// Its columns.
    fn schema(&self) -> &Schema;

    /// Fields of its columns that a scan reads as columns of their own, without the rest of the
    /// column. Their positions are those behind the columns, also in statistics.
    fn fields(&self) -> &[ColumnField] {
        &[]
    }

    /// What is known of its contents, for the optimizer; computed on first use.
    ///
    /// # Errors
    ///
    /// I/O, corruption.
    fn statistics(&self) -> Result<Arc<TableStatistics>>;

    /// Prepares reading it.
    ///
    /// # Errors
    ///
    /// I/O, corruption, a filter that does not compile.
    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>>;

    /// The rows with keys of the table, read at once: `columns` of them, in any order. `None`: the
    /// table is scanned for them.
    ///
    /// # Errors
    ///
    /// I/O, corruption, cancelled.
    fn lookup(&self, _keys: &KeyLookup, _columns: &[usize]) -> Result<Option<Batch>> {
        Ok(None)
    }

    /// What its connector opens the same table by in another process that sees the same files, as
    /// bytes; `None`: only this process can scan it.
    fn definition(&self) -> Option<Vec<u8>> {
        None
    }

    /// The table as one that a plan makes, if it is: the plan runs where it would be scanned.
    fn as_plan(&self) -> Option<&PlanTable> {
        None
    }

    /// The table as one whose rows can be changed, if they can.
    fn as_stored(&self) -> Option<StoredTable> {
        None
    }
}

/// A field of a column of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnField {
    /// The column, by position in the table.
    pub column: usize,
    /// The position of the field in the column's row, of the field of that in its row, and so on.
    pub path: Vec<usize>,
    /// Its name, for people, and its type.
    pub field: Field,
}

/// What to read.
#[derive(Clone)]
pub struct ScanRequest {
    /// The columns to output, by position in the table; those after its columns are
    /// [fields](Table::fields).
    pub columns: Vec<usize>,
    /// Conjuncts over the table's columns. The source applies all of them: a row that it puts out
    /// satisfies every one.
    pub filters: Vec<Expr>,
    /// Filters that joins make, known (or not to come) before the first source is made, and bounds,
    /// which may get tighter at any time. A source may leave out rows that they rule out.
    pub dynamic_filters: Vec<ColumnFilter>,
    /// The most rows per batch.
    pub batch_rows: usize,
    /// For compiling filters.
    pub registry: Arc<Registry>,
    /// For compiling filters.
    pub query: Arc<QueryConstants>,
    /// Where buffers are charged.
    pub pool: Pool,
}

impl ScanRequest {
    /// Compiles the filters of the request; `None` when there are none. Filters of joins count when
    /// they are known by now.
    ///
    /// # Errors
    ///
    /// A filter that does not compile.
    pub fn conjuncts(&self) -> Result<Option<Conjuncts>> {
        Conjuncts::new(ConjunctsSpec {
            filters: self.filters.clone(),
            dynamic_filters: self.dynamic_filters.clone(),
            registry: Arc::clone(&self.registry),
            query: Arc::clone(&self.query),
            pool: self.pool.clone(),
        })
    }
}

/// Finds the tables that a plan names.
pub trait TableProvider: Send + Sync {
    /// The table behind `handle`.
    ///
    /// # Errors
    ///
    /// Invalid query, when there is none.
    fn table(&self, handle: &TableHandle) -> Result<Arc<dyn Table>>;
}
