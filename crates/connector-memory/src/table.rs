//! The table.

use crate::{
    batch::{StoredBatch, append},
    row_id::RowIdTable,
    split::{MemoryScan, RowIds, lookup},
    statistics::statistics_of,
};
use std::{
    fmt,
    sync::{Arc, OnceLock},
};
use volley_connector::{
    KeyLookup, Scan, ScanRequest, StoredTable, Table, TableDefinition, TableStatistics, WriteLock,
};
use volley_error::{Error, Result};
use volley_memory::{Pool, check_cancelled};
use volley_plan::TableHandle;
use volley_types::{Schema, Type};
use volley_vector::{Batch, Vector};

/// The connector's name in table handles.
pub const CONNECTOR: &str = "memory";

/// An immutable version of a table in memory. Cheap to clone.
#[derive(Clone)]
pub struct MemoryTable {
    name: String,
    schema: Schema,
    definition: Arc<TableDefinition>,
    batches: Arc<[StoredBatch]>,
    /// Shared by the clones of the version.
    statistics: Arc<OnceLock<Arc<TableStatistics>>>,
    /// What all versions are charged to.
    pool: Pool,
    /// One for all versions.
    lock: Arc<WriteLock>,
}

impl MemoryTable {
    /// A table of `batches`, charged to `pool`.
    ///
    /// # Errors
    ///
    /// Out of memory; what a lazy column's loader reports; the query was cancelled.
    pub fn new(
        name: impl Into<String>,
        schema: Schema,
        batches: Vec<Batch>,
        pool: &Pool,
    ) -> Result<MemoryTable> {
        let pool = pool.child("table in memory");
        let batches = own(&schema, batches, &pool)?;
        Ok(MemoryTable {
            name: name.into(),
            schema,
            definition: Arc::default(),
            batches: batches.into(),
            statistics: Arc::default(),
            pool,
            lock: Arc::default(),
        })
    }

    /// A table of `batches` whose flat columns are shared with an owner that is charged for them.
    /// What has to be copied is charged to `pool`.
    ///
    /// # Errors
    ///
    /// As [`MemoryTable::new`].
    pub fn sharing(
        name: impl Into<String>,
        schema: Schema,
        batches: Vec<Batch>,
        pool: &Pool,
    ) -> Result<MemoryTable> {
        let table = MemoryTable::new(name, schema, Vec::new(), pool)?;
        let shared = batches.into_iter().filter(|it| it.rows() > 0).map(|batch| {
            check_cancelled()?;
            StoredBatch::sharing(
                typed_columns(&table.schema, batch.clone()),
                batch.rows(),
                &table.pool,
            )
        });
        let shared = shared.collect::<Result<Vec<_>>>()?;
        Ok(table.with_batches(shared))
    }

    /// The table with promises of which nothing checks whether its rows keep them.
    pub fn with_definition(self, definition: Arc<TableDefinition>) -> MemoryTable {
        MemoryTable { definition, ..self }
    }

    /// The version under another name.
    pub fn renamed(&self, name: impl Into<String>) -> MemoryTable {
        MemoryTable { name: name.into(), ..self.clone() }
    }

    /// A version with more rows.
    ///
    /// # Errors
    ///
    /// As [`MemoryTable::new`].
    pub fn append(&self, added: Vec<Batch>) -> Result<MemoryTable> {
        let types: Vec<Type> = self.schema.types().cloned().collect();
        let mut batches = self.batches.to_vec();
        append(&mut batches, own(&self.schema, added, &self.pool)?, &types, &self.pool)?;
        Ok(self.with_batches(batches))
    }

    /// A version without rows.
    pub fn without_rows(&self) -> MemoryTable {
        self.with_batches(Vec::new())
    }

    /// A version of other batches.
    pub(crate) fn with_batches(&self, batches: Vec<StoredBatch>) -> MemoryTable {
        MemoryTable { batches: batches.into(), statistics: Arc::default(), ..self.clone() }
    }

    /// A version of other columns.
    pub(crate) fn with_columns(
        &self,
        schema: Schema,
        definition: TableDefinition,
        batches: Vec<StoredBatch>,
    ) -> MemoryTable {
        let definition = Arc::new(definition);
        MemoryTable { schema, definition, ..self.with_batches(batches) }
    }

    pub(crate) fn batches(&self) -> &Arc<[StoredBatch]> {
        &self.batches
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// What holds for the rows.
    pub fn definition(&self) -> &Arc<TableDefinition> {
        &self.definition
    }

    /// Who changes the table holds this. All versions have the same one.
    pub fn lock(&self) -> &Arc<WriteLock> {
        &self.lock
    }

    /// Whether this is a version of the same table with the same columns and promises.
    ///
    /// # Errors
    ///
    /// Invalid query: another table has its name by now, or it was altered.
    pub fn check_same(&self, other: &MemoryTable) -> Result<()> {
        if Arc::ptr_eq(&self.lock, &other.lock) && Arc::ptr_eq(&self.definition, &other.definition)
        {
            return Ok(());
        }
        let message = format!("table was changed by another statement: {}", self.name);
        Err(Error::invalid_query(message).hint("run the statement again"))
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.batches.iter().map(StoredBatch::rows).sum()
    }
}

/// Batches of the table's types that keep alive no more than their own rows.
pub(crate) fn own(schema: &Schema, batches: Vec<Batch>, pool: &Pool) -> Result<Vec<StoredBatch>> {
    let mut owned = Vec::with_capacity(batches.len());
    for batch in batches.into_iter().filter(|it| it.rows() > 0) {
        check_cancelled()?;
        let rows = batch.rows();
        owned.push(StoredBatch::new(typed_columns(schema, batch), rows, pool)?);
    }
    Ok(owned)
}

/// The columns of a batch with the types of the table: NULL has none of its own.
fn typed_columns(schema: &Schema, batch: Batch) -> Vec<Vector> {
    let rows = batch.rows();
    let columns = batch.into_columns().into_iter().zip(schema.types()).map(|(column, to)| {
        let is_untyped = *column.data_type() == Type::Unknown;
        if is_untyped { Vector::nulls(to.clone(), rows) } else { column }
    });
    columns.collect()
}

impl Table for MemoryTable {
    fn handle(&self) -> TableHandle {
        TableHandle { connector: CONNECTOR.into(), table: self.name.clone() }
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        if let Some(statistics) = self.statistics.get() {
            return Ok(Arc::clone(statistics));
        }
        let statistics = Arc::new(statistics_of(&self.schema, &self.batches)?);
        Ok(Arc::clone(self.statistics.get_or_init(|| statistics)))
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        Ok(Box::new(MemoryScan::new(self.clone(), RowIds::None, request)?))
    }

    fn lookup(&self, keys: &KeyLookup, columns: &[usize]) -> Result<Option<Batch>> {
        lookup(self, keys, columns)
    }

    fn as_stored(&self) -> Option<StoredTable> {
        Some(StoredTable {
            definition: Arc::clone(&self.definition),
            with_row_ids: Arc::new(RowIdTable::new(self.clone())),
        })
    }
}

impl fmt::Debug for MemoryTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryTable({}, {} rows)", self.name, self.rows())
    }
}
