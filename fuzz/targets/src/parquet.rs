//! Parquet files.

use crate::{POOL_BYTES, REGISTRY, ROWS_MAX, look_at};
use bytes::Bytes;
use std::{ops::Range, sync::Arc, task::Waker};
use volley_connector::{ScanRequest, SourceStep};
use volley_error::{Error, Result};
use volley_expression::Expr;
use volley_function::QueryConstants;
use volley_io::RandomAccessFile;
use volley_memory::Pool;
use volley_parquet::{Listing, ParquetFile, ParquetReadOptions, RowGroupReader};
use volley_types::Type;

/// Columns that get a filter.
const FILTERED_COLUMNS: usize = 4;

/// Row groups after which a file is left.
const GROUPS_MAX: usize = 20;

/// Lists what the footer says, opens the bytes as a file and reads all columns, then the rows that
/// filters on single columns leave: so page indexes and Bloom filters are read, too.
pub fn parquet(bytes: &[u8]) {
    let bytes: Arc<dyn RandomAccessFile> = Arc::new(MemoryFile(Bytes::copy_from_slice(bytes)));
    let pool = Pool::root("footers", Some(POOL_BYTES));
    for listing in [Listing::Schema, Listing::Chunks, Listing::File, Listing::KeyValues] {
        // Whether there is a footer or not.
        let _ = listing.rows(&*bytes, &mut pool.reservation());
    }
    let mut charge = pool.reservation();
    let options = ParquetReadOptions::default();
    let Ok(file) = ParquetFile::open_with(bytes, options, &mut charge) else { return };
    for group in 0..file.row_groups().min(GROUPS_MAX) {
        for column in 0..file.schema().len() {
            file.noted_bounds(group, column);
            file.distinct_estimate(group, column);
            file.column_bytes(group, column);
        }
    }
    check(&file, Vec::new());
    for column in 0..file.schema().len().min(FILTERED_COLUMNS) {
        if let Some(filter) = filter(&file, column) {
            check(&file, vec![filter]);
        }
    }
}

/// That a column is equal to its least value.
fn filter(file: &ParquetFile, index: usize) -> Option<Expr> {
    let data_type = file.schema().fields.get(index)?.data_type.clone();
    let least = file.bounds(0, index).min?;
    let args = vec![Expr::column(index, data_type.clone()), Expr::constant(least, data_type)];
    Some(Expr::call("eq", args, Type::Boolean))
}

fn check(file: &ParquetFile, filters: Vec<Expr>) {
    let pool = Pool::root("fuzz", Some(POOL_BYTES));
    let request = ScanRequest {
        columns: (0..file.schema().len()).collect(),
        filters,
        dynamic_filters: Vec::new(),
        batch_rows: 1000,
        registry: Arc::clone(&REGISTRY),
        query: Arc::new(QueryConstants::default()),
        pool: pool.clone(),
    };
    // Errors are answers.
    let _ = scan(file, &request);
    assert_eq!(pool.stats().bytes, 0, "bytes stay charged");
}

fn scan(file: &ParquetFile, request: &ScanRequest) -> Result<()> {
    let mut reader = RowGroupReader::new(request)?;
    for group in 0..file.row_groups().min(GROUPS_MAX) {
        reader.start(file.clone(), group, &|column| column)?;
        while reader.metrics().rows_read < ROWS_MAX as u64 {
            match reader.step(Waker::noop())? {
                SourceStep::Batch(batch) => look_at(&batch),
                SourceStep::NeedSplit => break,
                SourceStep::Blocked => std::thread::yield_now(),
                SourceStep::Progress => {}
            }
        }
    }
    Ok(())
}

#[derive(Debug)]
pub(crate) struct MemoryFile(pub Bytes);

impl RandomAccessFile for MemoryFile {
    fn path(&self) -> &str {
        "fuzz.parquet"
    }

    fn size_bytes(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let bytes = self.0.get(start..start.saturating_add(out.len()));
        out.copy_from_slice(bytes.ok_or_else(|| Error::corruption("beyond the file"))?);
        Ok(())
    }

    fn is_at_hand(&self, _ranges: &[Range<u64>]) -> bool {
        true
    }
}
