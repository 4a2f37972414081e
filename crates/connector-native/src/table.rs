//! Tables.

use crate::{key, lookup::read_rows, scan::NativeScan, statistics::statistics_of};
use std::{
    fmt,
    sync::{Arc, OnceLock},
};
use volley_connector::{
    CatalogSnapshot, KeyLookup, Scan, ScanRequest, StoredTable, Table, TableEntry, TableId,
    TableStatistics,
};
use volley_error::{Error, Result};
use volley_pdt::RowId;
use volley_plan::TableHandle;
use volley_storage::{Changes, TableView};
use volley_types::{Field, Schema, Type};
use volley_vector::Batch;

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
        Ok(Box::new(NativeScan::new(&self.view, &self.entry, RowIds::None, request)?))
    }

    fn lookup(&self, keys: &KeyLookup, columns: &[usize]) -> Result<Option<Batch>> {
        lookup(&self.view, keys, columns)
    }

    fn as_stored(&self) -> Option<StoredTable> {
        let mut schema = self.entry.columns.clone();
        schema.fields.push(Field::new("row id", Type::BigInt));
        let (entry, view) = (Arc::clone(&self.entry), Arc::clone(&self.view));
        let with_row_ids = RowIdTable { name: self.name.clone(), schema, entry, view };
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
    entry: Arc<TableEntry>,
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
        Ok(Box::new(NativeScan::new(&self.view, &self.entry, RowIds::Appended, request)?))
    }

    fn lookup(&self, keys: &KeyLookup, columns: &[usize]) -> Result<Option<Batch>> {
        lookup(&self.view, keys, columns)
    }
}

fn lookup(view: &TableView, keys: &KeyLookup, columns: &[usize]) -> Result<Option<Batch>> {
    let found = match key::is_lookup(keys.keys.rows(), view) {
        true => view.find(&keys.columns, &keys.keys)?,
        false => None,
    };
    let Some(found) = found else { return Ok(None) };
    let ids: Vec<RowId> = found.iter().map(|it| it.row).collect();
    read_rows(view, &ids, columns).map(Some)
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
