//! Rows on their way into a table: every driver makes batches of the table.

use crate::{batch::StoredBatch, table::own};
use std::sync::{Arc, Mutex, PoisonError};
use volley_connector::{BatchIndex, BatchMerger, OrderedParts, RowSink, TableWriter};
use volley_error::Result;
use volley_memory::Pool;
use volley_types::{Schema, Type};
use volley_vector::Batch;

/// Makes batches of a table, which are charged as the table's are.
pub(crate) struct MemoryWriter {
    schema: Schema,
    pool: Pool,
    made: Arc<Mutex<Made>>,
}

/// What the sinks made.
#[derive(Default)]
struct Made {
    batches: OrderedParts<StoredBatch>,
    sinks: usize,
}

impl MemoryWriter {
    /// Makes batches with these columns.
    pub fn new(schema: Schema, pool: &Pool) -> MemoryWriter {
        MemoryWriter { schema, pool: pool.clone(), made: Arc::default() }
    }

    /// The batches of all sinks, in the order of their source.
    pub fn take(&self) -> Vec<StoredBatch> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.batches.take()
    }
}

impl TableWriter for MemoryWriter {
    fn sinks_max(&self) -> usize {
        usize::MAX
    }

    fn open(&self) -> Result<Box<dyn RowSink>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.sinks += 1;
        let types: Vec<Type> = self.schema.types().cloned().collect();
        Ok(Box::new(MemorySink {
            sink: made.sinks,
            index: BatchIndex::default(),
            schema: self.schema.clone(),
            pool: self.pool.clone(),
            merger: BatchMerger::new(types),
            made: Arc::clone(&self.made),
        }))
    }
}

struct MemorySink {
    sink: usize,
    index: BatchIndex,
    schema: Schema,
    pool: Pool,
    merger: BatchMerger,
    made: Arc<Mutex<Made>>,
}

impl MemorySink {
    fn keep(&self, batch: Option<Batch>) -> Result<()> {
        let Some(batch) = batch else { return Ok(()) };
        let stored = own(&self.schema, vec![batch], &self.pool)?;
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        for batch in stored {
            made.batches.push(self.index, self.sink, batch);
        }
        Ok(())
    }
}

impl RowSink for MemorySink {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let merged = self.merger.push(batch.clone())?;
        self.keep(merged)
    }

    fn begin(&mut self, index: BatchIndex) -> Result<()> {
        let merged = self.merger.flush()?;
        self.keep(merged)?;
        self.index = index;
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        let merged = self.merger.flush()?;
        self.keep(merged)
    }

    fn held_bytes(&self) -> usize {
        self.merger.held_bytes()
    }

    fn write_bytes(&self, flat_bytes: usize) -> usize {
        flat_bytes
    }
}
