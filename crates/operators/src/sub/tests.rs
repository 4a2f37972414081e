use crate::test_kit::*;
use volley_error::ErrorKind;
use volley_plan::{JoinKind, PlanBuilder};
use volley_testkit::RowValues;
use volley_types::{Type, Value};

const COLUMNS: &[(&str, Type)] = &[("k", Type::BigInt), ("s", Type::Varchar), ("d", Type::Double)];

fn rows(count: i64) -> RowValues {
    let row = |it: i64| {
        let key = if it % 13 == 0 { Value::Null } else { Value::BigInt(it % 29) };
        let text = if it % 5 == 0 { Value::Null } else { Value::text(format!("日{}", it % 7)) };
        let number = if it % 3 == 0 { Value::Double(-0.0) } else { Value::Double(f64::NAN) };
        vec![key, text, number]
    };
    (0..count).map(row).collect()
}

fn tables(left: i64, right: i64, manners: InputEncoding) -> TestTables {
    let tables = TestTables::one(COLUMNS, rows(left), manners);
    tables.with("u", COLUMNS, rows(right), manners)
}

/// Both plans give the same rows, in any order, in every setup.
#[track_caller]
fn check_same(composed: &PlanBuilder, plain: &PlanBuilder, tables: &TestTables) {
    let sorted = |plan: &PlanBuilder, setup| {
        let mut rows: Vec<String> =
            run(plan.clone(), tables, setup).unwrap().iter().map(|it| format!("{it:?}")).collect();
        rows.sort();
        rows
    };
    let expected = sorted(plain, SETUPS[0]);
    for setup in SETUPS {
        assert_eq!(sorted(composed, setup), expected, "{setup:?}");
    }
}

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

#[test]
fn a_radix_join_composed_of_sub_operators_is_the_hash_join() {
    for (left, right) in [(0, 0), (0, 40), (1, 0), (300, 40), (40, 300)] {
        let tables = tables(left, right, InputEncoding::Flat);
        for kind in KINDS {
            let (probe, build) = (tables.scan("t"), tables.scan("u"));
            let plain = probe.clone().hash_join(kind, build.clone(), &[("#0", "#0")]);
            let side = |it: PlanBuilder| it.radix_partition(&["#0"], 3..7);
            let composed = side(probe).zip(side(build)).nested_map(1, |tuple| {
                let build = tuple.clone().row_scan("#2");
                tuple.row_scan("#1").hash_join(kind, build, &[("#0", "#0")])
            });
            check_same(&composed, &plain, &tables);
        }
    }
}

#[test]
fn a_probe_of_a_table_is_the_hash_join() {
    for (left, right) in [(0, 0), (0, 40), (1, 0), (300, 40), (40, 300)] {
        let tables = tables(left, right, InputEncoding::Flat);
        for kind in KINDS {
            let (rows, build) = (tables.scan("t"), tables.scan("u"));
            let plain = rows.clone().hash_join(kind, build.clone(), &[("#0", "#0")]);
            let composed = rows.probe(kind, &["#0"], build.build_table(&["#0"]));
            check_same(&composed, &plain, &tables);
        }
    }
}

#[test]
fn parametrized_maps_know_the_tuple() {
    let tables = tables(200, 0, InputEncoding::Flat);
    let composed = tables.scan("t").radix_partition(&["#0"], 0..3).nested_map(1, |tuple| {
        let rows = tuple.clone().row_scan("#1");
        rows.map_with(tuple, |c| Ok(vec![("pid", c.column("pid")?)]))
            .reduce_by_key(&["pid"], &[("n", "count", &[])])
    });
    let plain = tables.scan("t").histogram(&["#0"], 0..3);
    check_same(&composed, &plain, &tables);
}

#[test]
fn a_partitioned_group_by_is_the_group_by() {
    for manners in InputEncoding::WHOLE {
        for count in [0, 1, 3, 1000] {
            let tables = tables(count, 0, manners);
            let counts: &[(&str, &str, &[&str])] = &[("n", "count", &[])];
            let plain = tables.scan("t").aggregate(&["#1", "#2"], counts);
            let composed = tables
                .scan("t")
                .radix_partition(&["#1", "#2"], 0..5)
                .nested_map(7, |tuple| tuple.row_scan("#1").aggregate(&["#1", "#2"], counts));
            check_same(&composed, &plain, &tables);
        }
    }
}

#[test]
fn collections_are_rows_again() {
    for manners in InputEncoding::WHOLE {
        for count in [0, 1, 3, 1000] {
            let tables = tables(count, 0, manners);
            let plain = tables.scan("t");
            check_same(&plain.clone().materialize().row_scan("#0"), &plain, &tables);
            let partitions = plain.clone().radix_partition(&["#2"], 0..3);
            check_same(&partitions.row_scan("#1"), &plain, &tables);
        }
    }
}

#[test]
fn a_histogram_counts_the_rows_of_partitions() {
    let tables = tables(1000, 0, InputEncoding::Dictionary);
    let counted = tables.scan("t").histogram(&["#0"], 2..6);
    let sizes = tables.scan("t").radix_partition(&["#0"], 2..6).nested_map(1, |tuple| {
        let number = tuple.clone().project(|c| Ok(vec![("pid", c.column("#0")?)]));
        let rows = tuple.row_scan("#1").aggregate(&[], &[("rows", "count", &[])]);
        number.nested_loop_join(JoinKind::Inner, rows)
    });
    check_same(&sizes, &counted, &tables);
}

#[test]
fn maps_nest() {
    let tables = tables(500, 100, InputEncoding::Flat);
    let plain = tables.scan("t").hash_join(JoinKind::Inner, tables.scan("u"), &[("#0", "#0")]);
    let side = |it: PlanBuilder, bits| it.radix_partition(&["#0"], bits);
    let outer = side(tables.scan("t"), 0..2).zip(side(tables.scan("u"), 0..2));
    let composed = outer.nested_map(1, |tuple| {
        let build = side(tuple.clone().row_scan("#2"), 2..4);
        side(tuple.row_scan("#1"), 2..4).zip(build).nested_map(2, |tuple| {
            let build = tuple.clone().row_scan("#2");
            tuple.row_scan("#1").hash_join(JoinKind::Inner, build, &[("#0", "#0")])
        })
    });
    check_same(&composed, &plain, &tables);
}

#[test]
fn the_failure_of_a_nested_plan_is_that_of_the_task() {
    let tables = tables(100, 0, InputEncoding::Flat);
    let plan = tables.scan("t").radix_partition(&["#0"], 0..2);
    let plan = plan.nested_map(1, |tuple| tuple.row_scan("#1").enforce_single_row());
    let error = run(plan, &tables, SETUPS[1]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidValue, "{error}");
}

#[test]
fn hash_and_range_partitions_have_all_rows_once() {
    let bounds =
        vec![vec![Value::Null, Value::BigInt(3)], vec![Value::text("日4"), Value::BigInt(20)]];
    for manners in InputEncoding::WHOLE {
        for count in [0, 1, 300] {
            let tables = tables(count, 1, manners);
            let scan = || tables.scan("t");
            let range = || scan().range_partition(&["#1 nulls first", "#0"], bounds.clone());
            for partitions in [scan().hash_partition(&["#0", "#1"], 7), range()] {
                check_same(&partitions.nested_map(1, |it| it.row_scan("#1")), &scan(), &tables);
            }
            // Keys of a partition are in no other one.
            let groups = |it: PlanBuilder| it.reduce_by_key(&["#0"], &[("n", "count", &[])]);
            let composed = scan().hash_partition(&["#0"], 5);
            let composed = composed.nested_map(1, |it| groups(it.row_scan("#1")));
            check_same(&composed, &groups(scan()), &tables);
            // Partitions are in the order of the keys.
            let sorted =
                range().nested_map(1, |it| it.row_scan("#1").sort(&["#1 nulls first", "#0"]));
            let expected = scan().sort(&["#1 nulls first", "#0"]);
            let keys = |plan: PlanBuilder| -> Vec<String> {
                let rows = run(plan, &tables, SETUPS[0]).unwrap();
                rows.iter().map(|it| format!("{:?} {:?}", it[1], it[0])).collect()
            };
            assert_eq!(keys(sorted), keys(expected));
        }
    }
}
