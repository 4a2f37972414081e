//! ORC files.

use crate::{POOL_BYTES, REGISTRY, ROWS_MAX, assert_not_internal, look_at, parquet::MemoryFile};
use bytes::Bytes;
use std::{sync::Arc, task::Waker};
use volley_connector::{ScanRequest, SourceStep};
use volley_error::Result;
use volley_expression::Expr;
use volley_function::QueryConstants;
use volley_memory::Pool;
use volley_orc::{OrcFile, StripeReader};
use volley_types::Type;

/// Columns that get a filter.
const FILTERED_COLUMNS: usize = 4;

/// Stripes after which a file is left.
const STRIPES_MAX: usize = 20;

/// Opens the bytes as a file and reads all columns, then the rows that filters on single columns
/// leave: so row indexes and Bloom filters are read, too.
pub fn orc(bytes: &[u8]) {
    let file = Arc::new(MemoryFile(Bytes::copy_from_slice(bytes)));
    let pool = Pool::root("footers", Some(POOL_BYTES));
    let mut charge = pool.reservation();
    let Ok(file) = OrcFile::open_with(file, &mut charge) else { return };
    check(&file, Vec::new());
    for column in 0..file.schema().len().min(FILTERED_COLUMNS) {
        if let Some(filter) = filter(&file, column) {
            check(&file, vec![filter]);
        }
    }
}

/// That a column is equal to its least value.
fn filter(file: &OrcFile, index: usize) -> Option<Expr> {
    let data_type = file.schema().fields.get(index)?.data_type.clone();
    let least = file.bounds(0, index).min.or_else(|| file.file_bounds(index).min)?;
    let args = vec![Expr::column(index, data_type.clone()), Expr::constant(least, data_type)];
    Some(Expr::call("eq", args, Type::Boolean))
}

fn check(file: &OrcFile, filters: Vec<Expr>) {
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
    // Other errors are answers.
    if let Err(error) = scan(file, &request) {
        assert_not_internal(&error);
    }
    assert_eq!(pool.stats().bytes, 0, "bytes stay charged");
}

fn scan(file: &OrcFile, request: &ScanRequest) -> Result<()> {
    let mut reader = StripeReader::new(request)?;
    for stripe in 0..file.stripes().min(STRIPES_MAX) {
        reader.start(file.clone(), stripe, &|column| (column, None))?;
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
