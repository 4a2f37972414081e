//! Tables.

use crate::{scan::NativeScan, statistics::statistics_of};
use std::{
    fmt,
    sync::{Arc, OnceLock},
};
use volley_connector::{
    CatalogSnapshot, Scan, ScanRequest, StoredTable, Table, TableEntry, TableId, TableStatistics,
};
use volley_error::{Error, Result};
use volley_plan::TableHandle;
use volley_storage::{Changes, TableView};
use volley_types::{Field, Schema, Type};

/// The connector's name in table handles.
pub const CONNECTOR: &str = "native";

/// The connector's name in handles of tables with row ids.
const WITH_ROW_IDS: &str = "native with row ids";

/// The rows of a table as a snapshot or a transaction sees them.
pub(crate) struct NativeTable {
    name: String,
    entry: Arc<TableEntry>,
    view: Arc<TableView>,
    statistics: OnceLock<Arc<TableStatistics>>,
}

/// Whether the rows' ids are a column behind the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowIds {
    None,
    Appended,
}

impl NativeTable {
    pub(crate) fn new(changes: &Changes, table: TableId) -> Result<NativeTable> {
        let view = Arc::new(changes.view(table)?);
        let found = changes.catalog.table(table);
        let (schema, entry) = found.ok_or_else(|| Error::internal("a table without a name"))?;
        let name = CatalogSnapshot::shown_name(&schema.name, &entry.name);
        Ok(NativeTable { name, entry: Arc::clone(entry), view, statistics: OnceLock::new() })
    }
}

impl Table for NativeTable {
    fn handle(&self) -> TableHandle {
        TableHandle { connector: CONNECTOR.into(), table: self.name.clone() }
    }

    fn schema(&self) -> &Schema {
        &self.entry.columns
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        if let Some(statistics) = self.statistics.get() {
            return Ok(Arc::clone(statistics));
        }
        let statistics = Arc::new(statistics_of(&self.view)?);
        Ok(Arc::clone(self.statistics.get_or_init(|| statistics)))
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        Ok(Box::new(NativeScan::new(&self.view, RowIds::None, request)?))
    }

    fn as_stored(&self) -> Option<StoredTable> {
        let mut schema = self.entry.columns.clone();
        schema.fields.push(Field::new("row id", Type::BigInt));
        let with_row_ids =
            RowIdTable { name: self.name.clone(), schema, view: Arc::clone(&self.view) };
        Some(StoredTable {
            definition: Arc::clone(&self.entry.definition),
            with_row_ids: Arc::new(with_row_ids),
        })
    }
}

/// A table with one more column: the ids of its rows.
struct RowIdTable {
    name: String,
    schema: Schema,
    view: Arc<TableView>,
}

impl Table for RowIdTable {
    fn handle(&self) -> TableHandle {
        TableHandle { connector: WITH_ROW_IDS.into(), table: self.name.clone() }
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        let statistics = statistics_of(&self.view)?;
        Ok(Arc::new(TableStatistics { is_exact: false, ..statistics }))
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        Ok(Box::new(NativeScan::new(&self.view, RowIds::Appended, request)?))
    }
}

impl fmt::Debug for NativeTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NativeTable({}, {} rows)", self.name, self.view.rows())
    }
}

impl fmt::Debug for RowIdTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowIdTable({}, {} rows)", self.name, self.view.rows())
    }
}
