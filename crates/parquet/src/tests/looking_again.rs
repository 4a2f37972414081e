//! Bounds that tighten while a row group is read: the rows that they rule out are not read.

use super::{DistantFile, MemoryFile, request};
use crate::{ParquetFile, RowGroupReader};
use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, types::Int64Type};
use parquet::{
    arrow::ArrowWriter,
    file::properties::{EnabledStatistics, WriterProperties},
};
use std::{sync::Arc, task::Waker};
use volley_connector::{ScanMetrics, ScanRequest, SourceStep};
use volley_expression::filter::{Bound, BoundOrder, ColumnFilter, DynamicFilter};
use volley_types::{Type, Value};

const ROWS: i64 = 1000;
const PAGE_ROWS: usize = 100;

/// A file whose column `a` has the values of `number` of each row (null where there is none), with
/// its row as text `s` and a list of as many elements as the row modulo 3 next to.
fn file(statistics: EnabledStatistics, number: impl Fn(i64) -> Option<i64>) -> Vec<u8> {
    let numbers = Int64Array::from_iter((0..ROWS).map(number));
    let texts = StringArray::from_iter_values((0..ROWS).map(|it| format!("row ä {it}")));
    let lists = (0..ROWS).map(|it| Some((0..it % 3).map(move |at| Some(it + at))));
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(lists);
    let columns: [(&str, ArrayRef); 3] =
        [("a", Arc::new(numbers)), ("s", Arc::new(texts)), ("l", Arc::new(lists))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_write_batch_size(PAGE_ROWS)
        .set_statistics_enabled(statistics)
        .set_offset_index_disabled(statistics != EnabledStatistics::Page)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// A bound that arrives after some rows were returned.
struct Tightening {
    after_rows: usize,
    value: Value,
    order: BoundOrder,
}

const UP: BoundOrder = BoundOrder { descending: false, nulls_first: false };
const DOWN: BoundOrder = BoundOrder { descending: true, nulls_first: false };

/// The returned rows, by the number in their text, and the bytes that were read.
fn read(file: &ParquetFile, batch_rows: usize, bound: &Tightening) -> (Vec<usize>, ScanMetrics) {
    let filter = Arc::new(DynamicFilter::bounded(bound.order));
    let dynamic_filters = vec![ColumnFilter { column: 0, filter: Arc::clone(&filter) }];
    let registry = Arc::clone(&super::random_files::REGISTRY);
    let request = ScanRequest { dynamic_filters, registry, ..request(vec![1, 2], batch_rows) };
    let mut reader = RowGroupReader::new(&request).unwrap();
    reader.start(file.clone(), 0, &|column| column).unwrap();
    let mut rows = Vec::new();
    loop {
        if rows.len() >= bound.after_rows && filter.version() == 0 {
            let (value, order) = (bound.value.clone(), bound.order);
            let tight = Bound { value, data_type: Type::BigInt, order, keeps_equal: true };
            filter.tighten(tight, |_| true);
        }
        match reader.step(Waker::noop()).unwrap() {
            SourceStep::Batch(batch) => {
                let columns = [0, 1].map(|it| batch.column(it).to_values().unwrap());
                for (text, list) in columns[0].iter().zip(&columns[1]) {
                    let row = text.as_str().unwrap().strip_prefix("row ä ").unwrap();
                    let row: usize = row.parse().unwrap();
                    let Value::Array(list) = list else { panic!("no list: {list:?}") };
                    assert_eq!(list.len(), row % 3);
                    rows.push(row);
                }
            }
            SourceStep::NeedSplit => break,
            SourceStep::Blocked | SourceStep::Progress => {}
        }
    }
    (rows, reader.metrics())
}

/// Checks which rows come when a bound becomes known after some, and how many rows are not read.
#[track_caller]
fn check(bytes: &[u8], bound: &Tightening, last: &[usize], unread: u64) {
    let memory = || MemoryFile(bytes.to_vec().into());
    for file in [
        ParquetFile::open(Arc::new(memory())).unwrap(),
        ParquetFile::open(Arc::new(DistantFile(memory()))).unwrap(),
    ] {
        for batch_rows in [1, 3, 30] {
            let (rows, metrics) = read(&file, batch_rows, bound);
            let first = bound.after_rows.next_multiple_of(batch_rows);
            let expected: Vec<usize> =
                (0..first).chain(last.iter().copied().filter(|it| *it >= first)).collect();
            assert_eq!(rows, expected, "batches of {batch_rows}");
            let spared = metrics.rows_pruned;
            // The bound comes with the end of a batch.
            assert!(spared <= unread && spared + batch_rows as u64 > unread, "{metrics:?}");
            assert_eq!(metrics.rows_read + spared, ROWS as u64);
        }
    }
}

#[test]
fn pages_that_a_bound_rules_out_meanwhile_are_not_read() {
    let ascending = file(EnabledStatistics::Page, Some);
    let bound =
        |after_rows, value, order| Tightening { after_rows, value: Value::BigInt(value), order };
    // Of the page with the bound, rows are dropped one by one.
    let to_250: Vec<usize> = (0..=250).collect();
    check(&ascending, &bound(60, 250, UP), &to_250, 700);
    // The rest of the page that is being read, too.
    check(&ascending, &bound(60, 20, UP), &[], 900);
    let from_720: Vec<usize> = (720..1000).collect();
    check(&ascending, &bound(60, 720, DOWN), &from_720, 640);
    // All of it, by the statistics of the row group.
    check(&ascending, &bound(60, -1, UP), &[], 940);
    check(&ascending, &bound(150, 1000, DOWN), &[], 850);
    // None of it.
    let all: Vec<usize> = (0..1000).collect();
    check(&ascending, &bound(60, 999, UP), &all, 0);

    let (_, metrics) = read(
        &ParquetFile::open(Arc::new(MemoryFile(ascending.into()))).unwrap(),
        30,
        &bound(60, 250, UP),
    );
    // Seven of each flat column at least.
    assert!(metrics.pages_pruned >= 14, "{metrics:?}");
}

#[test]
fn nulls_are_ruled_out_or_not_as_the_order_has_them() {
    let nulls_last_page = file(EnabledStatistics::Page, |it| (it < 900).then_some(it));
    let nulls_first = BoundOrder { nulls_first: true, ..UP };
    let bound = |order| Tightening { after_rows: 60, value: Value::BigInt(130), order };
    let to_130: Vec<usize> = (0..=130).collect();
    check(&nulls_last_page, &bound(UP), &to_130, 800);
    let with_nulls: Vec<usize> = (0..=130).chain(900..1000).collect();
    check(&nulls_last_page, &bound(nulls_first), &with_nulls, 700);
    let only_nulls = Tightening { after_rows: 60, value: Value::Null, order: nulls_first };
    let nulls: Vec<usize> = (900..1000).collect();
    check(&nulls_last_page, &only_nulls, &nulls, 840);
}

#[test]
fn without_page_indexes_all_that_is_left_is_ruled_out_or_nothing() {
    let chunks = file(EnabledStatistics::Chunk, Some);
    let bound = |value| Tightening { after_rows: 60, value: Value::BigInt(value), order: UP };
    check(&chunks, &bound(-1), &[], 940);
    check(&chunks, &bound(20), &[], 0);
    let none = file(EnabledStatistics::None, Some);
    check(&none, &bound(-1), &[], 0);
}
