//! Fields of rows that are read as columns, against the rows that have them.

use super::{
    MemoryFile, columns_of, data, files_below,
    maker::random_file,
    open_file,
    random_files::{seeded, seeds},
    read_batches, request,
};
use crate::{ParquetField, ParquetFile, RowGroupReader};
use std::{path::Path, sync::Arc, task::Waker};
use volley_connector::SourceStep;
use volley_types::{Type, Value};

/// The field's value in each row of its column.
fn from_rows(rows: &[Value], field: &ParquetField) -> Vec<Value> {
    let of_row = |row: &Value| {
        field.path.iter().fold(row.clone(), |row, at| match row {
            Value::Row(fields) => fields[*at].clone(),
            _ => Value::Null,
        })
    };
    rows.iter().map(of_row).collect()
}

/// Every field of the file against its column; how many there are.
fn check(file: &ParquetFile, name: &str) -> usize {
    let columns = file.schema().len();
    let all: Vec<usize> = (0..columns).collect();
    let rows = columns_of(&read_batches(file, &request(all, 1000)).unwrap(), columns).unwrap();
    for (place, field) in file.fields().iter().enumerate() {
        let expected = from_rows(&rows[field.column], field);
        for batch_rows in [1, 3, 1024] {
            let request = request(vec![columns + place], batch_rows);
            let found = columns_of(&read_batches(file, &request).unwrap(), 1).unwrap();
            let (found, expected) = (format!("{:?}", found[0]), format!("{expected:?}"));
            assert_eq!(found, expected, "{name}, {} by {batch_rows}", field.field.name);
        }
    }
    file.fields().len()
}

#[test]
fn fields_are_those_of_rows() {
    let mut fields = 0;
    for path in files_below(Path::new(&data(""))) {
        if !path.contains("/bad/") {
            let file = ParquetFile::open(open_file(&path).unwrap()).unwrap();
            fields += check(&file, &path);
        }
    }
    assert!(fields > 5, "{fields}");
}

#[test]
fn fields_of_random_files_are_those_of_rows() {
    let mut fields = 0;
    for seed in seeds(0..60) {
        seeded(seed, |random| {
            let made = random_file(random, 500);
            let file = ParquetFile::open(Arc::new(MemoryFile(made.bytes.clone().into()))).unwrap();
            fields += check(&file, "a random file");
        });
    }
    assert!(fields > 0);
}

#[test]
fn fields_in_lists_are_none() {
    let file = ParquetFile::open(open_file(&data("nested.parquet")).unwrap()).unwrap();
    for field in file.fields() {
        assert!(!field.path.is_empty());
        assert!(matches!(file.schema().fields[field.column].data_type, Type::Row(_)));
    }
}

/// Bytes that are read of one column.
fn bytes_read(file: &ParquetFile, column: usize) -> u64 {
    let mut reader = RowGroupReader::new(&request(vec![column], 1024)).unwrap();
    for group in 0..file.row_groups() {
        reader.start(file.clone(), group, &|column| column).unwrap();
        loop {
            match reader.step(Waker::noop()).unwrap() {
                SourceStep::Batch(batch) => drop(batch.loaded().unwrap()),
                SourceStep::NeedSplit => break,
                SourceStep::Blocked | SourceStep::Progress => {}
            }
        }
    }
    reader.metrics().bytes_read
}

#[test]
fn only_the_fields_chunk_is_read() {
    let file = ParquetFile::open(open_file(&data("nested.parquet")).unwrap()).unwrap();
    let columns = file.schema().len();
    let mut fields = file.fields().iter().enumerate();
    let (place, field) = fields.next().expect("a field of a row");
    assert!(bytes_read(&file, columns + place) < bytes_read(&file, field.column));
}
