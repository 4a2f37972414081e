//! Memory is reserved before pages are decompressed.

use super::{MemoryFile, read_batches, request};
use crate::ParquetFile;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, Encoding},
    file::properties::{WriterProperties, WriterPropertiesBuilder},
};
use std::sync::Arc;
use volley_connector::ScanRequest;
use volley_error::{ErrorKind, Result};
use volley_memory::Pool;

const MEGABYTE: usize = 1 << 20;

fn write(texts: Vec<String>, properties: WriterPropertiesBuilder) -> ParquetFile {
    let column = Arc::new(StringArray::from(texts)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("c", column)]).unwrap();
    let properties = properties.set_compression(Compression::ZSTD(Default::default())).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    let bytes = writer.into_inner().unwrap();
    assert!(bytes.len() < MEGABYTE, "a file that is small as stored");
    ParquetFile::open(Arc::new(MemoryFile(bytes.into()))).unwrap()
}

/// The rows that a scan reads with `megabytes` of memory.
fn read(file: &ParquetFile, batch_rows: usize, megabytes: usize) -> Result<usize> {
    Ok(read_sizes(file, batch_rows, megabytes)?.iter().sum())
}

/// The rows of each batch.
fn read_sizes(file: &ParquetFile, batch_rows: usize, megabytes: usize) -> Result<Vec<usize>> {
    let pool = Pool::root("test", Some(megabytes * MEGABYTE));
    let request = ScanRequest { pool, ..request(vec![0], batch_rows) };
    Ok(read_batches(file, &request)?.iter().map(|it| it.rows()).collect())
}

#[track_caller]
fn check_limit(file: &ParquetFile, batch_rows: usize, megabytes: usize) {
    let error = read(file, batch_rows, megabytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
}

#[test]
fn a_value_that_is_huge_is_charged_before_it_is_decompressed() {
    let properties = WriterProperties::builder;
    for properties in [
        properties().set_dictionary_enabled(true),
        properties().set_dictionary_enabled(false).set_encoding(Encoding::PLAIN),
        properties().set_dictionary_enabled(false).set_encoding(Encoding::DELTA_BYTE_ARRAY),
    ] {
        let file = write(vec!["a".repeat(20 * MEGABYTE)], properties);
        check_limit(&file, 1024, 10);
        assert_eq!(read(&file, 1024, 200).unwrap(), 1);
    }
}

#[test]
fn pages_that_a_batch_holds_are_charged_together() {
    let texts = (0..40).map(|it| char::from(b'a' + it % 26).to_string().repeat(MEGABYTE));
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_write_batch_size(1)
        .set_data_page_row_count_limit(1);
    let file = write(texts.collect(), properties);
    // All of them are one batch with a large limit.
    assert_eq!(read_sizes(&file, 1024, 10 << 10).unwrap(), [15, 15, 10]);
    check_limit(&file, 1024, 1);
    for megabytes in [10, 60] {
        assert_eq!(read(&file, 3, megabytes).unwrap(), 40);
        assert_eq!(read(&file, 1024, megabytes).unwrap(), 40);
    }
}

#[test]
fn batches_of_wide_rows_have_fewer() {
    let plain = || WriterProperties::builder().set_dictionary_enabled(false);
    let texts = (0..2000).map(|it| format!("{it:0>10240}"));
    let file = write(texts.collect(), plain());
    let sizes = read_sizes(&file, 1024, 64).unwrap();
    assert_eq!(sizes.iter().sum::<usize>(), 2000);
    assert!(sizes.iter().all(|it| *it <= 102), "{sizes:?}");
    assert_eq!(read_sizes(&file, 3, 64).unwrap()[..2], [3, 3]);

    // Wide ones at the end: the current page shows it.
    let width = |it: usize| if it < 30_000 { 10 } else { 200 << 10 };
    let texts = (0..30_060).map(|it| "z".repeat(width(it)));
    let pages = plain().set_write_batch_size(10).set_data_page_row_count_limit(10_000);
    let sizes = read_sizes(&write(texts.collect(), pages), 1024, 64).unwrap();
    assert_eq!(sizes.iter().sum::<usize>(), 30_060);
    assert!(sizes[..20].iter().all(|it| *it == 1024), "{sizes:?}");
    assert!(sizes.iter().rev().take(12).all(|it| *it <= 5), "{sizes:?}");
}
