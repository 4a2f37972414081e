//! Sorts that do not fit in memory.

use super::OrderBy;
use crate::test_kit::{Harness, InputEncoding, SETUPS, TestTables, run_limited};
use volley_error::ErrorKind;
use volley_exec::OperatorContext;
use volley_plan::SortKey;
use volley_testkit::{RandomColumns, RowValues};
use volley_types::{Type, Value};
use volley_vector::Batch;

/// Sorts by hand; spills before every `spill_every` steps.
fn sort(
    types: &[Type],
    keys: &[SortKey],
    batches: Vec<Batch>,
    cx: &OperatorContext,
    spill_every: Option<usize>,
) -> RowValues {
    let operator = OrderBy::new(types.to_vec(), keys.to_vec(), cx);
    let rows = Harness::new(operator).spilling(spill_every).feed(batches).unwrap();
    assert_eq!(cx.pool.stats().bytes, 0);
    assert_eq!(cx.task.spill.stats().bytes, 0, "files are left");
    rows
}

fn key(column: usize, number: u64) -> SortKey {
    SortKey { column, descending: number & 1 == 1, nulls_first: number & 2 == 2 }
}

#[test]
fn every_type_sorts_as_in_memory_whenever_it_is_spilled() {
    let mut random = RandomColumns::new(11);
    let is_spilled = |it: &Type| !format!("{it:?}").contains("Opaque");
    for data_type in RandomColumns::key_types().into_iter().filter(is_spilled) {
        for batch_rows in [1, 3, 1024] {
            // The second key has few values, the third tells equal rows apart.
            let types = [data_type.clone(), Type::TinyInt, Type::BigInt];
            let rows = if batch_rows == 1024 { 5_000 } else { 60 };
            let batches = random.batches(&types, rows, batch_rows);
            let keys = [key(0, random.below(4)), key(1, random.below(4))];
            let cx = || Harness::context(batch_rows);
            let expected = sort(&types, &keys, batches.clone(), &cx(), None);
            for every in [1, random.below(5) as usize + 2] {
                let cx = cx();
                let rows = sort(&types, &keys, batches.clone(), &cx, Some(every));
                let same =
                    rows.iter().zip(&expected).all(|(a, b)| format!("{a:?}") == format!("{b:?}"));
                assert!(same && rows.len() == expected.len(), "{data_type}, {keys:?}");
                let runs = cx.metrics.counts().named;
                let runs = runs.iter().find(|it| it.0 == "spilled runs").map_or(0, |it| it.1);
                assert!(runs > 0, "{data_type}: nothing was spilled");
            }
        }
    }
}

fn tables() -> (TestTables, RowValues) {
    let columns = [("a", Type::BigInt), ("b", Type::Varchar)];
    let row = |it: i64| {
        let text = Value::text(format!("Zeile {} und weiterer Text, größer", it * 7919 % 1000));
        vec![Value::BigInt(it * 104_729 % 200_003), text]
    };
    let rows: RowValues = (0..200_003).map(row).collect();
    let mut expected = rows.clone();
    expected.sort_by_key(|it| it[0].as_i128());
    (TestTables::one(&columns, rows, InputEncoding::Flat), expected)
}

#[test]
fn a_sort_that_does_not_fit_is_written_and_merged() {
    let (tables, expected) = tables();
    let plan = tables.scan("t").order_by(&["a"]).build().unwrap();
    for (limit, is_possible) in [(None, true), (Some(12 << 20), true), (Some(1 << 20), false)] {
        let run = run_limited(&plan, &tables, SETUPS[5], limit, None);
        match run.rows {
            Ok(rows) => assert!(rows == expected && is_possible),
            Err(error) => assert!(error.kind() == ErrorKind::OutOfMemory && !is_possible),
        }
        assert_eq!(run.spilled_bytes > 0, limit == Some(12 << 20));
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let (tables, _) = tables();
    let plan = tables.scan("t").order_by(&["a"]).build().unwrap();
    let run = run_limited(&plan, &tables, SETUPS[5], Some(12 << 20), Some(100_000));
    let error = run.rows.unwrap_err().to_string();
    assert!(error.contains("max_spill_size") && error.contains("order by"), "{error}");
}
