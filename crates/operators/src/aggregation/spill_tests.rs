//! Aggregations that do not fit in memory.

use super::{
    AggregationSpec,
    accumulator::AccumulatorSpec,
    operator::HashAggregation,
    radix_tests,
    tests::{collected, listing, sorted, spec, sum},
};
use crate::test_kit::{Harness, InputEncoding, SETUPS, TestTables, run_limited};
use std::{
    sync::{Arc, LazyLock},
    task::Waker,
};
use volley_error::{ErrorKind, Result};
use volley_exec::{Operator, OperatorContext, Step, StepContext};
use volley_memory::{Pool, spill::Fault};
use volley_plan::{AggregateStep, SortKey};
use volley_testkit::{RandomColumns, RowValues, sorted as by_text};
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};

/// Runs by hand; spills before every step that `spills` says, by its number.
fn run(
    spec: AggregationSpec,
    batches: Vec<Batch>,
    cx: &OperatorContext,
    spills: impl Fn(usize) -> bool,
) -> Result<Vec<Batch>> {
    let mut operator = HashAggregation::new("test", Arc::new(spec), cx);
    let (mut batches, mut output) = (batches.into_iter(), Vec::new());
    for step in 0.. {
        if spills(step) {
            operator.as_spill().unwrap().spill()?;
        }
        match operator.step(&mut StepContext { waker: Waker::noop() })? {
            Step::Output(batch) => output.push(batch.loaded()?),
            Step::NeedInput => match batches.next() {
                Some(batch) => operator.accept(batch)?,
                None => operator.finish_input()?,
            },
            Step::Yield | Step::EndOfSplit => {}
            Step::Finished => break,
            Step::Blocked(why) => panic!("blocked on {why}"),
        }
    }
    drop(operator);
    assert_eq!(cx.pool.stats().bytes, 0);
    assert_eq!(cx.task.spill.stats().bytes, 0, "files are left");
    Ok(output)
}

fn counted(cx: &OperatorContext, name: &str) -> u64 {
    cx.metrics.counts().named.iter().find(|it| it.0 == name).map_or(0, |it| it.1)
}

fn can_be_spilled(data_type: &Type) -> bool {
    !format!("{data_type:?}").contains("Opaque")
}

/// The same rows whenever groups are spilled.
#[track_caller]
fn check(batches: &[Batch], batch_rows: usize, spec: &dyn Fn() -> AggregationSpec, seed: u64) {
    let context = || Harness::context(batch_rows);
    let in_memory = context();
    let expected = sorted(&run(spec(), batches.to_vec(), &in_memory, |_| false).unwrap());
    assert_eq!(counted(&in_memory, "spilled rows"), 0);
    let every = seed as usize % 5 + 2;
    for every in [1, every] {
        let cx = context();
        let rows = run(spec(), batches.to_vec(), &cx, |step| step % every == 0).unwrap();
        let rows = sorted(&rows);
        let different = rows.iter().zip(&expected).find(|it| it.0 != it.1);
        assert!(
            rows.len() == expected.len() && different.is_none(),
            "{} rows for {}, {different:?}",
            rows.len(),
            expected.len()
        );
        assert!(counted(&cx, "spilled rows") > 0 || every > 1, "nothing was spilled");
    }
}

#[test]
fn groups_of_every_type_are_as_in_memory_whenever_they_are_spilled() {
    let mut random = RandomColumns::new(5);
    for data_type in RandomColumns::key_types().into_iter().filter(can_be_spilled) {
        for batch_rows in [1, 3, 1024] {
            let keys = [data_type.clone(), Type::TinyInt];
            let types = [data_type.clone(), Type::TinyInt, Type::BigInt];
            let rows = if batch_rows == 1024 { 3000 } else { 40 };
            let batches = random.batches(&types, rows, batch_rows);
            for step in [
                AggregateStep::Single,
                AggregateStep::PartialOnce,
                AggregateStep::Final,
                AggregateStep::Intermediate,
            ] {
                check(&batches, batch_rows, &|| spec(step, &keys, vec![sum(2)]), rows as u64);
            }
        }
    }
}

#[test]
fn states_that_own_memory_keep_the_order_of_their_rows() {
    let mut random = RandomColumns::new(6);
    let types = [Type::SmallInt, Type::BigInt];
    for (batch_rows, rows) in [(1, 30), (3, 100), (1024, 4000)] {
        let batches = random.batches(&types, rows, batch_rows);
        let ordered = || {
            let mut listing = listing(1);
            listing.bound.order_sensitive = true;
            listing
        };
        check(
            &batches,
            batch_rows,
            &|| spec(AggregateStep::Single, &types[..1], vec![ordered(), sum(1)]),
            batch_rows as u64,
        );
    }
}

#[test]
fn states_that_outgrow_the_limit_are_written_at_once() {
    let types = [Type::BigInt, Type::BigInt];
    let numbers = |of: &dyn Fn(i64) -> i64, batch: i64| {
        let rows = batch * 1000..(batch + 1) * 1000;
        Vector::native::<i64>(Type::BigInt, rows.map(of).collect::<Vec<i64>>(), None)
    };
    let batch =
        |it: i64| Batch::new(vec![numbers(&|row| row % 200, it), numbers(&|row| row, it)], 1000);
    let batches: Vec<Batch> = (0..1500).map(batch).collect();
    let spec = || spec(AggregateStep::Single, &types[..1], vec![listing(1)]);
    let expected = run(spec(), batches.clone(), &Harness::context(8), |_| false).unwrap();
    let cx = OperatorContext { pool: Pool::root("test", Some(10 << 20)), ..Harness::context(8) };
    let found = run(spec(), batches, &cx, |_| false).unwrap();
    assert!(sorted(&found) == sorted(&expected));
    assert!(counted(&cx, "spilled rows") > 0);
}

#[test]
fn rows_beside_the_groups_are_as_in_memory_whenever_they_are_spilled() {
    let mut random = RandomColumns::new(10);
    let types = [Type::SmallInt, Type::TinyInt, Type::BigInt, Type::Boolean];
    let ordered = |it: AccumulatorSpec| AccumulatorSpec {
        order_by: vec![
            SortKey { column: 2, descending: true, nulls_first: false },
            SortKey { column: 1, descending: false, nulls_first: true },
        ],
        order_types: vec![Type::BigInt, Type::TinyInt],
        ..it
    };
    let distinct = |it: AccumulatorSpec| AccumulatorSpec {
        distinct: true,
        arg_types: vec![types[it.args[0]].clone()],
        ..it
    };
    let filtered = |it: AccumulatorSpec| AccumulatorSpec { filter: Some(3), ..it };
    let aggregates = || {
        vec![
            sum(2),
            distinct(sum(1)),
            distinct(listing(1)),
            ordered(listing(2)),
            collected(2),
            ordered(collected(2)),
            filtered(distinct(collected(2))),
            filtered(sum(2)),
        ]
    };
    for (batch_rows, rows) in [(1, 30), (3, 90), (1024, 4000)] {
        let batches = random.batches(&types, rows, batch_rows);
        for step in [AggregateStep::Single, AggregateStep::Intermediate] {
            // If results are intermediate, rows are not: only the output differs.
            let make = || {
                let mut spec = spec(AggregateStep::Single, &types[..1], aggregates());
                spec.step = step;
                spec.aggregates.retain(|it| step.finishes() || !it.collects());
                spec
            };
            check(&batches, batch_rows, &make, rows as u64);
        }
    }
}

#[test]
fn collected_rows_of_partial_results_are_spilled() {
    let mut random = RandomColumns::new(12);
    let types = [Type::SmallInt, Type::BigInt];
    let batches = random.batches(&types, 3000, 1024);
    let aggregates = || vec![collected(1), sum(1)];
    let partial = spec(AggregateStep::Partial, &types[..1], aggregates());
    let partials = run(partial, batches, &Harness::context(1024), |_| false).unwrap();
    let last = || {
        let mut aggregates = vec![collected(1), sum(2)];
        aggregates[0].arg_types = vec![Type::Varchar];
        spec(AggregateStep::Final, &types[..1], aggregates)
    };
    check(&partials, 1024, &last, 1);
}

#[test]
fn nothing_is_written_where_there_is_nothing() {
    let groups = || spec(AggregateStep::Single, &[Type::BigInt], vec![sum(0)]);
    let cx = Harness::context(1024);
    assert!(run(groups(), Vec::new(), &cx, |_| true).unwrap().is_empty());
    assert_eq!((counted(&cx, "spilled bytes"), cx.task.spill.operations()), (0, 0));
}

#[test]
fn groups_that_wait_in_parts_are_spilled() {
    let mut random = RandomColumns::new(7);
    let order: Vec<usize> = (0..40_000).map(|_| random.below(1 << 30) as usize).collect();
    let batches = radix_tests::batches(order.len(), |row| order[row]);
    let groups = || spec(AggregateStep::Single, &[Type::BigInt, Type::Varchar], vec![sum(2)]);
    let expected = {
        let cx = Harness::context(1024);
        sorted(&run(groups(), batches.clone(), &cx, |_| false).unwrap())
    };
    // While rows arrive, while partitions are grouped, while partitions are emitted; repeatedly.
    let last = batches.len();
    for at in [vec![last], vec![last + 2], vec![last + 70, last + 71], vec![27, 33, last + 3]] {
        let cx = Harness::context(1024);
        let rows = run(groups(), batches.clone(), &cx, |step| at.contains(&step)).unwrap();
        assert!(sorted(&rows) == expected, "spilled at {at:?}");
        assert!(counted(&cx, "spilled rows") > 0, "spilled at {at:?}");
    }
}

#[test]
fn a_partial_aggregation_hands_its_groups_on_when_it_is_asked() {
    let mut random = RandomColumns::new(8);
    let types = [Type::SmallInt, Type::BigInt];
    let batches = random.batches(&types, 20_000, 1024);
    let partial = || spec(AggregateStep::Partial, &types[..1], vec![sum(1)]);
    let last = |partials: Vec<Batch>| {
        let last = spec(AggregateStep::Final, &types[..1], vec![sum(1)]);
        sorted(&run(last, partials, &Harness::context(1024), |_| false).unwrap())
    };
    let cx = Harness::context(1024);
    let at_once = run(partial(), batches.clone(), &cx, |_| false).unwrap();
    let flushed = run(partial(), batches, &cx, |_| true).unwrap();
    assert!(flushed.len() > at_once.len());
    assert_eq!(last(flushed), last(at_once));
    assert_eq!(cx.task.spill.operations(), 0);
}

#[test]
fn every_operation_of_the_disk_that_fails_is_an_error_or_harmless() {
    let mut random = RandomColumns::new(9);
    let types = [Type::BigInt, Type::Varchar, Type::BigInt];
    let batches = random.batches(&types, 3000, 1024);
    let groups = || spec(AggregateStep::Single, &types[..2], vec![sum(2)]);
    let expected = {
        let cx = Harness::context(1024);
        sorted(&run(groups(), batches.clone(), &cx, |_| false).unwrap())
    };
    let storage_full = Fault::Error(std::io::ErrorKind::StorageFull);
    for fault in [storage_full, Fault::Short, Fault::FlippedBit] {
        for operation in 0.. {
            let cx = Harness::context(1024);
            cx.task.spill.inject(operation, fault);
            match run(groups(), batches.clone(), &cx, |step| step < 5) {
                Ok(rows) => assert_eq!(sorted(&rows), expected),
                Err(error) => {
                    assert!([ErrorKind::Io, ErrorKind::Corruption].contains(&error.kind()));
                }
            }
            assert_eq!((cx.pool.stats().bytes, cx.task.spill.stats().bytes), (0, 0));
            if operation >= cx.task.spill.operations() {
                assert!(operation > 10, "nothing was tried");
                break;
            }
        }
    }
}

/// Some 300,000 rows of 150,000 groups.
fn tables() -> TestTables {
    static ROWS: LazyLock<RowValues> = LazyLock::new(|| {
        let row = |it: i64| {
            let group = it * 104_729 % 150_001;
            let text = Value::text(format!("Gruppe {group} mit viel Text, größer"));
            vec![Value::BigInt(group), text, Value::BigInt(it)]
        };
        (0..300_000).map(row).collect()
    });
    let columns = [("a", Type::BigInt), ("b", Type::Varchar), ("c", Type::BigInt)];
    TestTables::one(&columns, ROWS.clone(), InputEncoding::Flat)
}

#[test]
fn groups_that_do_not_fit_are_written_and_merged() {
    let tables = tables();
    let plan = tables
        .scan("t")
        .aggregate(&["a", "b"], &[("s", "sum", &["c"]), ("m", "min", &["b"])])
        .build()
        .unwrap();
    let run = |limit, setup| {
        let run = run_limited(&plan, &tables, setup, limit, None);
        (run.rows.map(by_text), run.spilled_bytes)
    };
    let (expected, spilled) = run(None, SETUPS[0]);
    assert_eq!(spilled, 0);
    let expected = expected.unwrap();
    assert_eq!(expected.len(), 150_001);
    for setup in [SETUPS[0], SETUPS[5]] {
        let (rows, spilled) = run(Some(32 << 20), setup);
        assert!(rows.unwrap() == expected && spilled > 0, "{setup:?}, {spilled}");
    }
}

#[test]
fn a_full_disk_is_an_error() {
    let tables = tables();
    let plan = tables.scan("t").aggregate(&["a", "b"], &[("s", "sum", &["c"])]).build().unwrap();
    let run = run_limited(&plan, &tables, SETUPS[0], Some(24 << 20), Some(100_000));
    let error = run.rows.unwrap_err().to_string();
    assert!(error.contains("max_spill_size") && error.contains("aggregation"), "{error}");
}
