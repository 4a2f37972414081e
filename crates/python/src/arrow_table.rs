//! Arrow record batches of Python as a table: each batch is a split, so that all threads scan.
//!
//! Columns become vectors when they are read, and only those that a query names. Buffers are shared
//! where the layouts agree.

use crate::zone::with_source_zones;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::Waker,
};
use volley::{
    Batch, Error, Result, Scan, ScanRequest, Schema, Source, Table, TableStatistics,
    connector::{
        ListedSplits, ScanMetrics, SourceStep, Split, SplitReader, SplitSource, SplitWriter,
    },
};
use volley_expression::filter::Conjuncts;
use volley_function::Registry;
use volley_plan::TableHandle;
use volley_vector::{
    Vector,
    arrow::{field_from_arrow, schema_from_arrow},
};

/// The number of these tables in the bytes of splits.
const CONNECTOR: u8 = 96;

/// Most rows of a split: a large record batch is read by several drivers.
const SPLIT_ROWS: usize = 1 << 17;

/// What the next table is called.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A name that no other table of the process has, for the handle of a table of Python.
pub(crate) fn next_handle() -> TableHandle {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    TableHandle { connector: "python".into(), table: format!("arrow-{number}") }
}

/// A table of record batches.
pub(crate) struct ArrowTable {
    handle: TableHandle,
    arrow_schema: SchemaRef,
    schema: Schema,
    batches: Arc<[RecordBatch]>,
}

impl ArrowTable {
    /// The table of `batches`, which have the schema.
    ///
    /// # Errors
    ///
    /// Arrow types without a counterpart.
    pub(crate) fn new(arrow_schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<ArrowTable> {
        let schema = with_source_zones(schema_from_arrow(&arrow_schema)?, &arrow_schema);
        let mut split = Vec::new();
        for batch in batches {
            for start in (0..batch.num_rows()).step_by(SPLIT_ROWS) {
                split.push(batch.slice(start, SPLIT_ROWS.min(batch.num_rows() - start)));
            }
        }
        Ok(ArrowTable { handle: next_handle(), arrow_schema, schema, batches: split.into() })
    }

    /// Its schema in Arrow.
    pub(crate) fn arrow_schema(&self) -> &SchemaRef {
        &self.arrow_schema
    }

    /// Its rows.
    pub(crate) fn batches(&self) -> &Arc<[RecordBatch]> {
        &self.batches
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }
}

impl fmt::Debug for ArrowTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArrowTable({}, {} rows)", self.handle.table, self.rows())
    }
}

impl Table for ArrowTable {
    fn handle(&self) -> TableHandle {
        self.handle.clone()
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        let rows = u64::try_from(self.rows()).ok();
        Ok(Arc::new(TableStatistics { rows, ..TableStatistics::default() }))
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        Ok(Box::new(ArrowScan { batches: Arc::clone(&self.batches), request }))
    }
}

struct ArrowScan {
    batches: Arc<[RecordBatch]>,
    request: ScanRequest,
}

impl Scan for ArrowScan {
    fn splits(&self) -> Result<Box<dyn SplitSource>> {
        let splits = self.batches.iter().enumerate().map(|(index, batch)| Split {
            size_bytes: batch.get_array_memory_size() as u64,
            ..Split::new(
                SplitWriter::new(CONNECTOR).number(index as u64).finish(),
                format!("record batch {index}"),
            )
        });
        Ok(ListedSplits::boxed(splits.collect()))
    }

    fn source(&self) -> Result<Box<dyn Source>> {
        Ok(Box::new(ArrowSource {
            batches: Arc::clone(&self.batches),
            registry: Arc::clone(&self.request.registry),
            rows: BatchRows::new(&self.request)?,
            metrics: ScanMetrics::default(),
        }))
    }
}

struct ArrowSource {
    batches: Arc<[RecordBatch]>,
    registry: Arc<Registry>,
    rows: BatchRows,
    metrics: ScanMetrics,
}

impl Source for ArrowSource {
    fn start(&mut self, split: Split) -> Result<()> {
        let mut reader = SplitReader::new(&split, CONNECTOR, &self.registry)?;
        let index = reader.position()?;
        reader.finish()?;
        let batch = self.batches.get(index);
        let batch = batch.ok_or_else(|| Error::corruption(format!("no record batch {index}")))?;
        self.metrics.groups_read += 1;
        self.metrics.rows_read += batch.num_rows() as u64;
        self.rows.start(batch, None)
    }

    fn step(&mut self, _waker: &Waker) -> Result<SourceStep> {
        self.rows.step()
    }

    fn split_share(&self) -> f64 {
        self.rows.share()
    }

    fn metrics(&self) -> ScanMetrics {
        let mut metrics = self.metrics;
        metrics += self.rows.dropped();
        metrics
    }
}

/// Reads a record batch in batches of the engine, without the rows that filters drop.
pub(crate) struct BatchRows {
    columns: Vec<usize>,
    batch_rows: usize,
    conjuncts: Option<Conjuncts>,
    /// The columns of the record batch that the query reads, by position.
    current: Option<Batch>,
    /// Per column of the table: its position in `current`.
    positions: Vec<usize>,
    read: usize,
}

impl BatchRows {
    pub(crate) fn new(request: &ScanRequest) -> Result<BatchRows> {
        Ok(BatchRows {
            columns: request.columns.clone(),
            batch_rows: request.batch_rows.max(1),
            conjuncts: request.conjuncts()?,
            current: None,
            positions: Vec::new(),
            read: 0,
        })
    }

    /// The columns of the table that the query reads, in order.
    pub(crate) fn used(&self) -> Vec<usize> {
        let filtered = self.conjuncts.as_ref().map_or(&[][..], Conjuncts::columns);
        let mut used: Vec<usize> = self.columns.iter().chain(filtered).copied().collect();
        used.sort_unstable();
        used.dedup();
        used
    }

    /// Takes the next record batch. `columns`: the columns of the table that it has, in its order;
    /// all of them when there is no list.
    pub(crate) fn start(&mut self, batch: &RecordBatch, columns: Option<&[usize]>) -> Result<()> {
        let used = self.used();
        let schema = batch.schema();
        let column = |index: &usize| -> Result<Vector> {
            let position = match columns {
                None => Some(*index),
                Some(columns) => columns.iter().position(|it| it == index),
            };
            let array =
                position.and_then(|it| batch.columns().get(it).zip(schema.fields().get(it)));
            let missing = || Error::invalid_value("record batch with fewer columns than its table");
            let (array, field) = array.ok_or_else(missing)?;
            field_from_arrow(array.as_ref(), field)
        };
        let vectors = used.iter().map(column).collect::<Result<Vec<_>>>()?;
        self.positions = vec![0; used.last().map_or(0, |it| it + 1)];
        for (position, column) in used.iter().enumerate() {
            self.positions[*column] = position;
        }
        self.current = Some(Batch::new(vectors, batch.num_rows()));
        self.read = 0;
        Ok(())
    }

    /// Advances by one batch.
    pub(crate) fn step(&mut self) -> Result<SourceStep> {
        let Some(current) = &self.current else { return Ok(SourceStep::NeedSplit) };
        let rows = self.batch_rows.min(current.rows() - self.read);
        if rows == 0 {
            self.current = None;
            return Ok(SourceStep::NeedSplit);
        }
        let part = current.slice(self.read, rows);
        self.read += rows;
        let places = |columns: &[usize]| -> Vec<usize> {
            columns.iter().map(|it| self.positions[*it]).collect()
        };
        let output = part.project(&places(&self.columns));
        let Some(conjuncts) = &mut self.conjuncts else { return Ok(SourceStep::Batch(output)) };
        let filtered: Vec<usize> =
            conjuncts.columns().iter().map(|it| self.positions[*it]).collect();
        let selected = conjuncts.select(part.project(&filtered))?.rows;
        if selected.is_empty() {
            return Ok(SourceStep::Progress);
        }
        Ok(SourceStep::Batch(output.select(&selected)))
    }

    /// How much of the record batch is returned, from 0 to 1.
    fn share(&self) -> f64 {
        self.current.as_ref().map_or(0.0, |it| self.read as f64 / it.rows().max(1) as f64)
    }

    fn dropped(&self) -> volley_expression::filter::DroppedRows {
        self.conjuncts.as_ref().map(Conjuncts::dropped).unwrap_or_default()
    }
}
