//! Files are read as the `parquet` crate's own Arrow reader reads them.

use crate::{ParquetFile, RowGroupReader};
use arrow_array::RecordBatch;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::{
    fs::File,
    ops::Range,
    path::Path,
    sync::{Arc, LazyLock},
    task::Waker,
};
use volley_connector::{ScanRequest, SourceStep};
use volley_error::{Error, Result};
use volley_function::{QueryConstants, Registry};
use volley_io::{BufferPool, FileSystems, IoRuntime, Pending, RandomAccessFile};
use volley_memory::Pool;
use volley_types::{Type, Value, custom::TimestampUnit};
use volley_vector::{Batch, Vector, arrow::batch_from_arrow, random::Generator};

mod bloom;
mod damage;
mod dictionaries;
mod fields;
mod foreign;
mod looking_again;
mod maker;
mod memory;
mod oracle;
mod page_index;
mod pruning;
mod random_damage;
mod random_files;
mod selection;
mod statistics;

/// A file in memory.
#[derive(Debug)]
pub(crate) struct MemoryFile(pub Bytes);

impl RandomAccessFile for MemoryFile {
    fn path(&self) -> &str {
        "damaged.parquet"
    }

    fn size_bytes(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let (start, end) = (range.start as usize, range.end as usize);
        if start > end || end > self.0.len() {
            return Err(Error::corruption("beyond the file"));
        }
        Ok(self.0.slice(start..end))
    }

    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
        let bytes = self.read(start..start.saturating_add(out.len() as u64))?;
        out.copy_from_slice(&bytes);
        Ok(())
    }

    fn is_at_hand(&self, _ranges: &[Range<u64>]) -> bool {
        true
    }
}

/// A file that is read by other threads.
#[derive(Debug)]
pub(crate) struct DistantFile(pub MemoryFile);

impl RandomAccessFile for DistantFile {
    fn path(&self) -> &str {
        self.0.path()
    }

    fn size_bytes(&self) -> u64 {
        self.0.size_bytes()
    }

    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
        self.0.read_into(start, out)
    }

    fn start_read(self: Arc<Self>, range: Range<u64>, _: &BufferPool) -> Pending<Bytes> {
        static THREADS: LazyLock<IoRuntime> = LazyLock::new(IoRuntime::new);
        THREADS.run(move || self.read(range))
    }

    fn will_read(&self, ranges: &[Range<u64>]) {
        assert!(ranges.iter().all(|it| it.end <= self.size_bytes()));
    }
}

/// One of both kinds.
pub(crate) fn any_file(random: &mut Generator, bytes: Vec<u8>) -> Arc<dyn RandomAccessFile> {
    let file = MemoryFile(bytes.into());
    if random.below(2) == 0 { Arc::new(file) } else { Arc::new(DistantFile(file)) }
}

/// A request for all of `columns` without filters.
pub(crate) fn request(columns: Vec<usize>, batch_rows: usize) -> ScanRequest {
    ScanRequest {
        columns,
        filters: Vec::new(),
        dynamic_filters: Vec::new(),
        batch_rows,
        registry: Arc::new(Registry::default()),
        query: Arc::new(QueryConstants::default()),
        pool: Pool::root("test", None),
    }
}

/// The folder of the repository's test data.
pub(crate) fn data(name: &str) -> String {
    format!("../../tests/data/{name}")
}

/// A local file, opened.
pub(crate) fn open_file(path: &str) -> Result<Arc<dyn RandomAccessFile>> {
    FileSystems::default().open(path)
}

/// All batches of a file, loaded.
pub(crate) fn read_batches(file: &ParquetFile, request: &ScanRequest) -> Result<Vec<Batch>> {
    let mut reader = RowGroupReader::new(request)?;
    let mut batches = Vec::new();
    for group in 0..file.row_groups() {
        reader.start(file.clone(), group, &|column| column)?;
        loop {
            match reader.step(Waker::noop())? {
                SourceStep::Batch(batch) => batches.push(batch.loaded()?),
                SourceStep::NeedSplit => break,
                SourceStep::Blocked => std::thread::yield_now(),
                SourceStep::Progress => {}
            }
        }
    }
    Ok(batches)
}

/// The rows of a file, column by column.
pub(crate) fn read_values(path: &str, batch_rows: usize) -> Result<Vec<Vec<Value>>> {
    let file = ParquetFile::open(open_file(path)?)?;
    let columns: Vec<usize> = (0..file.schema().len()).collect();
    let batches = read_batches(&file, &request(columns, batch_rows))?;
    columns_of(&batches, file.schema().len())
}

pub(crate) fn columns_of(batches: &[Batch], columns: usize) -> Result<Vec<Vec<Value>>> {
    let mut values = vec![Vec::new(); columns];
    for batch in batches {
        for (column, values) in batch.columns().iter().zip(&mut values) {
            values.extend(column.to_values()?);
        }
    }
    Ok(values)
}

/// A batch of Arrow as a file of it is read: a Parquet timestamp in milliseconds is a TIMESTAMP.
pub(crate) fn batch_read(records: &RecordBatch) -> Batch {
    let batch = batch_from_arrow(records).unwrap();
    let column = |it: &Vector| match TimestampUnit::of(it.data_type()) {
        Some(unit @ (TimestampUnit::Second | TimestampUnit::Millisecond)) => {
            let micros = |it: Value| match it {
                Value::BigInt(units) => Value::Timestamp(unit.to_micros(units).unwrap()),
                other => other,
            };
            let values: Vec<Value> = it.to_values().unwrap().into_iter().map(micros).collect();
            Vector::from_values(Type::Timestamp, &values)
        }
        _ => it.clone(),
    };
    let columns = batch.columns().iter().map(column).collect();
    Batch::new(columns, batch.rows())
}

/// The same by the Arrow reader.
pub(crate) fn arrow_values(path: &str) -> Vec<Vec<Value>> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let columns = reader.schema().fields().len();
    let mut batches = Vec::new();
    for records in reader.build().unwrap() {
        batches.push(batch_read(&records.unwrap()));
    }
    columns_of(&batches, columns).unwrap()
}

/// The Parquet files in a folder of the test data and below.
pub(crate) fn files_below(folder: &Path) -> Vec<String> {
    let path = folder.to_string_lossy();
    FileSystems::default().list(&path, &|name| name.ends_with(".parquet")).unwrap()
}
