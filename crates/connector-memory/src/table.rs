//! The table.

use crate::{split::MemoryScan, statistics::statistics_of};
use std::{
    fmt,
    sync::{Arc, OnceLock},
};
use volley_connector::{Scan, ScanRequest, Table, TableStatistics};
use volley_error::Result;
use volley_memory::{Pool, Reservation};
use volley_plan::TableHandle;
use volley_types::{Schema, Type};
use volley_vector::{Batch, Vector};

/// The connector's name in table handles.
pub const CONNECTOR: &str = "memory";

/// An immutable version of a table in memory.
pub struct MemoryTable {
    name: String,
    schema: Schema,
    batches: Arc<[Batch]>,
    statistics: OnceLock<Arc<TableStatistics>>,
    /// Bytes of the batches; shared by versions that share batches.
    _charges: Vec<Arc<Reservation>>,
}

impl MemoryTable {
    /// A table of `batches`, charged to `pool`.
    ///
    /// # Errors
    ///
    /// Out of memory; what a lazy column's loader reports.
    pub fn new(
        name: impl Into<String>,
        schema: Schema,
        batches: Vec<Batch>,
        pool: &Pool,
    ) -> Result<MemoryTable> {
        let (batches, charge) = own(&schema, batches, pool)?;
        Ok(MemoryTable {
            name: name.into(),
            schema,
            batches: batches.into(),
            statistics: OnceLock::new(),
            _charges: vec![Arc::new(charge)],
        })
    }

    /// A version with more rows.
    ///
    /// # Errors
    ///
    /// As [`MemoryTable::new`].
    pub fn append(&self, batches: Vec<Batch>, pool: &Pool) -> Result<MemoryTable> {
        let (batches, charge) = own(&self.schema, batches, pool)?;
        let mut charges = self._charges.clone();
        charges.push(Arc::new(charge));
        Ok(MemoryTable {
            name: self.name.clone(),
            schema: self.schema.clone(),
            batches: self.batches.iter().cloned().chain(batches).collect(),
            statistics: OnceLock::new(),
            _charges: charges,
        })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.batches.iter().map(Batch::rows).sum()
    }
}

/// Batches that keep alive no more than their own rows, and their charge.
fn own(schema: &Schema, batches: Vec<Batch>, pool: &Pool) -> Result<(Vec<Batch>, Reservation)> {
    let mut charge = pool.child("table in memory").reservation();
    let mut owned = Vec::with_capacity(batches.len());
    for batch in batches.into_iter().filter(|it| it.rows() > 0) {
        let rows = batch.rows();
        let columns = batch.into_columns().into_iter().zip(schema.types()).map(|(column, to)| {
            let column = if *column.data_type() == Type::Unknown {
                Vector::nulls(to.clone(), rows)
            } else {
                column
            };
            column.flatten()
        });
        let batch = Batch::new(columns.collect::<Result<_>>()?, rows);
        charge.grow(batch.retained_bytes())?;
        owned.push(batch);
    }
    Ok((owned, charge))
}

impl Table for MemoryTable {
    fn handle(&self) -> TableHandle {
        TableHandle { connector: CONNECTOR.into(), table: self.name.clone() }
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        let statistics =
            self.statistics.get_or_init(|| Arc::new(statistics_of(&self.schema, &self.batches)));
        Ok(Arc::clone(statistics))
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        Ok(Box::new(MemoryScan::new(Arc::clone(&self.batches), request)))
    }
}

impl fmt::Debug for MemoryTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryTable({}, {} rows)", self.name, self.rows())
    }
}
