//! Merge joins against hash joins.

use crate::test_kit::{InputEncoding, SETUPS, TestTables, config, drain, run, run_limited};
use volley_exec::{Executor, Task};
use volley_plan::{JoinKind, PlanBuilder};
use volley_testkit::{Random, RowValues, sorted};
use volley_types::{Type, Value};

const KINDS: [JoinKind; 9] = [
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

fn rows(count: usize, values: usize, seed: u64) -> RowValues {
    let mut random = Random(seed);
    let mut value = |make: fn(usize) -> Value| match random.below(8) {
        0 => Value::Null,
        _ => make(random.below(values)),
    };
    let float = |it: usize| match it {
        0 => Value::Double(f64::NAN),
        1 => Value::Double(-0.0),
        2 => Value::Double(0.0),
        it => Value::Double(it as f64 / 2.0 - 3.0),
    };
    let text = |it: usize| Value::text(format!("{}{it}", "größer als acht ".repeat(it % 3)));
    let row = |id: usize| {
        vec![
            value(|it| Value::BigInt(it as i64 - 3)),
            value(float),
            value(text),
            Value::BigInt(id as i64 % 5),
        ]
    };
    (0..count).map(row).collect()
}

fn tables((left, right): (usize, usize), values: usize, manners: InputEncoding) -> TestTables {
    let types = [Type::BigInt, Type::Double, Type::Varchar, Type::BigInt];
    let columns = |names: [&'static str; 4]| {
        names.into_iter().zip(types.clone()).collect::<Vec<(&'static str, Type)>>()
    };
    TestTables::default()
        .with("l", &columns(["a", "b", "c", "d"]), rows(left, values, 1), manners)
        .with("r", &columns(["x", "y", "z", "w"]), rows(right, values, 2), manners)
}

/// A merge join of sorted scans, and the hash join of scans.
fn both(
    tables: &TestTables,
    kind: JoinKind,
    keys: &[(&str, &str)],
    (nulls_equal, has_filter): (bool, bool),
) -> (PlanBuilder, PlanBuilder) {
    let (left, right): (Vec<&str>, Vec<&str>) = keys.iter().copied().unzip();
    let finished = |plan: PlanBuilder| {
        let plan = if nulls_equal { plan.nulls_equal() } else { plan };
        match has_filter {
            true => plan.join_condition(|c| c.call("lt", [c.column("d")?, c.column("w")?])),
            false => plan,
        }
    };
    let scans = (tables.scan("l").order_by(&left), tables.scan("r").order_by(&right));
    let merged = finished(scans.0.hash_join(kind, scans.1, keys)).merged();
    (merged, finished(tables.scan("l").hash_join(kind, tables.scan("r"), keys)))
}

/// As text, in which NaN equals itself.
fn text(rows: RowValues) -> String {
    format!("{:?}", sorted(rows))
}

#[test]
fn merge_joins_find_what_hash_joins_find() {
    let sizes = [(0, 20), (20, 0), (60, 45), (25, 90)];
    let setups = [0, 1, 4, 5, 8].map(|it| SETUPS[it]);
    // Each setup in turn; all of them take minutes.
    let mut turn = 0;
    for (number, kind) in KINDS.into_iter().enumerate() {
        for (at, size) in sizes.into_iter().enumerate() {
            // Few values make groups of several batches.
            for values in [2, 9, 40] {
                let tables = tables(size, values, InputEncoding::WHOLE[(number + at) % 4]);
                for keys in [
                    &[("a", "x")][..],
                    &[("b", "y")],
                    &[("c", "z"), ("a", "x")],
                    &[("a", "x"), ("b", "y"), ("c", "z")],
                ] {
                    for options in [(false, false), (true, false), (false, true)] {
                        let (merged, hashed) = both(&tables, kind, keys, options);
                        let expected = text(run(hashed, &tables, SETUPS[0]).unwrap());
                        turn += 1;
                        for setup in [setups[turn % 5], setups[(turn + 2) % 5]] {
                            let rows = text(run(merged.clone(), &tables, setup).unwrap());
                            assert!(
                                rows == expected,
                                "{kind} {size:?} {values} {keys:?} {options:?} {setup:?}"
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn streams_of_several_drivers_are_merged() {
    for kind in KINDS {
        let tables = tables((80, 70), 9, InputEncoding::Flat);
        // Windows leave each driver's rows sorted.
        let left = tables.scan("l").partition(&["a"]).window(&["a"], &["c"], &[]);
        let right = tables.scan("r").partition(&["x"]).window(&["x"], &[], &[]);
        let merged = left.hash_join(kind, right, &[("a", "x")]).merged();
        let hashed = tables.scan("l").hash_join(kind, tables.scan("r"), &[("a", "x")]);
        let expected = text(run(hashed, &tables, SETUPS[0]).unwrap());
        for setup in [SETUPS[2], SETUPS[4], SETUPS[6]] {
            assert!(text(run(merged.clone(), &tables, setup).unwrap()) == expected, "{kind}");
        }
    }
}

#[test]
fn drivers_join_many_chunks() {
    let tables = tables((500, 500), 400, InputEncoding::Flat);
    let (merged, _) = both(&tables, JoinKind::Inner, &[("a", "x")], (false, false));
    let config = config(merged.build().unwrap(), &tables, SETUPS[3]);
    let task = Task::start(config, &Executor::new(1).unwrap()).unwrap();
    drain(&task).unwrap();
    assert!(task.statistics().total("merge join chunks") > 20);
}

#[test]
fn rows_of_one_key_that_do_not_fit_are_joined_from_disk() {
    let text_of = |it: i64| Value::text(format!("Zeile {it} und weiterer Text, größer als klein"));
    let row = |it: i64| vec![Value::BigInt(if it % 2000 == 0 { it } else { 7 }), text_of(it)];
    let columns = [("x", Type::BigInt), ("y", Type::Varchar)];
    let left: RowValues = (0..30).map(|it| row(it * 1000 + 1)).chain([row(0)]).collect();
    let tables = TestTables::default()
        .with("l", &[("a", Type::BigInt), ("b", Type::Varchar)], left, InputEncoding::Flat)
        .with("r", &columns, (0..60_000).map(row).collect(), InputEncoding::Flat);
    for kind in KINDS {
        let plan = tables
            .scan("l")
            .order_by(&["a"])
            .hash_join(kind, tables.scan("r").order_by(&["x"]), &[("a", "x")])
            .join_condition(|c| c.call("eq", [c.column("b")?, c.column("y")?]));
        let merged = plan.clone().merged().build().unwrap();
        let expected = run(plan, &tables, SETUPS[5]).unwrap();
        let run = run_limited(&merged, &tables, SETUPS[5], Some(8 << 20), None);
        assert!(text(run.rows.unwrap()) == text(expected), "{kind}");
        assert!(run.spilled_bytes > 0, "{kind}");
    }
}

#[test]
fn a_limit_ends_both_sides() {
    let tables = tables((400, 400), 300, InputEncoding::Flat);
    for setup in [SETUPS[1], SETUPS[4], SETUPS[6]] {
        let (merged, _) = both(&tables, JoinKind::Full, &[("a", "x")], (false, false));
        assert_eq!(run(merged.limit(2, 5), &tables, setup).unwrap().len(), 5, "{setup:?}");
    }
}
