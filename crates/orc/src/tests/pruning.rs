//! Row groups that cannot match are ruled out, by statistics and Bloom filters, and are not read.

use super::{DistantFile, MemoryFile, columns_of, data_bytes, request};
use crate::{OrcFile, StripeReader};
use std::{sync::Arc, task::Waker};
use volley_connector::{ScanMetrics, ScanRequest, SourceStep};
use volley_expression::{
    Expr, SpecialForm,
    filter::{ColumnFilter, DynamicFilter, KeyFilter},
};
use volley_function::Registry;
use volley_types::{Type, Value};
use volley_vector::Batch;

fn call(name: &str, column: usize, value: Value, data_type: Type) -> Expr {
    let args = vec![Expr::column(column, data_type.clone()), Expr::constant(value, data_type)];
    Expr::call(name, args, Type::Boolean)
}

/// The rows of `pruning.orc` that filters leave: the first column's; and what was read.
fn read(request: &ScanRequest, distant: bool) -> (Vec<Value>, ScanMetrics) {
    let file = MemoryFile(data_bytes("pruning.orc"));
    let file = match distant {
        true => OrcFile::open(Arc::new(DistantFile(file))),
        false => OrcFile::open(Arc::new(file)),
    };
    let file = file.unwrap();
    let mut reader = StripeReader::new(request).unwrap();
    let mut batches: Vec<Batch> = Vec::new();
    for stripe in 0..file.stripes() {
        reader.start(file.clone(), stripe, &|column| (column, None)).unwrap();
        loop {
            match reader.step(Waker::noop()).unwrap() {
                SourceStep::Batch(batch) => batches.push(batch.loaded().unwrap()),
                SourceStep::NeedSplit => break,
                SourceStep::Blocked => std::thread::yield_now(),
                SourceStep::Progress => {}
            }
        }
    }
    (columns_of(&batches, 1).unwrap().remove(0), reader.metrics())
}

fn filtered(filter: Expr) -> ScanRequest {
    let mut registry = Registry::default();
    volley_functions::register(&mut registry);
    ScanRequest { filters: vec![filter], registry: Arc::new(registry), ..request(vec![0], 100) }
}

/// Checks the rows that a filter leaves, and in how many row groups of 200 rows they were looked
/// for.
#[track_caller]
fn check(filter: Expr, rows: std::ops::Range<i64>, groups: u64) {
    for distant in [false, true] {
        let (found, metrics) = read(&filtered(filter.clone()), distant);
        assert_eq!(found, rows.clone().map(Value::BigInt).collect::<Vec<_>>());
        assert_eq!(metrics.rows_read, groups * 200, "{metrics:?}");
        assert_eq!(metrics.rows_pruned, (10 - groups) * 200);
    }
}

#[test]
fn statistics_rule_row_groups_out() {
    check(call("gt", 0, Value::BigInt(1700), Type::BigInt), 1701..2000, 2);
    check(call("eq", 3, Value::Date(7), Type::Date), 700..800, 1);
    check(call("lt", 2, Value::Double(60.0), Type::Double), 0..240, 2);
    let note = Expr::column(5, Type::Varchar);
    check(Expr::special(SpecialForm::IsNull, vec![note], Type::Boolean), 0..1000, 5);
    check(call("lt", 0, Value::BigInt(0), Type::BigInt), 0..0, 0);
}

#[test]
fn bloom_filters_rule_row_groups_out() {
    let name = Value::text("name 123");
    check(call("eq", 1, name, Type::Varchar), 1230..1240, 1);
    check(call("eq", 5, Value::text("note 1500"), Type::Varchar), 1500..1501, 1);
    // Within the bounds of every row group, but in one only.
    let hash = |row: i64| Value::BigInt(row * 7919 % 2000);
    let (_, metrics) = read(&filtered(call("eq", 4, hash(5), Type::BigInt)), false);
    assert_eq!(metrics.rows_read, 2000, "a column without a filter");
    let missing = call("eq", 2, Value::Double(0.3), Type::Double);
    let (found, metrics) = read(&filtered(missing), true);
    assert!(found.is_empty() && metrics.groups_skipped <= 1);
    let name = Value::text("nam");
    check(call("eq", 1, name, Type::Varchar), 0..0, 0);
}

#[test]
fn filters_of_joins_rule_row_groups_out() {
    let filter = DynamicFilter::default();
    filter.set(Some(Arc::new(KeyFilter::range(350, 450))));
    let filter = ColumnFilter { column: 0, filter: Arc::new(filter) };
    let request = ScanRequest { dynamic_filters: vec![filter], ..request(vec![0], 100) };
    let (found, metrics) = read(&request, false);
    assert_eq!(found, (350..=450).map(Value::BigInt).collect::<Vec<_>>());
    assert_eq!(metrics.rows_read, 400);
}

#[test]
fn streams_are_read_from_the_row_groups_that_are_left() {
    let narrow = filtered(call("gt", 0, Value::BigInt(1900), Type::BigInt));
    let all = filtered(call("gte", 0, Value::BigInt(0), Type::BigInt));
    for distant in [false, true] {
        let (_, narrow) = read(&narrow, distant);
        let (_, all) = read(&all, distant);
        assert!(narrow.bytes_read <= all.bytes_read);
    }
}
