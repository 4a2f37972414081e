//! The rows of a table with their identities.

use crate::{
    MemoryTable,
    split::{MemoryScan, RowIds, lookup},
};
use std::{fmt, sync::Arc};
use volley_connector::{KeyLookup, Scan, ScanRequest, Table, TableStatistics};
use volley_error::Result;
use volley_plan::TableHandle;
use volley_types::{Field, Schema, Type};
use volley_vector::Batch;

/// The connector's name in handles of tables with row ids.
const CONNECTOR: &str = "memory with row ids";

/// Bits of a row id that say which row of a batch it is; those above say which batch.
const ROW_BITS: u32 = 32;

/// A version of a table with one more column: the ids of its rows.
pub(crate) struct RowIdTable {
    table: MemoryTable,
    schema: Schema,
}

/// The id of row `row` of batch `batch`.
pub(crate) fn row_id(batch: usize, row: usize) -> i64 {
    ((batch << ROW_BITS) | row) as i64
}

/// The batch and the row in it that an id means.
pub(crate) fn place_of(id: i64) -> (usize, usize) {
    let id = id as usize;
    (id >> ROW_BITS, id & ((1 << ROW_BITS) - 1))
}

impl RowIdTable {
    pub fn new(table: MemoryTable) -> RowIdTable {
        let mut schema = table.schema().clone();
        schema.fields.push(Field::new("row id", Type::BigInt));
        RowIdTable { table, schema }
    }
}

impl Table for RowIdTable {
    fn handle(&self) -> TableHandle {
        TableHandle { connector: CONNECTOR.into(), ..self.table.handle() }
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        let mut statistics = (*self.table.statistics()?).clone();
        statistics.is_exact = false;
        Ok(Arc::new(statistics))
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        Ok(Box::new(MemoryScan::new(self.table.clone(), RowIds::Appended, request)?))
    }

    fn lookup(&self, keys: &KeyLookup, columns: &[usize]) -> Result<Option<Batch>> {
        lookup(&self.table, keys, columns)
    }
}

impl fmt::Debug for RowIdTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowIdTable({:?})", self.table)
    }
}
