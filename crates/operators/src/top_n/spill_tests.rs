//! First rows that do not fit in memory.

use super::TopN;
use crate::test_kit::{Harness, InputEncoding, SETUPS, TestTables, run_limited};
use volley_error::ErrorKind;
use volley_exec::OperatorContext;
use volley_memory::spill::Fault;
use volley_plan::SortKey;
use volley_testkit::{RandomColumns, RowValues};
use volley_types::{Type, Value};
use volley_vector::Batch;

/// Runs by hand; spills before every `spill_every` steps.
fn first_rows(
    types: &[Type],
    keys: &[SortKey],
    (offset, limit): (u64, u64),
    batches: Vec<Batch>,
    cx: &OperatorContext,
    spill_every: Option<usize>,
) -> RowValues {
    let operator = TopN::new(types.to_vec(), keys.to_vec(), offset, limit, cx);
    let rows = Harness::new(operator).spilling(spill_every).feed(batches).unwrap();
    assert_eq!(cx.pool.stats().bytes, 0);
    assert_eq!(cx.task.spill.stats().bytes, 0, "files are left");
    rows
}

fn spilled_runs(cx: &OperatorContext) -> u64 {
    let counts = cx.metrics.counts().named;
    counts.iter().find(|it| it.0 == "spilled runs").map_or(0, |it| it.1)
}

fn key(column: usize, number: u64) -> SortKey {
    SortKey { column, descending: number & 1 == 1, nulls_first: number & 2 == 2 }
}

#[test]
fn the_first_rows_are_as_in_memory_whenever_they_are_spilled() {
    let mut random = RandomColumns::new(17);
    let is_spilled = |it: &Type| !format!("{it:?}").contains("Opaque");
    for data_type in RandomColumns::key_types().into_iter().filter(is_spilled) {
        for (batch_rows, rows) in [(1, 60), (3, 60), (1024, 5_000)] {
            // The keys leave rows equal; of these, the first ones are kept, as the third column
            // shows.
            let types = [data_type.clone(), Type::TinyInt, Type::BigInt];
            let batches = random.batches(&types, rows, batch_rows);
            let keys = [key(0, random.below(4)), key(1, random.below(4))];
            let cx = || Harness::context(batch_rows);
            for range in [(3, 20), (1000, 2000), (0, 1 << 40)] {
                let expected = first_rows(&types, &keys, range, batches.clone(), &cx(), None);
                let expected: Vec<_> = expected.iter().map(|it| format!("{it:?}")).collect();
                for every in [1, random.below(5) as usize + 2] {
                    let cx = cx();
                    let rows = first_rows(&types, &keys, range, batches.clone(), &cx, Some(every));
                    let rows: Vec<_> = rows.iter().map(|it| format!("{it:?}")).collect();
                    assert!(rows == expected, "{data_type}, {keys:?}, {range:?}");
                    assert!(spilled_runs(&cx) > 0, "{data_type}: nothing was spilled");
                }
            }
        }
    }
}

#[test]
fn what_is_being_put_out_is_spilled() {
    let mut random = RandomColumns::new(18);
    let types = [Type::BigInt, Type::Varchar];
    let batches = random.batches(&types, 3000, 1000);
    let keys = [key(0, 0)];
    let rows = |cx: &OperatorContext, spill_at: Option<usize>| {
        let mut operator = TopN::new(types.to_vec(), keys.to_vec(), 500, 2200, cx);
        let (mut batches, mut rows, mut outputs) = (batches.clone().into_iter(), Vec::new(), 0);
        let waker = std::task::Waker::noop();
        loop {
            use volley_exec::{Operator, Step, StepContext};
            match operator.step(&mut StepContext { waker }).unwrap() {
                Step::Output(batch) => {
                    rows.extend(volley_testkit::rows_of(&batch));
                    outputs += 1;
                    if spill_at == Some(outputs) {
                        operator.as_spill().unwrap().spill().unwrap();
                    }
                }
                Step::NeedInput => match batches.next() {
                    Some(batch) => operator.accept(batch).unwrap(),
                    None => operator.finish_input().unwrap(),
                },
                Step::Finished => return rows,
                _ => {}
            }
        }
    };
    let expected = format!("{:?}", rows(&Harness::context(100), None));
    for spill_at in [1, 7, 22] {
        let cx = Harness::context(100);
        assert!(format!("{:?}", rows(&cx, Some(spill_at))) == expected, "{spill_at}");
        assert_eq!(spilled_runs(&cx), u64::from(spill_at < 22));
        assert_eq!((cx.pool.stats().bytes, cx.task.spill.stats().bytes), (0, 0));
    }
}

#[test]
fn nothing_is_written_where_there_is_nothing() {
    let cx = Harness::context(1024);
    let rows = first_rows(&[Type::BigInt], &[key(0, 0)], (0, 10), Vec::new(), &cx, Some(1));
    assert_eq!((rows.len(), cx.task.spill.operations()), (0, 0));
}

fn tables() -> (TestTables, RowValues) {
    let columns = [("a", Type::BigInt), ("b", Type::Varchar)];
    let row = |it: i64| {
        let text = format!("Zeile {it}, {}", "größer und größer".repeat(8));
        vec![Value::BigInt(it * 104_729 % 100_003), Value::text(text)]
    };
    let rows: RowValues = (0..100_003).map(row).collect();
    let mut expected = rows.clone();
    expected.sort_by_key(|it| it[0].as_i128());
    (TestTables::one(&columns, rows, InputEncoding::Flat), expected)
}

#[test]
fn first_rows_that_do_not_fit_are_written_and_merged() {
    let (tables, expected) = tables();
    let plan = tables.scan("t").top_n(&["a"], 500, 40_000).build().unwrap();
    for setup in [SETUPS[0], SETUPS[5]] {
        for (limit, is_possible) in [(None, true), (Some(16 << 20), true), (Some(1 << 20), false)] {
            let run = run_limited(&plan, &tables, setup, limit, None);
            match run.rows {
                Ok(rows) => assert!(rows == expected[500..40_500] && is_possible),
                Err(error) => {
                    assert!(error.kind() == ErrorKind::OutOfMemory && !is_possible, "{error}");
                }
            }
            assert_eq!(run.spilled_bytes > 0, limit == Some(16 << 20), "{limit:?}");
        }
    }
}

#[test]
fn every_operation_of_the_disk_that_fails_is_an_error_or_harmless() {
    let mut random = RandomColumns::new(19);
    let types = [Type::BigInt, Type::Varchar];
    let batches = random.batches(&types, 3000, 1000);
    let expected = {
        let cx = Harness::context(1024);
        format!("{:?}", first_rows(&types, &[key(0, 0)], (0, 2500), batches.clone(), &cx, None))
    };
    for fault in [Fault::Error(std::io::ErrorKind::StorageFull), Fault::FlippedBit] {
        for operation in 0.. {
            let cx = Harness::context(1024);
            cx.task.spill.inject(operation, fault);
            let operator = TopN::new(types.to_vec(), vec![key(0, 0)], 0, 2500, &cx);
            let found = Harness::new(operator).spilling(Some(2)).feed(batches.clone());
            assert_eq!((cx.pool.stats().bytes, cx.task.spill.stats().bytes), (0, 0));
            match found {
                Ok(rows) => assert!(format!("{rows:?}") == expected, "{fault:?} {operation}"),
                Err(error) => {
                    assert!([ErrorKind::Io, ErrorKind::Corruption].contains(&error.kind()));
                }
            }
            if operation >= cx.task.spill.operations() {
                assert!(operation > 4, "nothing was tried");
                break;
            }
        }
    }
}
