//! Files of pyarrow and of the Java writer have the rows of the Parquet file beside them.

use super::{
    any_file, check_identical, columns_of, data, data_bytes, open_bytes, open_file, read_batches,
    request,
};
use crate::{OrcFile, StripeReader};
use std::task::Waker;
use volley_connector::SourceStep;
use volley_parquet::{ParquetFile, RowGroupReader};
use volley_types::{Type, Value};
use volley_vector::{Encoding, random::Generator};

/// Files, each with the Parquet file that has its rows.
const FILES: [(&str, &str); 13] = [
    ("scalars", "scalars"),
    ("scalars_v1", "scalars"),
    ("scalars_snappy", "scalars"),
    ("scalars_lz4", "scalars"),
    ("scalars_zstd", "scalars"),
    ("nested", "nested"),
    ("nested_v1", "nested"),
    ("nested_zstd", "nested"),
    ("pruning", "pruning"),
    ("empty", "empty"),
    ("nulls", "nulls"),
    ("java", "java"),
    ("java_groups", "java_groups"),
];

/// The rows of a Parquet file, column by column.
fn parquet_values(name: &str) -> Vec<Vec<Value>> {
    let file = ParquetFile::open(open_file(&data(&format!("{name}.parquet"))).unwrap()).unwrap();
    let columns = file.schema().len();
    let mut reader = RowGroupReader::new(&request((0..columns).collect(), 1000)).unwrap();
    let mut batches = Vec::new();
    for group in 0..file.row_groups() {
        reader.start(file.clone(), group, &|column| column).unwrap();
        loop {
            match reader.step(Waker::noop()).unwrap() {
                SourceStep::Batch(batch) => batches.push(batch.loaded().unwrap()),
                SourceStep::NeedSplit => break,
                SourceStep::Blocked => std::thread::yield_now(),
                SourceStep::Progress => {}
            }
        }
    }
    columns_of(&batches, columns).unwrap()
}

#[test]
fn rows_are_those_that_were_written() {
    for (name, rows) in FILES {
        let expected = parquet_values(rows);
        let bytes = data_bytes(&format!("{name}.orc"));
        for batch_rows in [1, 3, 1024] {
            let file =
                OrcFile::open(any_file(&mut Generator::new(batch_rows as u64), bytes.clone()));
            let file = file.unwrap();
            let columns = file.schema().len();
            let batches = read_batches(&file, &request((0..columns).collect(), batch_rows));
            let batches = batches.unwrap();
            assert!(batches.iter().all(|it| it.rows() > 0 && it.rows() <= batch_rows));
            let found = columns_of(&batches, columns).unwrap();
            for (column, (found, expected)) in found.iter().zip(&expected).enumerate() {
                check_identical(found, expected, &format!("{name}, column {column}"));
            }
        }
    }
}

#[test]
fn any_rows_of_any_columns_can_be_loaded() {
    for (name, rows) in FILES {
        let expected = parquet_values(rows);
        let bytes = data_bytes(&format!("{name}.orc"));
        for seed in 0..20 {
            let mut random = Generator::new(seed);
            let file = OrcFile::open(any_file(&mut random, bytes.clone())).unwrap();
            let columns: Vec<usize> =
                (0..1 + random.below(3)).map(|_| random.below(expected.len())).collect();
            let request = request(columns.clone(), 1 + random.below(100));
            let mut reader = StripeReader::new(&request).unwrap();
            let mut row = 0;
            for stripe in 0..file.stripes() {
                reader.start(file.clone(), stripe, &|column| (column, None)).unwrap();
                loop {
                    let batch = match reader.step(Waker::noop()).unwrap() {
                        SourceStep::Batch(batch) => batch,
                        SourceStep::NeedSplit => break,
                        _ => continue,
                    };
                    let wanted: Vec<u32> =
                        (0..batch.rows() as u32).filter(|_| random.below(3) == 0).collect();
                    let selected = batch.wrap(&wanted.clone().into());
                    for (vector, column) in selected.columns().iter().zip(&columns) {
                        // Others are passed over.
                        if random.below(3) > 0 {
                            let found = vector.loaded().unwrap().to_values().unwrap();
                            let values = &expected[*column];
                            let expected: Vec<Value> = wanted
                                .iter()
                                .map(|it| values[row + *it as usize].clone())
                                .collect();
                            check_identical(&found, &expected, &format!("{name} {column}"));
                        }
                    }
                    row += batch.rows();
                }
            }
        }
    }
}

#[test]
fn dictionaries_stay_encoded_over_one_base() {
    let file = open_bytes(data_bytes("scalars_snappy.orc"));
    let column = file.schema().index_of("c7").unwrap();
    assert_eq!(file.schema().fields[column].data_type, Type::Varchar);
    let batches = read_batches(&file, &request(vec![column], 100)).unwrap();
    let base = |index: usize| match batches[index].column(0).encoding() {
        Encoding::Dictionary { base, .. } => std::sync::Arc::as_ptr(base),
        _ => std::ptr::null(),
    };
    assert!(!base(0).is_null());
    assert_eq!(base(0), base(1));
}

#[test]
fn bounds_hold_all_values() {
    for (name, rows) in FILES {
        let expected = parquet_values(rows);
        let file = open_bytes(data_bytes(&format!("{name}.orc")));
        for (column, values) in expected.iter().enumerate() {
            let bounds = file.file_bounds(column);
            let nulls = values.iter().filter(|it| it.is_null()).count() as u64;
            if !values.is_empty() {
                assert_eq!(bounds.nulls, Some(nulls), "{name} {column}");
            }
            for value in values.iter().filter(|it| !it.is_null()) {
                let order = |bound: &Option<Value>| {
                    bound.as_ref().and_then(|it| volley_connector::compare_values(it, value))
                };
                assert!(
                    order(&bounds.min).is_none_or(|it| it.is_le()),
                    "{name} {column} {bounds:?}"
                );
                assert!(
                    order(&bounds.max).is_none_or(|it| it.is_ge()),
                    "{name} {column} {bounds:?}"
                );
            }
        }
    }
    let file = open_bytes(data_bytes("pruning.orc"));
    assert_eq!(file.bounds(0, 0).max, Some(Value::BigInt(1999)));
    assert_eq!(file.bounds(0, 2).max, Some(Value::Double(499.75)));
    assert_eq!(file.bounds(0, 1).min, Some(Value::text("name 0")));
    assert_eq!(file.bounds(0, 3).max, Some(Value::Date(19)));
}

#[test]
fn unions_become_rows_of_their_alternatives() {
    let file = open_bytes(data_bytes("java_union.orc"));
    let batches = read_batches(&file, &request(vec![0, 1], 7)).unwrap();
    let columns = columns_of(&batches, 2).unwrap();
    // The rows that pyarrow reads of it.
    let text = |it: &str| Value::text(it);
    let row = |tag: i8, fields: [Value; 3]| {
        let [a, b, c] = fields;
        Value::Row(vec![Value::TinyInt(tag), a, b, c].into())
    };
    assert_eq!(columns[0][1], row(0, [Value::Integer(-802_541), Value::Null, Value::Null]));
    assert_eq!(columns[0][3], row(1, [Value::Null, text("a42"), Value::Null]));
    let array = Value::Array(vec![Value::Null].into());
    assert_eq!(columns[0][10], row(2, [Value::Null, Value::Null, array]));
    assert_eq!(columns[1][19], Value::Integer(-795_824));
}
