//! Streams of Arrow record batches as tables. One driver reads a stream, batch by batch, so that it
//! may be larger than memory.
//!
//! A stream that is there, such as a generator of batches, can be read once. A function of Python
//! that opens a stream of some columns, such as the scanner of a data set, is called for each scan.

use crate::{
    arrow_table::{BatchRows, next_handle},
    capsule,
    error::from_python,
    pushdown,
    zone::with_source_zones,
};
use arrow_array::{RecordBatchReader, ffi_stream::RecordBatchStreamReader};
use pyo3::prelude::*;
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    task::Waker,
};
use volley::{
    Error, Result, Scan, ScanRequest, Schema, Source, Table, TableStatistics,
    connector::{ListedSplits, ScanMetrics, SourceStep, Split, SplitSource, SplitWriter},
};
use volley_expression::Expr;
use volley_plan::TableHandle;
use volley_types::Type;
use volley_vector::arrow::schema_from_arrow;

/// The number of these tables in the bytes of splits.
const CONNECTOR: u8 = 97;

/// Where the rows come from.
enum Producer {
    /// A stream, until it is read.
    Once(Mutex<Option<RecordBatchStreamReader>>),
    /// A function that opens a stream of the columns with the names that it is given, from which it
    /// may leave out rows that the filters drop.
    Function(Py<PyAny>),
}

/// A table whose rows come from a stream.
pub(crate) struct StreamTable {
    handle: TableHandle,
    schema: Schema,
    producer: Arc<Producer>,
}

impl StreamTable {
    /// A table that reads the stream, once.
    ///
    /// # Errors
    ///
    /// Arrow types without a counterpart.
    pub(crate) fn once(reader: RecordBatchStreamReader) -> Result<StreamTable> {
        let arrow = reader.schema();
        let schema = with_source_zones(schema_from_arrow(&arrow)?, &arrow);
        let producer = Arc::new(Producer::Once(Mutex::new(Some(reader))));
        Ok(StreamTable { handle: next_handle(), schema, producer })
    }

    /// A table that calls the function for each scan; `sample` is a stream of the table's schema.
    ///
    /// # Errors
    ///
    /// Arrow types without a counterpart.
    pub(crate) fn of_function(
        function: Py<PyAny>,
        sample: &RecordBatchStreamReader,
    ) -> Result<StreamTable> {
        let arrow = sample.schema();
        let schema = with_source_zones(schema_from_arrow(&arrow)?, &arrow);
        let producer = Arc::new(Producer::Function(function));
        Ok(StreamTable { handle: next_handle(), schema, producer })
    }
}

impl fmt::Debug for StreamTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamTable({})", self.handle.table)
    }
}

impl Table for StreamTable {
    fn handle(&self) -> TableHandle {
        self.handle.clone()
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        Ok(Arc::default())
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        let (producer, schema) = (Arc::clone(&self.producer), self.schema.clone());
        Ok(Box::new(StreamScan { producer, schema, request }))
    }
}

struct StreamScan {
    producer: Arc<Producer>,
    schema: Schema,
    request: ScanRequest,
}

impl Scan for StreamScan {
    fn splits(&self) -> Result<Box<dyn SplitSource>> {
        let split = Split::new(SplitWriter::new(CONNECTOR).finish(), "stream of record batches");
        Ok(ListedSplits::boxed(vec![split]))
    }

    fn source(&self) -> Result<Box<dyn Source>> {
        Ok(Box::new(StreamSource {
            producer: Arc::clone(&self.producer),
            schema: self.schema.clone(),
            reading: None,
            filters: self.request.filters.clone(),
            rows: BatchRows::new(&self.request)?,
            metrics: ScanMetrics::default(),
        }))
    }
}

struct StreamSource {
    producer: Arc<Producer>,
    schema: Schema,
    reading: Option<Reading>,
    filters: Vec<Expr>,
    rows: BatchRows,
    metrics: ScanMetrics,
}

/// A stream that is being read.
struct Reading {
    reader: RecordBatchStreamReader,
    /// The columns of the table that it has; all of them when there is no list.
    columns: Option<Vec<usize>>,
}

impl StreamSource {
    fn open(&self) -> Result<Reading> {
        match &*self.producer {
            Producer::Once(stream) => {
                let taken = stream.lock().unwrap_or_else(PoisonError::into_inner).take();
                let used = || {
                    let error = Error::invalid_query("a stream of record batches can be read once");
                    error.hint("make a table of it first, such as pyarrow.table(stream)")
                };
                Ok(Reading { reader: taken.ok_or_else(used)?, columns: None })
            }
            Producer::Function(function) => {
                let columns = self.rows.used();
                let fields = columns.iter().filter_map(|it| self.schema.fields.get(*it));
                let names: Vec<&str> = fields.map(|it| it.name.as_str()).collect();
                let open = |py: Python<'_>| {
                    let filters = pushdown::filters(py, &self.filters, &self.schema)?;
                    capsule::import(&function.bind(py).call1((names, filters))?)
                };
                let reader = Python::attach(|py| open(py).map_err(|it| from_python(py, &it)))?;
                self.check_types(&reader, &columns)?;
                Ok(Reading { reader, columns: Some(columns) })
            }
        }
    }

    /// The plan has the types of the sample; a stream of others would be read as garbage.
    fn check_types(&self, reader: &RecordBatchStreamReader, columns: &[usize]) -> Result<()> {
        let given = schema_from_arrow(&reader.schema())?;
        let wanted: Vec<&Type> = columns
            .iter()
            .filter_map(|it| self.schema.fields.get(*it))
            .map(|it| &it.data_type)
            .collect();
        if given.types().eq(wanted.iter().copied()) {
            return Ok(());
        }
        Err(Error::invalid_value("stream of record batches with other columns than its table"))
    }
}

impl Source for StreamSource {
    fn start(&mut self, _split: Split) -> Result<()> {
        self.reading = Some(self.open()?);
        Ok(())
    }

    fn step(&mut self, _waker: &Waker) -> Result<SourceStep> {
        match self.rows.step()? {
            SourceStep::NeedSplit => {}
            step => return Ok(step),
        }
        let Some(Reading { reader, columns }) = &mut self.reading else {
            return Ok(SourceStep::NeedSplit);
        };
        match reader.next() {
            None => {
                self.reading = None;
                Ok(SourceStep::NeedSplit)
            }
            Some(Err(error)) => {
                self.reading = None;
                Err(Error::invalid_value(format!("stream of record batches: {error}")))
            }
            Some(Ok(batch)) => {
                self.metrics.rows_read += batch.num_rows() as u64;
                self.rows.start(&batch, columns.as_deref())?;
                Ok(SourceStep::Progress)
            }
        }
    }

    fn metrics(&self) -> ScanMetrics {
        self.metrics
    }
}
