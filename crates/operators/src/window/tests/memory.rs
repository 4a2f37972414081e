//! Results that take much more than the rows that they are of.

use super::{
    ID, SEPARATOR, TEXT, X, batches, feed,
    segments::{frame, node},
    types,
};
use crate::{
    test_kit::{Harness, registry},
    window::{operator::WindowOperator, spec::WindowSpec},
};
use std::sync::Arc;
use volley_error::ErrorKind;
use volley_exec::Operator;
use volley_memory::Pool;
use volley_plan::{Frame, FrameBound, FrameOffset, FrameUnits, SortKey, WindowCall};
use volley_state::StateSizes;
use volley_testkit::RowValues;
use volley_types::{Type, Value};

/// Rows with a text of this number of bytes.
fn rows(count: i64, text_bytes: usize) -> RowValues {
    let types = types(&Type::BigInt, &Type::BigInt);
    let row = |id: i64| {
        let mut row = vec![Value::BigInt(id); types.len()];
        row[super::FILTER] = Value::Boolean(true);
        (row[TEXT], row[SEPARATOR]) = (Value::text("z".repeat(text_bytes)), Value::text("-"));
        row
    };
    (0..count).map(row).collect()
}

fn growing() -> Frame {
    frame(FrameUnits::Rows, FrameBound::UnboundedPreceding, FrameBound::CurrentRow)
}

fn sliding() -> Frame {
    let start = FrameBound::Preceding(FrameOffset::Count(100));
    frame(FrameUnits::Rows, start, FrameBound::CurrentRow)
}

fn same(_: &mut WindowCall) {}

fn distinct(call: &mut WindowCall) {
    call.distinct = true;
}

#[test]
fn large_results_are_put_out_a_few_rows_at_a_time() {
    let types = types(&Type::BigInt, &Type::BigInt);
    let rows = rows(200, 20);
    let check = |function: &str, args: &[usize], frame: Frame, change: fn(&mut WindowCall)| {
        let node = node(function, args, frame, change);
        let spec = Arc::new(WindowSpec::new(&node, &registry(), StateSizes::SMALL).unwrap());
        let cx = Harness::context(1024);
        let batches = batches(&types, &rows, rows.len());
        let mut harness = Harness::new(WindowOperator::new(&spec, &cx));
        let (sizes, sum) = harness.feed_sizes(batches).unwrap();
        drop(harness);
        assert_eq!(sum, rows.len());
        assert_eq!(cx.pool.stats().bytes, 0, "memory still held");
        sizes.len()
    };
    for frame in [growing(), sliding()] {
        for change in [same, distinct] {
            assert!(check("array_agg", &[X], frame.clone(), change) > 10);
            assert!(check("histogram", &[ID], frame.clone(), change) > 10);
        }
        assert!(check("string_agg", &[TEXT, SEPARATOR], frame.clone(), same) > 10);
        assert_eq!(check("sum", &[X], frame.clone(), same), 1);
        // States that keep little of the texts.
        assert!(check("max", &[TEXT], frame, same) < 40);
    }
}

#[test]
fn results_larger_than_the_limit_are_made() {
    let types = types(&Type::BigInt, &Type::BigInt);
    let rows = rows(2000, 1);
    let node = node("array_agg", &[X], growing(), same);
    let mut cx = Harness::context(1024);
    cx.pool = Pool::root("test", Some(4 << 20));
    let results = feed(&node, &types, &rows, &cx, None).unwrap();
    let sizes = results.iter().map(|it| match it.last() {
        Some(Value::Array(elements)) => elements.len(),
        other => panic!("{other:?}"),
    });
    assert_eq!(sizes.sum::<usize>() * size_of::<i64>(), 2001 * 1000 * 8);
}

#[test]
fn one_result_beyond_the_limit_is_refused_before_it_is_made() {
    let types = types(&Type::BigInt, &Type::BigInt);
    let rows = rows(3000, 2000);
    let (first, last) = (FrameBound::UnboundedPreceding, FrameBound::UnboundedFollowing);
    let whole = frame(FrameUnits::Rows, first, last);
    let node = node("string_agg", &[TEXT, TEXT], whole, same);
    let mut cx = Harness::context(1024);
    cx.pool = Pool::root("test", Some(20 << 20));
    let error = feed(&node, &types, &rows, &cx, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
}

#[test]
fn rows_are_sorted_on_disk_with_what_was_charged_for_them() {
    // The buffers of a file and what else does not grow with the rows.
    const BUFFERS_MAX: usize = 1 << 20;
    let types = types(&Type::BigInt, &Type::BigInt);
    let rows = rows(50_000, 20);
    for keeps_order in [true, false] {
        let mut node = node("sum", &[X], growing(), same);
        node.keeps_order = keeps_order;
        node.partition_by = vec![TEXT, SEPARATOR];
        let order = [super::KEY, super::SECOND_KEY, X, super::COUNT, super::LOWER, ID];
        node.order_by = order.map(|column| SortKey { column, ..node.order_by[0] }).to_vec();
        let spec = Arc::new(WindowSpec::new(&node, &registry(), StateSizes::SMALL).unwrap());
        let cx = Harness::context(1024);
        let mut operator = WindowOperator::new(&spec, &cx);
        let batches = batches(&types, &rows, 1000);
        batches.into_iter().for_each(|it| operator.accept(it).unwrap());
        cx.pool.set_limit(Some(cx.pool.stats().bytes + BUFFERS_MAX));
        operator.as_spill().unwrap().spill().unwrap();
        assert!(cx.task.spill.stats().bytes > 0);
    }
}
