//! Damaged files are errors, never panics.

use super::{MemoryFile, data, read_batches, request};
use crate::ParquetFile;
use std::sync::Arc;
use volley_error::{Error, ErrorKind, Result};

/// Reads everything; the answer or an error that names the file.
fn read(bytes: Vec<u8>) -> Result<usize> {
    let file = ParquetFile::open(Arc::new(MemoryFile(bytes.into())))?;
    let columns: Vec<usize> = (0..file.schema().len()).collect();
    for group in 0..file.row_groups() {
        columns
            .iter()
            .for_each(|it| drop((file.bounds(group, *it), file.distinct_estimate(group, *it))));
    }
    let batches = read_batches(&file, &request(columns, 100))?;
    let mut rows = 0;
    for batch in batches {
        for column in batch.columns() {
            column.to_values()?;
        }
        rows += batch.rows();
    }
    Ok(rows)
}

pub(super) fn check_error(error: &Error) {
    let allowed = [ErrorKind::Corruption, ErrorKind::Unsupported, ErrorKind::OutOfMemory];
    assert!(allowed.contains(&error.kind()), "{error}");
    assert!(error.to_string().contains("damaged.parquet"), "{error}");
}

#[test]
fn files_cut_anywhere_are_errors() {
    let bytes = std::fs::read(data("one.parquet")).unwrap();
    for len in 0..bytes.len() {
        check_error(&read(bytes[..len].to_vec()).unwrap_err());
    }
    assert!(read(bytes).is_ok());
}

/// A multiplicative generator: seeds are test cases.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

fn flip(name: &str, rounds: usize) {
    let bytes = std::fs::read(data(name)).unwrap();
    let rows = read(bytes.clone()).unwrap();
    let mut random = Random(rounds as u64);
    for _ in 0..rounds {
        let mut damaged = bytes.clone();
        for _ in 0..1 + random.below(3) {
            let place = random.below(damaged.len());
            damaged[place] ^= 1 << random.below(8);
        }
        match read(damaged) {
            // A flipped bit of a value, a name, a statistic or a number of rows.
            Ok(found) => assert!(found <= rows.max(1) << 32),
            Err(error) => check_error(&error),
        }
    }
}

#[test]
fn flipped_bits_are_errors_or_other_values() {
    let names = [
        "one.parquet",
        "nested.parquet",
        "types.parquet",
        "unsigned.parquet",
        "timestamp_int96.parquet",
        "encoding/delta.parquet",
        "encoding/dictionary_v2.parquet",
        "encoding/snappy.parquet",
        "encoding/split.parquet",
        "encoding/zstd_v2.parquet",
        "encoding/lz4.parquet",
        "encoding/gzip.parquet",
        "encoding/brotli.parquet",
    ];
    for name in names {
        let size = std::fs::metadata(data(name)).unwrap().len();
        let rounds = if size > 50_000 { 20 } else { 200 };
        flip(name, rounds);
    }
}
