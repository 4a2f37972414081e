use super::super::lookup::tree::MaxTree;
use crate::test_kit::{
    InputEncoding, SETUPS, TestTables, config, drain, registry, run, run_limited,
};
use std::sync::Arc;
use volley_exec::{Executor, Task};
use volley_plan::{Comparison, JoinKind, PlanBuilder, PlanNode};
use volley_testkit::{Random, RowValues, sorted};
use volley_types::{Type, Value};

const KINDS: [JoinKind; 8] = [
    JoinKind::Inner,
    JoinKind::Left,
    JoinKind::Right,
    JoinKind::Full,
    JoinKind::LeftSemi,
    JoinKind::LeftAnti,
    JoinKind::RightSemi,
    JoinKind::RightAnti,
];

const COMPARISONS: [Comparison; 4] =
    [Comparison::Less, Comparison::LessOrEqual, Comparison::Greater, Comparison::GreaterOrEqual];

fn name(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Less => "lt",
        Comparison::LessOrEqual => "lte",
        Comparison::Greater => "gt",
        Comparison::GreaterOrEqual => "gte",
    }
}

fn number(random: &mut Random) -> Value {
    match random.below(8) {
        0 => Value::Null,
        _ => Value::BigInt(random.below(20) as i64 - 5),
    }
}

fn float(random: &mut Random) -> Value {
    match random.below(12) {
        0 => Value::Null,
        1 => Value::Double(f64::NAN),
        2 => Value::Double(-0.0),
        3 => Value::Double(f64::NEG_INFINITY),
        it => Value::Double(it as f64 / 2.0 - 3.0),
    }
}

fn text(random: &mut Random) -> Value {
    match random.below(9) {
        0 => Value::Null,
        it => Value::text(format!("{}{it}", "größer als sechzehn Bytes".repeat(it % 2))),
    }
}

fn rows(count: usize, seed: u64) -> RowValues {
    let mut random = Random(seed);
    let row = |_| vec![number(&mut random), float(&mut random), text(&mut random)];
    (0..count).map(row).collect()
}

fn tables(left: usize, right: usize, manners: InputEncoding) -> TestTables {
    let left_columns = [("a", Type::BigInt), ("b", Type::Double), ("c", Type::Varchar)];
    let right_columns = [("x", Type::BigInt), ("y", Type::Double), ("z", Type::Varchar)];
    TestTables::default().with("l", &left_columns, rows(left, 1), manners).with(
        "r",
        &right_columns,
        rows(right, 2),
        manners,
    )
}

fn looked_up(plan: PlanBuilder, tables: &TestTables) -> u64 {
    let config = config(plan.build().unwrap(), tables, SETUPS[0]);
    let task = Task::start(config, &Executor::new(1).unwrap()).unwrap();
    drain(&task).unwrap();
    task.statistics().total("rows looked up")
}

#[test]
fn ranges_find_what_nested_loops_find() {
    for (left, right) in [(0, 30), (30, 0), (40, 17), (25, 90)] {
        for (number, kind) in KINDS.into_iter().enumerate() {
            let tables =
                tables(left, right, InputEncoding::WHOLE[number % InputEncoding::WHOLE.len()]);
            for (at, first) in COMPARISONS.into_iter().enumerate() {
                let second = COMPARISONS[(at + number) % 4];
                for ranges in [
                    &[("a", first, "x")][..],
                    &[("b", first, "y")],
                    &[("a", first, "x"), ("b", second, "y")],
                    &[("c", first, "z"), ("a", second, "x")],
                ] {
                    let plan = tables.scan("l").range_join(kind, tables.scan("r"), ranges);
                    let by_definition = tables
                        .scan("l")
                        .nested_loop_join(kind, tables.scan("r"))
                        .join_condition(|c| {
                            let call = |(left, comparison, right): &(&str, Comparison, &str)| {
                                c.call(name(*comparison), [c.column(left)?, c.column(right)?])
                            };
                            let calls = ranges.iter().map(call).collect::<Result<Vec<_>, _>>()?;
                            Ok(volley_expression::Expr::and(calls))
                        });
                    let expected = sorted(run(by_definition, &tables, SETUPS[0]).unwrap());
                    for setup in [SETUPS[0], SETUPS[1], SETUPS[4], SETUPS[5], SETUPS[8]] {
                        let rows = sorted(run(plan.clone(), &tables, setup).unwrap());
                        // As text, in which NaN equals itself.
                        let (rows, expected) = (format!("{rows:?}"), format!("{expected:?}"));
                        assert!(rows == expected, "{kind} {ranges:?} {setup:?} {left} {right}");
                    }
                    let uses = looked_up(plan, &tables);
                    assert_eq!(uses > 0, left > 0 && right >= 16, "{kind} {left} {right}");
                }
            }
        }
    }
}

/// The nearest rows, by definition: probe and build row numbers; distinct build values only.
#[test]
fn asof_joins_find_the_nearest_row() {
    let left: Vec<(i64, i64)> = (0..60).map(|it| (it % 4, it * 7 % 41)).collect();
    let right: Vec<(i64, i64)> = (0..40).map(|it| (it % 3, it * 11 % 43)).collect();
    let pair = |it: &(i64, i64)| vec![Value::BigInt(it.0), Value::BigInt(it.1)];
    for (number, comparison) in COMPARISONS.into_iter().enumerate() {
        let manners = InputEncoding::WHOLE[number];
        let tables = TestTables::default()
            .with(
                "l",
                &[("k", Type::BigInt), ("t", Type::BigInt)],
                left.iter().map(pair).collect(),
                manners,
            )
            .with(
                "r",
                &[("j", Type::BigInt), ("u", Type::BigInt)],
                right.iter().map(pair).collect(),
                manners,
            );
        let nearest = |row: &(i64, i64)| {
            let fits = right.iter().filter(|it| {
                it.0 == row.0
                    && match comparison {
                        Comparison::Less => row.1 < it.1,
                        Comparison::LessOrEqual => row.1 <= it.1,
                        Comparison::Greater => row.1 > it.1,
                        Comparison::GreaterOrEqual => row.1 >= it.1,
                    }
            });
            if comparison.is_less() {
                fits.min_by_key(|it| it.1)
            } else {
                fits.max_by_key(|it| it.1)
            }
        };
        let expected: RowValues = left
            .iter()
            .map(|row| {
                let mut values = pair(row);
                values.extend(nearest(row).map_or(vec![Value::Null, Value::Null], pair));
                values
            })
            .collect();
        let range = ("t", comparison, "u");
        let plan =
            tables.scan("l").asof_join(JoinKind::Left, tables.scan("r"), &[("k", "j")], range);
        for setup in SETUPS {
            let rows = run(plan.clone(), &tables, setup).unwrap();
            assert_eq!(sorted(rows), sorted(expected.clone()), "{comparison:?} {setup:?}");
        }
    }
}

#[test]
fn the_tree_finds_the_next_large_number() {
    let mut random = Random(5);
    for count in [0, 1, 15, 16, 17, 255, 256, 257, 5000] {
        let numbers: Vec<u32> = (0..count).map(|_| random.below(1000) as u32).collect();
        let tree = MaxTree::new(numbers.clone());
        for _ in 0..200 {
            let (from, end) = (random.below(count + 1), random.below(count + 1));
            let least = random.below(1100) as u32;
            let expected = (from..end).find(|it| numbers[*it] >= least);
            assert_eq!(tree.next(from, end, least), expected, "{count} {from} {end} {least}");
        }
    }
}

/// Keys of few values, and numbers of which none comes twice but null.
fn nearest_tables(left: usize, right: usize, text: &str, manners: InputEncoding) -> TestTables {
    let mut random = Random(3);
    let mut rows = |count: usize, step: usize| -> RowValues {
        let row = |it: usize| {
            let key = match random.below(7) {
                0 => Value::Null,
                key => Value::text(format!("{text}{key}")),
            };
            let number = match random.below(9) {
                0 => Value::Null,
                _ => Value::BigInt((it * step % 100_003) as i64),
            };
            vec![key, number]
        };
        (0..count).map(row).collect()
    };
    let left_columns = [("k", Type::Varchar), ("t", Type::BigInt)];
    let right_columns = [("j", Type::Varchar), ("u", Type::BigInt)];
    TestTables::default().with("l", &left_columns, rows(left, 10_007), manners).with(
        "r",
        &right_columns,
        rows(right, 20_011),
        manners,
    )
}

#[test]
fn asof_joins_on_disk_find_what_those_in_memory_find() {
    for (number, kind) in KINDS.into_iter().enumerate() {
        for (at, comparison) in COMPARISONS.into_iter().enumerate() {
            let manners = InputEncoding::WHOLE[(number + at) % InputEncoding::WHOLE.len()];
            let tables = nearest_tables(90, 70, "key ", manners);
            for (keys, nulls_equal) in
                [(&[][..], false), (&[("k", "j")][..], false), (&[("k", "j")][..], true)]
            {
                let range = ("t", comparison, "u");
                let plan = tables.scan("l").asof_join(kind, tables.scan("r"), keys, range);
                let plan = with_equal_nulls(plan, nulls_equal);
                let expected = sorted(run(plan.clone(), &tables, SETUPS[0]).unwrap());
                for setup in SETUPS.into_iter().filter(|it| it.spill_always) {
                    let rows = sorted(run(plan.clone(), &tables, setup).unwrap());
                    assert!(rows == expected, "{kind} {comparison:?} {keys:?} {setup:?}");
                }
            }
        }
    }
}

fn with_equal_nulls(plan: PlanBuilder, nulls_equal: bool) -> PlanBuilder {
    let node = plan.build().unwrap();
    let PlanNode::AsofJoin(node) = &*node else { panic!("another join") };
    let mut node = node.clone();
    node.nulls_equal.iter_mut().for_each(|it| *it = nulls_equal);
    PlanBuilder::from_plan(&registry(), Arc::new(PlanNode::AsofJoin(node)))
}

#[test]
fn asof_joins_of_large_tables_spill() {
    let text = "a key that takes some room, größer als klein, ";
    let tables = nearest_tables(40_000, 90_000, text, InputEncoding::Flat);
    for keys in [&[][..], &[("k", "j")][..]] {
        for kind in [JoinKind::Left, JoinKind::Full] {
            let range = ("t", Comparison::GreaterOrEqual, "u");
            let plan = tables.scan("l").asof_join(kind, tables.scan("r"), keys, range);
            let plan = plan.build().unwrap();
            let whole = run_limited(&plan, &tables, SETUPS[5], None, None);
            let run = run_limited(&plan, &tables, SETUPS[5], Some(12 << 20), None);
            assert!(sorted(run.rows.unwrap()) == sorted(whole.rows.unwrap()), "{kind} {keys:?}");
            assert!(run.spilled_bytes > 0 && whole.spilled_bytes == 0, "{kind} {keys:?}");
        }
    }
}
