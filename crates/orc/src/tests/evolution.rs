//! Columns are read as another type of row: fields are found by name, others are null or not read.

use super::{columns_of, open_bytes, request};
use crate::{OrcFile, OrcWriteOptions, OrcWriter, StripeReader};
use std::task::Waker;
use volley_connector::SourceStep;
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{Batch, Vector};

/// A file with a column `c` of arrays of rows of `a` and `b`.
fn nested_file() -> (OrcFile, Vec<Value>) {
    let fields = [Field::new("a", Type::BigInt), Field::new("b", Type::Varchar)];
    let data_type = Type::array(Type::row(fields));
    let row = |a: i64, b: &str| Value::Row(vec![Value::BigInt(a), Value::text(b)].into());
    let values = vec![
        Value::Array(vec![row(1, "one"), Value::Null].into()),
        Value::Null,
        Value::Array(vec![row(2, "two"), row(3, "three")].into()),
    ];
    let schema = Schema::new(vec![Field::new("c", data_type.clone())]);
    let mut writer = OrcWriter::new(Vec::new(), &schema, OrcWriteOptions::default()).unwrap();
    writer.write(&Batch::new(vec![Vector::from_values(data_type, &values)], 3)).unwrap();
    (open_bytes(writer.finish().unwrap().into()), values)
}

fn read_as(file: &OrcFile, wanted: &Type) -> (Vec<Value>, u64) {
    let mut reader = StripeReader::new(&request(vec![0], 10)).unwrap();
    reader.start(file.clone(), 0, &|_| (0, Some(wanted))).unwrap();
    let mut batches = Vec::new();
    while let SourceStep::Batch(batch) = reader.step(Waker::noop()).unwrap() {
        batches.push(batch.loaded().unwrap());
    }
    (columns_of(&batches, 1).unwrap().remove(0), reader.metrics().bytes_read)
}

#[test]
fn fields_are_found_by_name() {
    let (file, all) = nested_file();
    let same = file.schema().fields[0].data_type.clone();
    let (values, bytes_of_all) = read_as(&file, &same);
    assert_eq!(values, all);
    let fields = [Field::new("x", Type::Double), Field::new("A", Type::BigInt)];
    let wanted = Type::array(Type::row(fields));
    assert!(file.reads_as(0, &wanted));
    let row = |a: i64| Value::Row(vec![Value::Null, Value::BigInt(a)].into());
    let (values, bytes) = read_as(&file, &wanted);
    assert_eq!(values[0], Value::Array(vec![row(1), Value::Null].into()));
    assert_eq!(values[1], Value::Null);
    assert_eq!(values[2], Value::Array(vec![row(2), row(3)].into()));
    assert!(bytes < bytes_of_all, "a field that is not wanted is not read");
}

#[test]
fn other_types_are_not_read() {
    let (file, _) = nested_file();
    let rows = |data_type| Type::array(Type::row([Field::new("a", data_type)]));
    assert!(file.reads_as(0, &rows(Type::BigInt)));
    assert!(!file.reads_as(0, &rows(Type::Integer)));
    assert!(!file.reads_as(0, &Type::BigInt));
    assert!(!file.reads_as(1, &Type::BigInt));
}
