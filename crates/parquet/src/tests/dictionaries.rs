//! Large dictionaries, which are decompressed in pairs, from files in memory and on devices.

use super::{DistantFile, MemoryFile, columns_of, read_batches, request};
use crate::{
    ParquetFile,
    chunk::ChunkBytes,
    column::ColumnReader,
    file::chunk_range,
    lazy_column::{ColumnLoader, SharedColumn, Use},
    pages::{Pages, decompress_dictionaries},
};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use parquet::{
    arrow::ArrowWriter,
    basic::Compression,
    file::properties::{WriterProperties, WriterVersion},
};
use std::sync::Arc;
use volley_io::{BufferPool, RandomAccessFile};
use volley_memory::Pool;
use volley_types::{Type, Value};
use volley_vector::Batch;

const GROUPS: usize = 3;
const GROUP_ROWS: usize = 20_000;

/// Values of a column: sorted, scattered, few.
fn value(column: usize, row: usize) -> i64 {
    let row = row as i64;
    match column {
        0 => row,
        1 => (row * 7_919 % 104_729) << 3,
        _ => row % 5,
    }
}

/// A file of three row groups.
fn write(version: WriterVersion) -> Bytes {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_writer_version(version)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_data_page_row_count_limit(3_000)
        .set_write_batch_size(1_000)
        .build();
    let column = |column| {
        let values = (0..GROUPS * GROUP_ROWS).map(|row| value(column, row));
        (format!("c{column}"), Arc::new(Int64Array::from_iter_values(values)) as ArrayRef)
    };
    let batch = RecordBatch::try_from_iter((0..3).map(column)).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap().into()
}

#[test]
fn columns_are_the_same_from_memory_and_from_a_device() {
    let expected: Vec<Vec<Value>> = (0..3)
        .map(|column| {
            (0..GROUPS * GROUP_ROWS).map(|row| Value::BigInt(value(column, row))).collect()
        })
        .collect();
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let bytes = write(version);
        let files: [Arc<dyn RandomAccessFile>; 2] =
            [Arc::new(MemoryFile(bytes.clone())), Arc::new(DistantFile(MemoryFile(bytes)))];
        for file in files {
            let file = ParquetFile::open(file).unwrap();
            assert_eq!(file.row_groups(), GROUPS);
            for batch_rows in [3, 1024, 100_000] {
                let batches = read_batches(&file, &request(vec![0, 1, 2], batch_rows)).unwrap();
                assert!(columns_of(&batches, 3).unwrap() == expected);
            }
        }
    }
}

/// The pages of a column of a row group.
fn pages(file: &ParquetFile, group: usize, column: usize, pool: &Pool) -> Pages {
    let leaf = file.node(column).unwrap().leaves()[0].clone();
    let chunk = file.chunk(group, &leaf).unwrap();
    let (from, buffers) = (Arc::clone(file.file()), BufferPool::default());
    let bytes = ChunkBytes::windows(from, chunk_range(chunk), buffers, pool.reservation());
    let (rows, buffers) = (file.rows(group), BufferPool::default());
    Pages::new(leaf, chunk, bytes.unwrap(), rows, buffers, pool.reservation())
}

#[test]
fn large_dictionaries_are_decompressed_in_pairs() {
    let file = ParquetFile::open(Arc::new(MemoryFile(write(WriterVersion::PARQUET_1_0)))).unwrap();
    let pool = Pool::root("test", None);
    let pages = |column| pages(&file, 1, column, &pool);
    let mut all = [pages(0), pages(1), pages(2)];
    assert_eq!([0, 1, 2].map(|it| all[it].large_dictionary_bytes() > 0), [true, true, false]);
    let [first, second, _] = &mut all;
    let held = pool.stats().bytes;
    decompress_dictionaries(first, second);
    assert!(pool.stats().bytes - held >= 2 * 8 * GROUP_ROWS, "both are charged");
    assert!(first.has_decompressed_dictionary() && second.has_decompressed_dictionary());
    first.release();
    second.release();
    assert!(pool.stats().bytes - held >= 2 * 8 * GROUP_ROWS, "and stay so");
    for (column, pages) in [first, second].into_iter().enumerate() {
        let values = pages.dictionary().unwrap().to_values().unwrap();
        let expected = (GROUP_ROWS..2 * GROUP_ROWS).map(|row| Value::BigInt(value(column, row)));
        assert!(values == expected.collect::<Vec<_>>());
        assert!(!pages.has_decompressed_dictionary() && pages.large_dictionary_bytes() == 0);
    }
    drop(all);
    assert_eq!(pool.stats().bytes, 0);
}

#[test]
fn columns_that_were_used_before_are_decompressed_with_the_next_one() {
    let file = ParquetFile::open(Arc::new(MemoryFile(write(WriterVersion::PARQUET_1_0)))).unwrap();
    let pool = Pool::root("test", None);
    let uses: [Arc<Use>; 3] = Default::default();
    let mut ahead = Vec::new();
    for group in 0..GROUPS {
        let columns = uses.iter().enumerate().map(|(column, uses)| {
            let node = file.node(column).unwrap();
            let pages = vec![pages(&file, group, column, &pool)];
            let reader = ColumnReader::new(node, pages, GROUP_ROWS).unwrap();
            let place = ("file".to_owned(), group, "column".to_owned());
            SharedColumn::new(reader, Arc::default(), Type::BigInt, place, Arc::clone(uses))
        });
        let columns: Arc<[SharedColumn]> = columns.collect();
        let load = |place: usize| {
            let columns = Arc::clone(&columns);
            let loader = ColumnLoader { columns, place, start: 0, rows: 10, selection: None };
            loader.into_vector().unwrap().to_values().unwrap()
        };
        load(2);
        load(0);
        ahead.push(columns[1].has_decompressed_dictionary());
        // Not in the second row group.
        if group != 1 {
            assert_eq!(load(1)[3], Value::BigInt(value(1, group * GROUP_ROWS + 3)));
        }
    }
    assert_eq!(ahead, [false, true, false]);
}

#[test]
fn a_batch_of_one_value_is_constant() {
    let runs = |row: usize| ["kurz", "länger als zwölf Bytes", "kurz", ""][row / 3_000 % 4];
    let texts = StringArray::from_iter_values((0..GROUP_ROWS).map(runs));
    let nulls = StringArray::from_iter((0..GROUP_ROWS).map(|row| (row % 7 > 0).then(|| runs(row))));
    let columns = [("runs", Arc::new(texts) as ArrayRef), ("with_nulls", Arc::new(nulls))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    let file = MemoryFile(writer.into_inner().unwrap().into());
    let file = ParquetFile::open(Arc::new(file)).unwrap();
    let value = |row| Value::text(runs(row));
    let with_null = |row| if row % 7 > 0 { value(row) } else { Value::Null };
    let expected: [Vec<Value>; 2] =
        [(0..GROUP_ROWS).map(value).collect(), (0..GROUP_ROWS).map(with_null).collect()];
    for (batch_rows, constant) in [(1, 0), (3, 6_667), (1_000, 20), (1_024, 14), (20_000, 0)] {
        let batches = read_batches(&file, &request(vec![0, 1], batch_rows)).unwrap();
        assert!(columns_of(&batches, 2).unwrap() == expected);
        let loaded = |it: &Batch, column: usize| it.column(column).loaded().unwrap();
        let count = batches.iter().filter(|it| loaded(it, 0).is_constant()).count();
        assert_eq!(count, constant, "of batches of {batch_rows}");
        assert!(!batches.iter().any(|it| batch_rows > 6 && loaded(it, 1).is_constant()));
    }
}
