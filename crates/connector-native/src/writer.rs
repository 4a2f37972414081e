//! Rows on their way into a table: every driver encodes its own.
//!
//! ```text
//! sink   few rows ──> batches, kept in memory
//!        more     ──> SegmentWriter: blocks are encoded and written while rows arrive
//! apply  the parts of all sinks, in the order of their source
//! ```
//!
//! Segments of a transaction that does not commit are in files that nothing refers to; a checkpoint
//! removes them.

use crate::change::typed_batch;
use std::{
    fmt,
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use volley_connector::{BatchIndex, BatchMerger, OrderedParts, RowSink, TableId, TableWriter};
use volley_error::Result;
use volley_memory::{Pool, Reservation};
use volley_storage::{ChunkFiles, Segment, SegmentWriter, Storage, TableDescription};
use volley_types::{Schema, Type};
use volley_vector::{Batch, Loader, Vector};

/// Rows that were written.
pub(crate) enum WrittenPart {
    /// In memory.
    Rows(Batch),
    /// On disk.
    Segment(Arc<Segment>),
}

/// Receives rows of a table.
pub(crate) struct NativeWriter {
    shared: Arc<WriterShared>,
}

/// What the sinks wrote.
#[derive(Default)]
struct Written {
    parts: OrderedParts<WrittenPart>,
    sinks: usize,
}

/// What the sinks of a writer share.
struct WriterShared {
    table: TableId,
    columns: Schema,
    types: Arc<[Type]>,
    files: Arc<ChunkFiles>,
    /// The table, as the files that are written describe it.
    description: Option<TableDescription>,
    pool: Pool,
    /// With as many rows, a sink begins a segment.
    bulk_rows: usize,
    written: Mutex<Written>,
    /// Of rows in memory.
    charge: Mutex<Reservation>,
}

impl NativeWriter {
    /// Rows that are not on disk yet are charged to `pool`.
    pub(crate) fn new(
        table: TableId,
        columns: &Schema,
        description: Option<TableDescription>,
        (storage, pool): (&Storage, &Pool),
    ) -> NativeWriter {
        let shared = WriterShared {
            table,
            columns: columns.clone(),
            types: columns.types().cloned().collect(),
            files: Arc::clone(storage.files()),
            description,
            pool: pool.clone(),
            bulk_rows: storage.bulk_rows(),
            written: Mutex::default(),
            charge: Mutex::new(pool.reservation()),
        };
        NativeWriter { shared: Arc::new(shared) }
    }

    /// The table.
    pub(crate) fn table(&self) -> TableId {
        self.shared.table
    }

    /// What the sinks wrote, in the order of its source. Rows in memory are not charged
    /// any more.
    pub(crate) fn take(&self) -> Vec<WrittenPart> {
        let mut charge = self.shared.charge.lock().unwrap_or_else(PoisonError::into_inner);
        *charge = self.shared.pool.reservation();
        drop(charge);
        self.shared.written().parts.take()
    }
}

impl WriterShared {
    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TableWriter for NativeWriter {
    fn sinks_max(&self) -> usize {
        usize::MAX
    }

    fn open(&self) -> Result<Box<dyn RowSink>> {
        let mut written = self.shared.written();
        written.sinks += 1;
        Ok(Box::new(NativeSink {
            number: written.sinks,
            first: BatchIndex::default(),
            last: None,
            merger: BatchMerger::new(self.shared.types.to_vec()),
            segments: None,
            shared: Arc::clone(&self.shared),
        }))
    }
}

/// The sink of a driver.
struct NativeSink {
    number: usize,
    /// Where the rows that are not kept yet begin in the order of their source.
    first: BatchIndex,
    /// Where its last rows are.
    last: Option<BatchIndex>,
    /// Rows before there are enough for a segment.
    merger: BatchMerger,
    segments: Option<SegmentWriter>,
    shared: Arc<WriterShared>,
}

impl NativeSink {
    /// Keeps rows in memory.
    fn keep(&self, rows: Batch) -> Result<()> {
        let mut charge = self.shared.charge.lock().unwrap_or_else(PoisonError::into_inner);
        charge.grow(rows.retained_bytes())?;
        self.add([WrittenPart::Rows(rows)]);
        Ok(())
    }

    fn add(&self, parts: impl IntoIterator<Item = WrittenPart>) {
        let mut written = self.shared.written();
        for part in parts {
            written.parts.push(self.first, self.number, part);
        }
    }

    /// Keeps all rows so far.
    fn flush(&mut self) -> Result<()> {
        if let Some(segments) = self.segments.take() {
            self.add(segments.finish()?.into_iter().map(WrittenPart::Segment));
        }
        match self.merger.flush()? {
            Some(merged) => self.keep(merged),
            None => Ok(()),
        }
    }
}

impl RowSink for NativeSink {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let shared = &*self.shared;
        if let Some(segments) = &mut self.segments {
            return segments.write(&typed_batch(batch.clone(), &shared.columns)?);
        }
        let Some(merged) = self.merger.push(batch.clone())? else { return Ok(()) };
        if merged.rows() < shared.bulk_rows {
            return self.keep(merged);
        }
        let mut segments =
            SegmentWriter::new(&shared.files, shared.table, &shared.types, &shared.pool);
        if let Some(description) = &shared.description {
            segments.describe(description)?;
        }
        segments.write(&merged)?;
        self.segments = Some(segments);
        Ok(())
    }

    fn begin(&mut self, index: BatchIndex) -> Result<()> {
        // Rows of other sinks may come between two indexes that do not follow each other.
        let next = self.last.and_then(|it| it.0.checked_add(1));
        if next != Some(index.0) {
            self.flush()?;
            self.first = index;
        }
        self.last = Some(index);
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.flush()
    }

    fn held_bytes(&self) -> usize {
        self.merger.held_bytes()
    }

    fn write_bytes(&self, flat_bytes: usize) -> usize {
        flat_bytes
    }
}

/// The rows of a segment, block by block; columns are read when they are needed.
pub(crate) fn lazy_rows(segment: &Arc<Segment>, types: &[Type]) -> Vec<Batch> {
    let batch = |block: u32| {
        let rows = segment.block_rows(block);
        let column = |(column, data_type): (usize, &Type)| {
            let (segment, data_type) = (Arc::clone(segment), data_type.clone());
            let loader = WrittenColumn { segment, column, block, rows: rows.clone(), data_type };
            Vector::lazy(loader.data_type.clone(), rows.len(), Box::new(loader))
        };
        Batch::new(types.iter().enumerate().map(column).collect(), rows.len())
    };
    (0..segment.blocks()).map(batch).collect()
}

/// A block of a column that was written.
struct WrittenColumn {
    segment: Arc<Segment>,
    column: usize,
    block: u32,
    rows: Range<u32>,
    data_type: Type,
}

impl Loader for WrittenColumn {
    fn load(&mut self, rows: Option<&[u32]>) -> Result<Vector> {
        let mut reader = self.segment.open(self.column, self.block, &self.data_type)?;
        reader.read(0..self.rows.end - self.rows.start, rows)
    }
}

impl fmt::Debug for NativeWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NativeWriter({:?})", self.shared.table)
    }
}
