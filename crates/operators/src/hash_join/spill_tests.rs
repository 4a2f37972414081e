//! Joins whose build side does not fit in memory, in tasks.

use crate::test_kit::{InputEncoding, SETUPS, TestTables, run_limited};
use std::sync::Arc;
use volley_error::{ErrorKind, Result};
use volley_plan::{JoinKind, PlanNode};
use volley_testkit::{RowValues, sorted};
use volley_types::{Type, Value};

const ROWS: i64 = 80_021;

/// `a` and `b` have the same values in other orders; `one` is always 1.
fn tables() -> TestTables {
    let columns =
        [("a", Type::BigInt), ("b", Type::BigInt), ("one", Type::BigInt), ("c", Type::Varchar)];
    let row = |it: i64| {
        let text = Value::text(format!("Zeile {it} und weiterer Text, größer"));
        let (a, b) = (Value::BigInt(it), Value::BigInt(it * 7919 % ROWS + 10));
        vec![a, b, Value::BigInt(1), text]
    };
    TestTables::one(&columns, (0..ROWS).map(row).collect(), InputEncoding::Flat)
}

fn plan(tables: &TestTables, kind: JoinKind, build_key: &str) -> Arc<PlanNode> {
    let build = tables.scan("t");
    tables.scan("t").hash_join(kind, build, &[("a", build_key)]).build().unwrap()
}

/// The rows in an order of no meaning, and how many bytes were spilled.
fn run(
    plan: &Arc<PlanNode>,
    tables: &TestTables,
    limit: Option<usize>,
    disk: Option<u64>,
) -> (Result<RowValues>, u64) {
    let run = run_limited(plan, tables, SETUPS[5], limit, disk);
    (run.rows.map(sorted), run.spilled_bytes)
}

#[test]
fn joins_that_do_not_fit_are_joined_by_partitions() {
    let tables = tables();
    for kind in [JoinKind::Inner, JoinKind::Full, JoinKind::LeftAnti, JoinKind::RightSemi] {
        let plan = plan(&tables, kind, "b");
        let (expected, spilled) = run(&plan, &tables, None, None);
        assert_eq!(spilled, 0);
        let (rows, spilled) = run(&plan, &tables, Some(12 << 20), None);
        assert!(rows.unwrap() == expected.unwrap(), "{kind}");
        // Integers of which only their presence counts need no rows.
        assert_eq!(spilled > 0, kind != JoinKind::LeftAnti, "{kind}");
    }
}

#[test]
fn partitions_that_fit_stay_in_memory() {
    let tables = tables();
    for kind in [JoinKind::Inner, JoinKind::Full, JoinKind::RightAnti] {
        let plan = plan(&tables, kind, "b");
        let expected = run(&plan, &tables, None, None).0.unwrap();
        // From almost all that is needed to a part of it.
        let mut before = 0;
        for limit in [40 << 20, 28 << 20, 20 << 20] {
            let (rows, spilled) = run(&plan, &tables, Some(limit), None);
            assert!(rows.unwrap() == expected, "{kind}, {limit}");
            assert!(spilled >= before, "{kind}: {spilled} with {limit}, {before} with more");
            before = spilled;
        }
        let whole = run(&plan, &tables, Some(12 << 20), None).1;
        assert!(before > 0 && before < whole, "{kind}: {before}, {whole} with the least memory");
    }
}

#[test]
fn null_keys_conditions_and_marks_are_as_in_memory() {
    // A null in every seventh key of a probe row; `nulls`: in some of the build side as well.
    let columns = [("a", Type::BigInt), ("c", Type::Varchar)];
    let row = |it: i64, has_nulls: bool| {
        let key = if has_nulls && it % 7 == 0 { Value::Null } else { Value::BigInt(it * 3) };
        vec![key, Value::text(format!("Zeile {it} und weiterer Text, größer"))]
    };
    let rows = |count, has_nulls| (0..count).map(|it| row(it, has_nulls)).collect::<RowValues>();
    let tables = TestTables::default()
        .with("probe", &columns, rows(50_000, true), InputEncoding::Flat)
        .with("nulls", &columns, rows(60_000, true), InputEncoding::Flat)
        .with("none", &columns, rows(60_000, false), InputEncoding::Flat);
    let kinds = [
        JoinKind::Left,
        JoinKind::Right,
        JoinKind::LeftSemi,
        JoinKind::LeftAnti,
        JoinKind::RightAnti,
        JoinKind::LeftMark,
    ];
    for (build, kind) in ["nulls", "none"].into_iter().flat_map(|it| kinds.map(|kind| (it, kind))) {
        let join =
            |keys: &[(&str, &str)]| tables.scan("probe").hash_join(kind, tables.scan(build), keys);
        let mut plans = vec![
            join(&[("c", "c")]).build().unwrap(),
            join(&[("a", "a")])
                .join_condition(|c| c.call("lt", [c.column("#3")?, c.text("Zeile 3")]))
                .build()
                .unwrap(),
        ];
        if matches!(kind, JoinKind::LeftAnti | JoinKind::LeftMark) {
            plans.push(join(&[("c", "c")]).null_aware().build().unwrap());
            plans.push(join(&[("c", "c"), ("a", "a")]).null_aware().build().unwrap());
            let correlated = join(&[("a", "a")])
                .join_condition(|c| c.call("lt", [c.column("#3")?, c.text("Zeile 59")]));
            plans.push(correlated.null_aware().build().unwrap());
        }
        for plan in plans {
            let expected = run(&plan, &tables, None, None).0.unwrap();
            let (rows, spilled) = run(&plan, &tables, Some(11 << 20), None);
            assert!(rows.unwrap() == expected, "{build}, {kind}: {plan:?}");
            assert!(spilled > 0, "{build}, {kind}: {plan:?}");
        }
    }
}

#[test]
fn a_limit_of_rows_ends_spilled_joins() {
    let tables = tables();
    let join = |kind| tables.scan("t").hash_join(kind, tables.scan("t"), &[("a", "b")]);
    for kind in [JoinKind::Inner, JoinKind::Full] {
        let plan = join(kind).limit(0, 10).build().unwrap();
        let (rows, spilled) = run(&plan, &tables, Some(12 << 20), None);
        assert!(rows.unwrap().len() == 10 && spilled > 0, "{kind}");
    }
}

#[test]
fn a_key_that_alone_does_not_fit_is_joined_block_by_block() {
    let tables = tables();
    for kind in [JoinKind::Left, JoinKind::Full] {
        let plan = plan(&tables, kind, "one");
        let expected = run(&plan, &tables, None, None).0.unwrap();
        let (rows, spilled) = run(&plan, &tables, Some(12 << 20), None);
        assert!(rows.unwrap() == expected && spilled > 0, "{kind}");
    }
}

#[test]
fn too_little_memory_and_a_full_disk_are_errors() {
    let tables = tables();
    let plan = plan(&tables, JoinKind::Inner, "b");
    let (rows, _) = run(&plan, &tables, Some(1 << 20), None);
    assert_eq!(rows.unwrap_err().kind(), ErrorKind::OutOfMemory);
    let (rows, _) = run(&plan, &tables, Some(12 << 20), Some(100_000));
    let error = rows.unwrap_err().to_string();
    assert!(error.contains("max_spill_size"), "{error}");
}
