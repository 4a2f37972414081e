//! Row groups that cannot match are ruled out, and unneeded pages are never decompressed.

use super::open_file;
use crate::{ParquetFile, RowGroupReader};
use arrow_array::{Int64Array, RecordBatch, StringArray};
use parquet::{
    arrow::ArrowWriter,
    file::properties::{EnabledStatistics, WriterProperties},
};
use std::{fs::File, sync::Arc, task::Waker};
use volley_connector::{Bounds, ScanMetrics, ScanRequest, SourceStep, may_match};
use volley_expression::{Expr, SpecialForm};
use volley_function::Registry;
use volley_types::{Type, Value};

fn column(data_type: &Type) -> Expr {
    Expr::column(0, data_type.clone())
}

fn call(name: &str, value: Value, data_type: &Type) -> Expr {
    let args = vec![column(data_type), Expr::constant(value, data_type.clone())];
    Expr::call(name, args, Type::Boolean)
}

/// A part of 10 rows with values from 5 to 9.
fn part(nulls: Option<u64>) -> Bounds {
    let (min, max) = (Some(Value::BigInt(5)), Some(Value::BigInt(9)));
    Bounds { min, max, nulls, distinct: None }
}

fn matches(filter: &Expr, bounds: &Bounds) -> bool {
    may_match(filter, 10, &|_| bounds.clone())
}

#[test]
fn comparisons_are_decided_at_the_bounds() {
    let keeps = |name: &str, value: i64| {
        matches(&call(name, Value::BigInt(value), &Type::BigInt), &part(Some(0)))
    };
    let cases = [
        ("eq", [false, true, true, true, false]),
        ("neq", [true, true, true, true, true]),
        ("lt", [false, false, true, true, true]),
        ("lte", [false, true, true, true, true]),
        ("gt", [true, true, true, false, false]),
        ("gte", [true, true, true, true, false]),
    ];
    for (name, expected) in cases {
        let found = [4, 5, 7, 9, 10].map(|it| keeps(name, it));
        assert_eq!(found, expected, "{name}");
    }
    assert!(!matches(&call("eq", Value::Null, &Type::BigInt), &part(Some(0))));
}

#[test]
fn lists_nulls_and_connectives_are_understood() {
    let list = |values: &[i64]| {
        let mut args = vec![column(&Type::BigInt)];
        args.extend(values.iter().map(|it| Expr::constant(Value::BigInt(*it), Type::BigInt)));
        Expr::special(SpecialForm::In, args, Type::Boolean)
    };
    assert!(matches(&list(&[1, 6]), &part(None)));
    assert!(!matches(&list(&[1, 10]), &part(None)));
    let is_null = Expr::special(SpecialForm::IsNull, vec![column(&Type::BigInt)], Type::Boolean);
    assert!(!matches(&is_null, &part(Some(0))));
    assert!(matches(&is_null, &part(None)));
    let present = Expr::call("not", vec![is_null.clone()], Type::Boolean);
    assert!(!matches(&present, &part(Some(10))));
    assert!(matches(&present, &part(Some(9))));
    let low = call("lt", Value::BigInt(5), &Type::BigInt);
    let either = Expr::special(SpecialForm::Or, vec![low.clone(), is_null], Type::Boolean);
    assert!(matches(&either, &part(Some(1))));
    assert!(!matches(&either, &part(Some(0))));
    assert!(!matches(&low, &part(Some(10))));
}

#[test]
fn unknown_bounds_rule_nothing_out() {
    for name in ["eq", "neq", "lt", "lte", "gt", "gte", "like", "other"] {
        assert!(matches(&call(name, Value::BigInt(1), &Type::BigInt), &Bounds::default()));
    }
}

#[test]
fn casts_to_wider_types_are_seen_through() {
    let day = 86_400_000_000;
    let dates = || {
        let (min, max) = (Some(Value::Date(10)), Some(Value::Date(20)));
        Bounds { min, max, nulls: Some(0), distinct: None }
    };
    let keeps = |name: &str, from: Type, value: Value, to: Type, bounds: Bounds| {
        let operand = column(&from).cast(to.clone());
        let filter = Expr::call(name, vec![operand, Expr::constant(value, to)], Type::Boolean);
        may_match(&filter, 10, &|_| bounds.clone())
    };
    let at = |micros: i64| Value::Timestamp(micros);
    assert!(keeps("lte", Type::Date, at(10 * day), Type::Timestamp, dates()));
    assert!(!keeps("lt", Type::Date, at(10 * day), Type::Timestamp, dates()));
    assert!(!keeps("gt", Type::Date, at(20 * day), Type::Timestamp, dates()));
    let (decimal, tenths) = (Type::decimal(20, 1), |it| Value::Decimal(it));
    assert!(keeps("eq", Type::BigInt, tenths(90), decimal.clone(), part(None)));
    assert!(!keeps("eq", Type::BigInt, tenths(91), decimal, part(None)));
    // Not all values keep their order in a narrower type.
    assert!(keeps("eq", Type::BigInt, Value::Integer(100), Type::Integer, part(None)));
}

#[test]
fn prefixes_are_compared_with_the_bounds() {
    let (min, max) = (Some(Value::text("berlin")), Some(Value::text("delhi")));
    let bounds = Bounds { min, max, ..Bounds::default() };
    let keeps =
        |name: &str, text: &str| matches(&call(name, Value::text(text), &Type::Varchar), &bounds);
    assert!(keeps("like", "c%"));
    assert!(keeps("like", "ber_in%"));
    assert!(keeps("like", "%x"));
    assert!(!keeps("like", "a%"));
    assert!(!keeps("like", "e%"));
    assert!(!keeps("starts_with", "bea"));
    assert!(keeps("starts_with", "delhi2"[..5].into()));
    assert!(!keeps("starts_with", "dem"));
}

/// A file with one row group: `a` counts up, `s` is text, in pages of 100 rows.
fn write_paged(path: &str, rows: i64, statistics: EnabledStatistics) {
    let numbers = Int64Array::from_iter_values(0..rows);
    let texts = StringArray::from_iter_values((0..rows).map(|it| format!("text of row {it}")));
    let batch = RecordBatch::try_from_iter([
        ("a", Arc::new(numbers) as arrow_array::ArrayRef),
        ("s", Arc::new(texts) as arrow_array::ArrayRef),
    ]);
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_statistics_enabled(statistics)
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(50)
        .build();
    let batch = batch.unwrap();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// Searches one row of 10,000; returns what was read for it.
fn find_row(statistics: EnabledStatistics) -> ScanMetrics {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("paged.parquet").to_string_lossy().into_owned();
    write_paged(&path, 10_000, statistics);
    let file = ParquetFile::open(open_file(&path).unwrap()).unwrap();
    let mut registry = Registry::default();
    volley_functions::register(&mut registry);
    let request = ScanRequest {
        filters: vec![call("eq", Value::BigInt(5555), &Type::BigInt)],
        registry: Arc::new(registry),
        ..super::request(vec![1], 1000)
    };
    let mut reader = RowGroupReader::new(&request).unwrap();
    reader.start(file, 0, &|column| column).unwrap();
    let mut found = Vec::new();
    loop {
        match reader.step(Waker::noop()).unwrap() {
            SourceStep::Batch(batch) => {
                found.extend(batch.column(0).loaded().unwrap().to_values().unwrap());
            }
            SourceStep::NeedSplit => break,
            SourceStep::Blocked | SourceStep::Progress => {}
        }
    }
    assert_eq!(found, [Value::text("text of row 5555")]);
    reader.metrics()
}

#[test]
fn pages_without_selected_rows_are_never_decompressed() {
    let metrics = find_row(EnabledStatistics::Chunk);
    assert_eq!(metrics.pages_read, 100 + 1, "{metrics:?}");
    // The pages before it, and those after it in its batch.
    assert_eq!(metrics.pages_skipped, 55 + 4, "{metrics:?}");
    assert_eq!((metrics.rows_read, metrics.pages_pruned), (10_000, 0));
}

#[test]
fn pages_that_the_index_rules_out_are_never_looked_at() {
    let metrics = find_row(EnabledStatistics::Page);
    assert_eq!(metrics.pages_read, 1 + 1, "{metrics:?}");
    assert_eq!(metrics.pages_skipped, 55 + 55, "{metrics:?}");
    assert_eq!((metrics.rows_read, metrics.rows_pruned), (100, 9900));
    assert_eq!(metrics.pages_pruned, 99 + 99);
    let all = find_row(EnabledStatistics::Chunk);
    assert!(metrics.bytes_read * 10 < all.bytes_read, "{} {}", metrics.bytes_read, all.bytes_read);
}
