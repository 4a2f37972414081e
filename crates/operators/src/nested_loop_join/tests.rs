use super::{BuildSide, ProbeConfig, Shared, probe::NestedLoopProbe};
use crate::{
    join_output::JoinOutput,
    test_kit::{A, InputEncoding, SETUPS, TestTables, drive, operator_context, run, run_limited},
};
use std::{sync::Arc, task::Waker};
use volley_exec::{Operator, Step, StepContext};
use volley_memory::Pool;
use volley_plan::JoinKind;
use volley_testkit::{Random, RowValues, integers, sorted};
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};

fn tables(left: i64, right: i64, manners: InputEncoding) -> TestTables {
    TestTables::default().with("l", &A, integers(0..left), manners).with(
        "r",
        &[("b", Type::BigInt)],
        integers(100..100 + right),
        manners,
    )
}

/// The specification of a join without a condition.
fn naive(kind: JoinKind, left: i64, right: i64) -> RowValues {
    let value = Value::BigInt;
    let (left, right) = (0..left, 100..100 + right);
    let pairs =
        left.clone().flat_map(|a| right.clone().map(move |b| vec![value(a), value(b)])).collect();
    let left_rows = || integers(left.clone());
    let right_rows = || integers(right.clone());
    let beside = |rows: RowValues, nulls_left: bool| {
        let beside = |mut row: Vec<Value>| {
            row.insert(if nulls_left { 0 } else { 1 }, Value::Null);
            row
        };
        rows.into_iter().map(beside).collect::<RowValues>()
    };
    let (no_left, no_right) = (left.is_empty(), right.is_empty());
    match kind {
        JoinKind::Left | JoinKind::Full if no_right => beside(left_rows(), false),
        JoinKind::Right | JoinKind::Full if no_left => beside(right_rows(), true),
        JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full => pairs,
        JoinKind::LeftSemi => {
            if no_right {
                Vec::new()
            } else {
                left_rows()
            }
        }
        JoinKind::LeftAnti => {
            if no_right {
                left_rows()
            } else {
                Vec::new()
            }
        }
        JoinKind::RightSemi => {
            if no_left {
                Vec::new()
            } else {
                right_rows()
            }
        }
        JoinKind::RightAnti => {
            if no_left {
                right_rows()
            } else {
                Vec::new()
            }
        }
        JoinKind::LeftMark => left.map(|it| vec![value(it), Value::Boolean(!no_right)]).collect(),
    }
}

pub(super) const KINDS: [JoinKind; 9] = [
    JoinKind::Inner,
    JoinKind::Left,
    JoinKind::Right,
    JoinKind::Full,
    JoinKind::LeftSemi,
    JoinKind::LeftAnti,
    JoinKind::RightSemi,
    JoinKind::RightAnti,
    JoinKind::LeftMark,
];

#[test]
fn every_kind_without_a_condition_in_every_size_and_setup() {
    for kind in KINDS {
        for (left, right) in [(0, 0), (0, 3), (3, 0), (1, 1), (7, 5), (5, 40)] {
            let tables = tables(left, right, InputEncoding::Lazy);
            let plan = tables.scan("l").nested_loop_join(kind, tables.scan("r"));
            for setup in SETUPS {
                let rows = run(plan.clone(), &tables, setup).unwrap();
                let expected = naive(kind, left, right);
                assert_eq!(sorted(rows), sorted(expected), "{kind} {left} {right} {setup:?}");
            }
        }
    }
}

#[test]
fn output_columns_are_chosen_and_may_be_none() {
    let tables = tables(3, 4, InputEncoding::Dictionary);
    let plan = tables.scan("l").nested_loop_join(JoinKind::Inner, tables.scan("r"));
    for setup in SETUPS {
        let rows = run(plan.clone().join_output(&["b"]), &tables, setup).unwrap();
        assert_eq!((rows.len(), rows[0].len()), (12, 1));
        let rows = run(plan.clone().join_output(&[]), &tables, setup).unwrap();
        assert_eq!((rows.len(), rows[0].len()), (12, 0));
    }
}

/// Joins `a` and `b` of small domains with nulls on `a < b`.
fn naive_less(kind: JoinKind, left: &RowValues, right: &RowValues) -> RowValues {
    let less = |a: &[Value], b: &[Value]| Some(a[0].as_i128()? < b[0].as_i128()?);
    let pair = |a: &[Value], b: &[Value]| vec![a[0].clone(), b[0].clone()];
    let null = [Value::Null];
    let mut rows = Vec::new();
    for a in left {
        let hits: Vec<_> = right.iter().filter(|b| less(a, b) == Some(true)).collect();
        match kind {
            JoinKind::Left | JoinKind::Full if hits.is_empty() => rows.push(pair(a, &null)),
            JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full => {
                rows.extend(hits.into_iter().map(|b| pair(a, b)));
            }
            JoinKind::LeftSemi if !hits.is_empty() => rows.push(a.clone()),
            JoinKind::LeftAnti if hits.is_empty() => rows.push(a.clone()),
            JoinKind::LeftMark => {
                let unknown = right.iter().any(|b| less(a, b).is_none());
                let mark = match (hits.is_empty(), unknown) {
                    (false, _) => Value::Boolean(true),
                    (true, true) => Value::Null,
                    (true, false) => Value::Boolean(false),
                };
                rows.push(vec![a[0].clone(), mark]);
            }
            _ => {}
        }
    }
    for b in right {
        let hit = left.iter().any(|a| less(a, b) == Some(true));
        match kind {
            JoinKind::Right | JoinKind::Full if !hit => rows.push(pair(&null, b)),
            JoinKind::RightSemi if hit => rows.push(b.clone()),
            JoinKind::RightAnti if !hit => rows.push(b.clone()),
            _ => {}
        }
    }
    rows
}

fn random_rows(random: &mut Random, rows: usize, has_nulls: bool) -> RowValues {
    let value = |_| match random.below(8) {
        7 if has_nulls => vec![Value::Null],
        other => vec![Value::BigInt(other as i64)],
    };
    (0..rows).map(value).collect()
}

#[test]
fn every_kind_with_a_condition_agrees_with_the_naive_join() {
    let mut random = Random(7);
    for (left, right) in [(0, 5), (5, 0), (1, 1), (30, 4), (4, 30), (40, 40)] {
        for has_nulls in [false, true] {
            let left = random_rows(&mut random, left, has_nulls);
            let right = random_rows(&mut random, right, has_nulls);
            for manners in [
                InputEncoding::Flat,
                InputEncoding::Dictionary,
                InputEncoding::Constant,
                InputEncoding::Lazy,
            ] {
                let tables = TestTables::default().with("l", &A, left.clone(), manners).with(
                    "r",
                    &[("b", Type::BigInt)],
                    right.clone(),
                    manners,
                );
                for kind in KINDS {
                    let plan = tables
                        .scan("l")
                        .nested_loop_join(kind, tables.scan("r"))
                        .join_condition(|c| c.call("lt", [c.column("a")?, c.column("b")?]));
                    let expected = sorted(naive_less(kind, &left, &right));
                    for setup in SETUPS {
                        let rows = run(plan.clone(), &tables, setup).unwrap();
                        assert_eq!(sorted(rows), expected, "{kind} {manners:?} {setup:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_build_side_that_does_not_fit_is_read_again_for_every_batch() {
    let text = |it: i64| Value::text(format!("Zeile {it} und weiterer Text, größer als klein"));
    let row = |it: i64| vec![Value::BigInt(it), text(it % 5)];
    let build: RowValues = (0..60_000).map(row).collect();
    let columns = [("b", Type::BigInt), ("c", Type::Varchar)];
    // Small batches on the probe side are put together.
    for manners in [InputEncoding::Flat, InputEncoding::Constant] {
        let tables = TestTables::default()
            .with("l", &A, integers((0..60).map(|it| it * 1009)), manners)
            .with("r", &columns, build.clone(), InputEncoding::Flat);
        for kind in KINDS {
            let plan = tables
                .scan("l")
                .nested_loop_join(kind, tables.scan("r"))
                .join_condition(|c| {
                    c.call(
                        "eq",
                        [c.call("mod", [c.column("a")?, c.integer(59_000)])?, c.column("b")?],
                    )
                })
                .build()
                .unwrap();
            let whole = run_limited(&plan, &tables, SETUPS[5], None, None);
            let run = run_limited(&plan, &tables, SETUPS[5], Some(6 << 20), None);
            assert!(sorted(run.rows.unwrap()) == sorted(whole.rows.unwrap()), "{kind}");
            assert!(run.spilled_bytes > 0 && whole.spilled_bytes == 0, "{kind}");
        }
    }
}

#[test]
fn build_rows_are_not_put_out_when_a_probe_driver_has_ended_early() {
    let column = |from| Vector::from_values(Type::BigInt, &[from, from + 1].map(Value::BigInt));
    let batch = |from| Batch::new(vec![column(from)], 2);
    for kind in [JoinKind::Right, JoinKind::Full, JoinKind::RightAnti] {
        let pool = Pool::root("test", None);
        let shared = Shared::new(&pool);
        assert!(shared.build.set(BuildSide::Memory(Arc::new(batch(100)), None)).is_ok());
        let config = ProbeConfig {
            output: JoinOutput {
                kind,
                columns: vec![0],
                probe_types: vec![Type::BigInt],
                build_types: vec![Type::BigInt],
            },
            asof: None,
            batch_rows: 1024,
            drivers: 2,
        };
        let cx = operator_context(&pool, (0, 2), 1024);
        let probe = || NestedLoopProbe::new(&shared, config.clone(), None, &cx);
        let (mut ending, mut other) = (probe(), probe());
        let mut step = || ending.step(&mut StepContext { waker: Waker::noop() }).unwrap();
        while !matches!(step(), Step::NeedInput) {}
        ending.accept(batch(0)).unwrap();
        for _ in 0..3 {
            ending.step(&mut StepContext { waker: Waker::noop() }).unwrap();
        }
        // It has matched them all.
        drop(ending);
        assert!(drive(&mut other, Vec::new()).unwrap().is_empty(), "{kind}");
    }
}

#[test]
fn an_error_in_a_condition_fails_the_query() {
    let tables = tables(3, 3, InputEncoding::Flat);
    let plan =
        tables.scan("l").nested_loop_join(JoinKind::Inner, tables.scan("r")).join_condition(|c| {
            let rest = c.call("mod", [c.column("b")?, c.column("a")?])?;
            c.call("eq", [rest, c.integer(0)])
        });
    for setup in SETUPS {
        let error = run(plan.clone(), &tables, setup).unwrap_err();
        assert_eq!(error.message(), "division by zero");
    }
}
