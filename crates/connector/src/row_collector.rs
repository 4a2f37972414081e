//! Rows that are collected before they are added to a table.

use crate::{BatchIndex, RowSink, TableWriter};
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

/// What the sinks of a table made, in the order of their source.
#[derive(Debug)]
pub struct OrderedParts<T>(Vec<(BatchIndex, usize, T)>);

impl<T> Default for OrderedParts<T> {
    fn default() -> OrderedParts<T> {
        OrderedParts(Vec::new())
    }
}

impl<T> OrderedParts<T> {
    /// Adds what sink number `sink` made of rows at an index, behind what it made before.
    pub fn push(&mut self, index: BatchIndex, sink: usize, part: T) {
        self.0.push((index, sink, part));
    }

    /// All of them in their order.
    pub fn take(&mut self) -> Vec<T> {
        let mut parts = std::mem::take(&mut self.0);
        // Those of one sink and index keep their order.
        parts.sort_by_key(|it| (it.0, it.1));
        parts.into_iter().map(|it| it.2).collect()
    }
}

/// Collects rows in memory, in the order of their source. A transaction without a writer of its own
/// adds them to a table afterwards.
#[derive(Debug)]
pub struct RowCollector {
    types: Vec<Type>,
    collected: Arc<Mutex<Collected>>,
}

/// The batches of all sinks, and what they are charged to.
#[derive(Debug)]
struct Collected {
    batches: OrderedParts<Batch>,
    sinks: usize,
    charge: Reservation,
}

impl RowCollector {
    /// Collects rows with these columns, charged to `pool`.
    pub fn new(columns: &Schema, pool: &Pool) -> RowCollector {
        let collected =
            Collected { batches: OrderedParts::default(), sinks: 0, charge: pool.reservation() };
        let types = columns.types().cloned().collect();
        RowCollector { types, collected: Arc::new(Mutex::new(collected)) }
    }

    /// The rows of all sinks that were finished, with their charge.
    pub fn take(&self) -> (Vec<Batch>, Reservation) {
        let mut collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        let batches = collected.batches.take();
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
        collected.sinks += 1;
        Ok(Box::new(CollectorSink {
            sink: collected.sinks,
            index: BatchIndex::default(),
            merger: BatchMerger::new(self.types.clone()),
            collected: Arc::clone(&self.collected),
        }))
    }
}

struct CollectorSink {
    sink: usize,
    index: BatchIndex,
    merger: BatchMerger,
    collected: Arc<Mutex<Collected>>,
}

impl CollectorSink {
    fn keep(&self, batch: Option<Batch>) -> Result<()> {
        let Some(batch) = batch else { return Ok(()) };
        let mut collected = self.collected.lock().unwrap_or_else(PoisonError::into_inner);
        collected.charge.grow(batch.retained_bytes())?;
        collected.batches.push(self.index, self.sink, batch);
        Ok(())
    }
}

impl RowSink for CollectorSink {
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
