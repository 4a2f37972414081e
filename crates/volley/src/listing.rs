//! Tables of a few rows that are computed on access.

use std::sync::Arc;
use volley_connector::{Scan, ScanRequest, Table, TableStatistics};
use volley_connector_memory::MemoryTable;
use volley_error::Result;
use volley_memory::Pool;
use volley_plan::TableHandle;
use volley_types::{Schema, Type, Value};
use volley_vector::{Batch, Vector};

/// The table of these rows, charged to `pool`.
pub(crate) fn listed(
    name: String,
    schema: Schema,
    rows: &[Vec<Value>],
    pool: &Pool,
) -> Result<Arc<dyn Table>> {
    let column = |(index, data_type): (usize, &Type)| {
        let values = rows.iter().map(|row| row.get(index).cloned().unwrap_or(Value::Null));
        Vector::from_values(data_type.clone(), &values.collect::<Vec<_>>())
    };
    let columns = schema.types().enumerate().map(column).collect();
    let batch = Batch::new(columns, rows.len());
    Ok(Arc::new(Listing(MemoryTable::new(name, schema, vec![batch], pool)?)))
}

/// Rows that cannot be changed.
#[derive(Debug)]
struct Listing(MemoryTable);

impl Table for Listing {
    fn handle(&self) -> TableHandle {
        self.0.handle()
    }

    fn schema(&self) -> &Schema {
        self.0.schema()
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        self.0.statistics()
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        self.0.scan(request)
    }
}
