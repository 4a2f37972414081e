//! Arrow IPC files and Avro files.

use crate::{POOL_BYTES, ROWS_MAX, assert_not_internal, look_at, parquet::MemoryFile};
use bytes::Bytes;
use std::{sync::Arc, task::Waker};
use volley_arrow_file::ArrowFormat;
use volley_avro_file::AvroFormat;
use volley_connector::{FormatExtension, FormatFile, FormatRequest, SourceStep};
use volley_error::Result;
use volley_memory::Pool;

/// Opens the bytes as a file and reads all columns, and the first one alone.
pub fn arrow_file(bytes: &[u8]) {
    added_format(&ArrowFormat, bytes);
}

/// As [`arrow_file`], for Avro files.
pub fn avro_file(bytes: &[u8]) {
    added_format(&AvroFormat, bytes);
}

/// Opens the bytes as a file of a format and reads all columns, and the first one alone.
fn added_format(format: &dyn FormatExtension, bytes: &[u8]) {
    let pool = Pool::root("fuzz", Some(POOL_BYTES));
    let file = Arc::new(MemoryFile(Bytes::copy_from_slice(bytes)));
    if let Ok(file) = format.open(file, &pool) {
        let all: Vec<usize> = (0..file.schema().len()).collect();
        for columns in [all.as_slice(), all.get(..1).unwrap_or_default()] {
            // Other errors are answers.
            if let Err(error) = read(&*file, columns, &pool) {
                assert_not_internal(&error);
            }
        }
    }
    assert_eq!(pool.stats().bytes, 0, "bytes stay charged");
}

fn read(file: &dyn FormatFile, columns: &[usize], pool: &Pool) -> Result<()> {
    let mut rows = 0;
    for split in 0..file.splits() {
        let request = FormatRequest { batch_rows: 1000, pool: pool.clone() };
        let mut reader = file.read(split, columns, &request)?;
        while rows < ROWS_MAX {
            match reader.step(Waker::noop())? {
                SourceStep::Batch(batch) => {
                    rows += batch.rows();
                    look_at(&batch);
                }
                SourceStep::NeedSplit => break,
                SourceStep::Blocked => std::thread::yield_now(),
                SourceStep::Progress => {}
            }
        }
    }
    Ok(())
}
