//! Rows that are collected before they are added to a table.

use crate::{RowSink, TableWriter};
use std::sync::{Arc, Mutex, PoisonError};
use volley_error::Result;
use volley_memory::{Pool, Reservation};
use volley_types::{Schema, Type};
use volley_vector::{Batch, Vector};

/// Batches of a table have about this many rows.
const BATCH_ROWS: usize = 1 << 16;

/// Merges small batches into ones that suit a table, and keeps the order of their rows.
#[derive(Debug)]
pub struct BatchMerger {
    types: Vec<Type>,
    small: Vec<Batch>,
    rows: usize,
    bytes: usize,
}

impl BatchMerger {
    /// Of batches of these columns.
    pub fn new(types: Vec<Type>) -> BatchMerger {
        BatchMerger { types, small: Vec::new(), rows: 0, bytes: 0 }
    }

    /// The bytes of the batches that are not merged yet.
    pub fn held_bytes(&self) -> usize {
        self.bytes
    }

    /// Takes a batch; returns a large one once there are enough rows.
    ///
    /// # Errors
    ///
    /// Of a lazy column's loader.
    pub fn push(&mut self, batch: Batch) -> Result<Option<Batch>> {
        let rows = batch.rows();
        let typed = batch.into_columns().into_iter().zip(&self.types).map(|(column, to)| {
            let is_untyped = *column.data_type() == Type::Unknown;
            if is_untyped { Vector::nulls(to.clone(), rows) } else { column }
        });
        let batch = Batch::new(typed.collect(), rows);
        self.rows += rows;
        self.bytes += batch.retained_bytes();
        self.small.push(batch);
        if self.rows < BATCH_ROWS { Ok(None) } else { self.flush() }
    }

    /// The rows that are left.
    ///
    /// # Errors
    ///
    /// As [`BatchMerger::push`].
    pub fn flush(&mut self) -> Result<Option<Batch>> {
        if self.rows == 0 {
            return Ok(None);
        }
        let merged = Batch::concat(&self.types, &self.small)?;
        self.small.clear();
        (self.rows, self.bytes) = (0, 0);
        Ok(Some(merged))
    }
}

/// Collects rows in memory, in the order of the sinks. A transaction without a writer of its own
/// adds them to a table afterwards.
#[derive(Debug)]
pub struct RowCollector {
    types: Vec<Type>,
    collected: Arc<Mutex<Collected>>,
}

/// The batches of each sink, and what they are charged to.
#[derive(Debug)]
struct Collected {
    batches: Vec<Vec<Batch>>,
    charge: Reservation,
}

impl RowCollector {
    /// Collects rows with these columns, charged to `pool`.
    pub fn new(columns: &Schema, pool: &Pool) -> RowCollector {
        let collected = Collected { batches: Vec::new(), charge: pool.reservation() };
        let types = columns.types().cloned().collect();
        RowCollector { types, collected: Arc::new(Mutex::new(collected)) }
    }

    /// The rows of all sinks that were finished, with their charge.
    pub fn take(&self) -> (Vec<Batch>, Reservation) {
        let mut collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        let batches = std::mem::take(&mut collected.batches).into_iter().flatten().collect();
        let empty = collected.charge.pool().reservation();
        (batches, std::mem::replace(&mut collected.charge, empty))
    }
}

impl TableWriter for RowCollector {
    fn sinks_max(&self) -> usize {
        usize::MAX
    }

    fn open(&self) -> Result<Box<dyn RowSink>> {
        let mut collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        collected.batches.push(Vec::new());
        Ok(Box::new(CollectorSink {
            sink: collected.batches.len() - 1,
            merger: BatchMerger::new(self.types.clone()),
            collected: Arc::clone(&self.collected),
        }))
    }
}

struct CollectorSink {
    sink: usize,
    merger: BatchMerger,
    collected: Arc<Mutex<Collected>>,
}

impl CollectorSink {
    fn keep(&self, batch: Option<Batch>) -> Result<()> {
        let Some(batch) = batch else { return Ok(()) };
        let mut collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        collected.charge.grow(batch.retained_bytes())?;
        if let Some(own) = collected.batches.get_mut(self.sink) {
            own.push(batch);
        }
        Ok(())
    }
}

impl RowSink for CollectorSink {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let merged = self.merger.push(batch.clone())?;
        self.keep(merged)
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
