//! Row groups are ruled out by Bloom filters, never one that has the value.

use super::{DistantFile, MemoryFile, batch_read, random_files::REGISTRY, request};
use crate::{ParquetFile, RowGroupReader, bloom::read_filter};
use arrow_array::{
    ArrayRef, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array, Float64Array,
    Int8Array, Int16Array, Int32Array, Int64Array, PrimitiveArray, RecordBatch, StringArray,
    Time32MillisecondArray, Time64MicrosecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array,
    types::{Decimal32Type, Decimal64Type},
};
use parquet::{
    arrow::ArrowWriter,
    bloom_filter::Sbbf,
    file::properties::{EnabledStatistics, WriterProperties},
};
use std::{sync::Arc, task::Waker};
use volley_connector::{ScanMetrics, ScanRequest, SourceStep};
use volley_expression::{
    Expr, SpecialForm,
    filter::{ColumnFilter, DynamicFilter, KeyFilter},
};
use volley_io::RandomAccessFile;
use volley_types::{
    Field, Schema, Type, Value,
    custom::{TimestampTz, Uuid},
};
use volley_vector::{
    Batch, Vector,
    arrow::{ArrowLayout, batch_to_arrow, schema_to_arrow},
};

fn write(column: &ArrayRef, has_bloom_filters: bool) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter([("c", Arc::clone(column))]).unwrap();
    write_batch(&batch, has_bloom_filters)
}

fn write_batch(batch: &RecordBatch, has_bloom_filters: bool) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_statistics_enabled(EnabledStatistics::None)
        .set_bloom_filter_fpp(0.001)
        .set_bloom_filter_enabled(has_bloom_filters)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn open(bytes: Vec<u8>, is_distant: bool) -> ParquetFile {
    let file = MemoryFile(bytes.into());
    let file: Arc<dyn RandomAccessFile> =
        if is_distant { Arc::new(DistantFile(file)) } else { Arc::new(file) };
    ParquetFile::open(file).unwrap()
}

/// The rows that satisfy a filter, and what was read.
fn scan(file: &ParquetFile, request: ScanRequest) -> (usize, ScanMetrics) {
    let mut reader = RowGroupReader::new(&request).unwrap();
    reader.start(file.clone(), 0, &|column| column).unwrap();
    let mut rows = 0;
    loop {
        match reader.step(Waker::noop()).unwrap() {
            SourceStep::Batch(batch) => rows += batch.rows(),
            SourceStep::NeedSplit => return (rows, reader.metrics()),
            SourceStep::Blocked => std::thread::yield_now(),
            SourceStep::Progress => {}
        }
    }
}

fn find(file: &ParquetFile, filter: Expr) -> (usize, u64) {
    let registry = Arc::clone(&REGISTRY);
    let request = ScanRequest { filters: vec![filter], registry, ..request(vec![0], 1024) };
    let (rows, metrics) = scan(file, request);
    (rows, metrics.groups_skipped)
}

fn equal(file: &ParquetFile, value: &Value) -> Expr {
    let data_type = file.schema().fields[0].data_type.clone();
    let column = Expr::column(0, data_type.clone());
    Expr::call("eq", vec![column, Expr::constant(value.clone(), data_type)], Type::Boolean)
}

/// Writes the values of `make` for every other number and looks up all of them. A missing value
/// rules the row group out if `is_pruned`.
#[track_caller]
fn check(make: impl Fn(Vec<i64>) -> ArrayRef, is_pruned: bool) {
    let all = make((1..=100).collect());
    let batch = RecordBatch::try_from_iter([("c", Arc::clone(&all))]).unwrap();
    let values = batch_read(&batch).column(0).to_values().unwrap();
    let some = make((1..=100).step_by(2).collect());
    for (has_filter, is_distant) in [(true, false), (true, true), (false, false)] {
        let file = open(write(&some, has_filter), is_distant);
        let mut skipped = 0;
        for (row, value) in values.iter().enumerate() {
            let (found, groups) = find(&file, equal(&file, value));
            assert_eq!(found, 1 - row % 2, "{value:?} of {}", all.data_type());
            assert!(row % 2 == 1 || groups == 0);
            skipped += groups;
        }
        let is_right = if has_filter && is_pruned { skipped > 45 } else { skipped == 0 };
        assert!(is_right, "{skipped} of 50 of {}", all.data_type());
    }
}

#[test]
fn values_that_are_not_there_rule_row_groups_out() {
    fn to<T: TryFrom<i64>>(values: Vec<i64>) -> Vec<T>
    where
        T::Error: std::fmt::Debug,
    {
        values.into_iter().map(|it| T::try_from(it).unwrap()).collect()
    }
    check(|it| Arc::new(Int8Array::from(to::<i8>(it))), true);
    check(|it| Arc::new(Int16Array::from(to::<i16>(it))), true);
    check(|it| Arc::new(Int32Array::from_iter_values(to::<i32>(it).iter().map(|it| -it))), true);
    check(|it| Arc::new(Int64Array::from_iter_values(it.iter().map(|it| it << 40))), true);
    check(|it| Arc::new(UInt8Array::from(to::<u8>(it))), true);
    check(|it| Arc::new(UInt16Array::from(to::<u16>(it))), true);
    check(|it| Arc::new(UInt32Array::from_iter_values(to::<u32>(it).iter().map(|it| !it))), true);
    check(|it| Arc::new(UInt64Array::from_iter_values(to::<u64>(it).iter().map(|it| !it))), true);
    check(|it| Arc::new(Date32Array::from(to::<i32>(it))), true);
    check(|it| Arc::new(Time32MillisecondArray::from(to::<i32>(it))), true);
    check(|it| Arc::new(Time64MicrosecondArray::from(it)), true);
    check(|it| Arc::new(TimestampMillisecondArray::from(it)), true);
    check(|it| Arc::new(TimestampMicrosecondArray::from(it)), true);
    check(|it| Arc::new(TimestampMicrosecondArray::from(it).with_timezone("UTC")), true);
    // What is read is not what is stored.
    let thousands = |it: Vec<i64>| it.into_iter().map(|it| it * 1000).collect::<Vec<_>>();
    check(|it| Arc::new(TimestampNanosecondArray::from(thousands(it)).with_timezone("UTC")), false);
    check(|it| Arc::new(TimestampNanosecondArray::from(it)), true);
    check(|it| Arc::new(PrimitiveArray::<Decimal32Type>::from_iter_values(to::<i32>(it))), true);
    check(|it| Arc::new(PrimitiveArray::<Decimal64Type>::from(it)), true);
    let wide = |it: &i64| i128::from(*it) * if it % 4 < 2 { 1 } else { -1 } << 80;
    check(|it| Arc::new(Decimal128Array::from_iter_values(it.iter().map(wide))), true);
    check(|it| Arc::new(Float32Array::from_iter_values(it.iter().map(|it| *it as f32))), true);
    check(|it| Arc::new(Float64Array::from_iter_values(it.iter().map(|it| -*it as f64))), true);
    let text = |it: &i64| format!("{it} is a number of some length");
    check(|it| Arc::new(StringArray::from_iter_values(it.iter().map(text))), true);
    let bytes = |it: &i64| it.to_be_bytes();
    let fixed = |it: Vec<i64>| FixedSizeBinaryArray::try_from_iter(it.iter().map(bytes)).unwrap();
    check(|it| Arc::new(fixed(it)), true);
}

#[test]
fn zeros_and_nans_of_floats_are_found() {
    let stored = [-0.0, f64::NAN, 7.5];
    let file =
        open(write(&(Arc::new(Float64Array::from(stored.to_vec())) as ArrayRef), true), false);
    for value in [0.0, -0.0, -f64::NAN, 7.5] {
        assert_eq!(find(&file, equal(&file, &Value::Double(value))), (1, 0), "{value}");
    }
    assert_eq!(find(&file, equal(&file, &Value::Double(8.5))), (0, 1));
}

/// A file with a column of a type of ours.
fn own_file(data_type: Type, values: &[Value]) -> ParquetFile {
    let schema = Schema::new(vec![Field::new("c", data_type.clone())]);
    let schema = Arc::new(schema_to_arrow(&schema, ArrowLayout::Portable));
    let batch = Batch::new(vec![Vector::from_values(data_type, values)], values.len());
    let batch = batch_to_arrow(&batch, &schema, ArrowLayout::Portable).unwrap();
    open(write_batch(&batch, true), false)
}

#[test]
fn lists_connectives_and_null_are_understood() {
    let file = own_file(Type::BigInt, &[Value::BigInt(1), Value::Null, Value::BigInt(100)]);
    let list = |values: &[i64]| {
        let constant = |it: &i64| Expr::constant(Value::BigInt(*it), Type::BigInt);
        let args = [Expr::column(0, Type::BigInt)].into_iter().chain(values.iter().map(constant));
        Expr::special(SpecialForm::In, args.collect(), Type::Boolean)
    };
    let or = |args| Expr::special(SpecialForm::Or, args, Type::Boolean);
    let is = |value: i64| equal(&file, &Value::BigInt(value));
    let is_null =
        || Expr::special(SpecialForm::IsNull, vec![Expr::column(0, Type::BigInt)], Type::Boolean);
    assert_eq!(find(&file, list(&[50, 51])), (0, 1));
    assert_eq!(find(&file, list(&[50, 100])), (1, 0));
    assert_eq!(find(&file, or(vec![is(50), is(51)])), (0, 1));
    assert_eq!(find(&file, or(vec![is(50), is(1)])), (1, 0));
    assert_eq!(find(&file, or(vec![is(50), is_null()])), (1, 0));
    assert_eq!(find(&file, Expr::and(vec![or(vec![is(1), is(100)]), is(51)])), (0, 1));
    assert_eq!(find(&file, Expr::call("neq", is(50).children().to_vec(), Type::Boolean)), (2, 0));
    assert_eq!(find(&file, equal(&file, &Value::Null)), (0, 0));
}

#[test]
fn few_keys_of_a_join_are_looked_up() {
    let values: Vec<Value> = (0..100).map(|it| Value::Integer(it * 10)).collect();
    let file = own_file(Type::Integer, &values);
    for (min, max, groups) in [(11, 19, 1), (11, 20, 0), (11, 1000, 0), (2000, 2010, 1)] {
        let filter = DynamicFilter::default();
        filter.set(Some(Arc::new(KeyFilter::range(min, max))));
        let dynamic_filters = vec![ColumnFilter { column: 0, filter: Arc::new(filter) }];
        let (_, metrics) = scan(&file, ScanRequest { dynamic_filters, ..request(vec![0], 1024) });
        assert_eq!(metrics.groups_skipped, groups, "{min} to {max}");
    }
}

#[test]
fn identities_are_looked_up_as_they_are_stored() {
    let values: Vec<Value> = (0..50).map(|it| Value::HugeInt((it << 100) - 7)).collect();
    let file = own_file(Uuid::data_type(), &values);
    for value in &values {
        assert_eq!(find(&file, equal(&file, value)), (1, 0));
    }
    assert_eq!(find(&file, equal(&file, &Value::HugeInt(3))), (0, 1));
    let file = own_file(TimestampTz::data_type(), &[Value::Timestamp(5), Value::Timestamp(99)]);
    assert_eq!(find(&file, equal(&file, &Value::Timestamp(5))), (1, 0));
    assert_eq!(find(&file, equal(&file, &Value::Timestamp(50))), (0, 1));
}

#[test]
fn filters_of_another_kind_or_size_are_left_alone() {
    let mut filter = Sbbf::new_with_ndv_fpp(100, 0.01).unwrap();
    filter.insert(&5i64.to_le_bytes()[..]);
    let mut bytes = Vec::new();
    filter.write(&mut bytes).unwrap();
    assert!(read_filter(&bytes).unwrap().check(&5i64));
    // Every part of the header counts; after it are the bits.
    let header = bytes.len() - filter.num_blocks() * 32;
    assert!(header > 10);
    for len in (0..bytes.len()).chain([bytes.len() + 1, bytes.len() + 32]) {
        let mut cut = bytes.clone();
        cut.resize(len, 0);
        assert!(read_filter(&cut).is_none(), "{len} bytes");
    }
    for place in 0..header {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1 << bit;
            // A bit that nothing depends on may change; whatever is read can be asked.
            if let Some(filter) = read_filter(&damaged) {
                assert!(filter.check(&5i64), "bit {bit} of byte {place}");
            }
        }
    }
    let empty = [&bytes[..1], &[0], &bytes[3..header]].concat();
    assert!(read_filter(&empty).is_none());
}
