use crate::test_kit::{InputEncoding, SETUPS, Setup, TestTables, config, drain, drop_whole, run};
use std::collections::BTreeMap;
use volley_exec::{Executor, Task};
use volley_plan::PlanBuilder;
use volley_testkit::{RowValues, sorted};
use volley_types::{Type, Value};

/// Groups 0, 1, ... of 1, 2, ... rows; then a group of nulls.
fn rows() -> RowValues {
    let group = |it: i64| (0..=it).map(move |row| vec![Value::BigInt(it), Value::BigInt(row)]);
    let nulls = (0..4).map(|row| vec![Value::Null, Value::BigInt(row)]);
    (0..8).flat_map(group).chain(nulls).collect()
}

/// The specification.
fn naive(offset: i128, limit: Option<i128>) -> RowValues {
    let end = limit.map_or(i128::MAX, |it| offset + it);
    let passes = |it: &Vec<Value>| it[1].as_i128().is_some_and(|row| (offset..end).contains(&row));
    rows().into_iter().filter(passes).collect()
}

#[test]
fn every_group_is_cut_in_every_encoding_and_setup() {
    let columns = [("g", Type::BigInt), ("row", Type::BigInt)];
    for manners in InputEncoding::WHOLE {
        let tables = TestTables::one(&columns, rows(), manners);
        for (offset, limit) in [(0, Some(1)), (1, Some(2)), (2, None), (0, Some(0)), (9, None)] {
            let sorted = tables.scan("t").order_by(&["g", "row"]);
            let plan = sorted.group_limit(&["g"], offset, limit);
            for setup in SETUPS {
                let result = run(plan.clone(), &tables, setup).unwrap();
                let expected = naive(offset.into(), limit.map(i128::from));
                assert_eq!(result, expected, "{manners:?} {offset} {limit:?} {setup:?}");
            }
        }
    }
}

/// Groups of 30 rows with orders that repeat, nulls, NaN and zeros of both signs; numbered.
fn unordered() -> RowValues {
    let row = |it: i64| {
        let group = if it % 11 == 10 { Value::Null } else { Value::BigInt(it % 10) };
        let place = it * 7919 % 101;
        let order = match place {
            0 => Value::Null,
            1 => Value::Double(f64::NAN),
            2 => Value::Double(-0.0),
            3 => Value::Double(0.0),
            _ => Value::Double(place as f64 - 50.0),
        };
        vec![group, order, Value::BigInt(it)]
    };
    (0..300).map(row).collect()
}

const UNORDERED: [(&str, Type); 3] =
    [("g", Type::BigInt), ("o", Type::Double), ("id", Type::BigInt)];

/// What a sort of all rows and a cut of each group give: the limit of two of the first row alone
/// runs without a look at rows before the sort.
fn first_of_all(tables: &TestTables, keys: &[&str], setup: Setup) -> RowValues {
    let plan = tables.scan("t").order_by(keys).group_limit(&["g"], 0, Some(2));
    let rows = run(plan, tables, setup).unwrap();
    let mut firsts: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for row in rows {
        firsts.entry(format!("{:?}", row[0])).or_insert(row);
    }
    sorted(firsts.into_values().collect())
}

#[test]
fn rows_that_are_not_the_first_are_dropped_before_the_sort() {
    let orders: [&[&str]; 5] = [
        &["g", "o", "id"],
        &["g", "o desc", "id"],
        &["g desc", "o nulls first", "id desc"],
        &["g", "id desc", "o"],
        &["g", "id"],
    ];
    for manners in InputEncoding::WHOLE {
        let tables = TestTables::one(&UNORDERED, unordered(), manners);
        for keys in orders {
            let plan = tables.scan("t").order_by(keys).group_limit(&["g"], 0, Some(1));
            for setup in SETUPS {
                let found = run(plan.clone(), &tables, setup).unwrap();
                let expected = first_of_all(&tables, keys, setup);
                assert_eq!(found.len(), 11);
                // As text, in which NaN equals itself.
                let (found, expected) = (format!("{:?}", sorted(found)), format!("{expected:?}"));
                assert_eq!(found, expected, "{manners:?} {keys:?} {setup:?}");
            }
        }
    }
}

/// How many rows were dropped before the sort.
fn dropped(plan: PlanBuilder, tables: &TestTables, setup: Setup) -> u64 {
    let executor = Executor::new(setup.threads).unwrap();
    let task = Task::start(config(plan.build().unwrap(), tables, setup), &executor).unwrap();
    drain(&task).unwrap();
    let statistics = task.statistics();
    let operators = statistics.nodes.iter().flat_map(|it| &it.operators);
    let counted = operators.map(|it| it.counted("rows behind the first")).sum();
    drop_whole(task, executor);
    counted
}

#[test]
fn only_first_rows_in_an_order_are_known_before_the_sort() {
    let tables = TestTables::one(&UNORDERED, unordered(), InputEncoding::Flat);
    for setup in SETUPS {
        let limited = |keys: &[&str], groups: &[&str], offset, limit| {
            let plan = tables.scan("t").order_by(keys).group_limit(groups, offset, limit);
            dropped(plan, &tables, setup)
        };
        assert!(limited(&["g", "id"], &["g"], 0, Some(1)) > 0, "{setup:?}");
        assert!(limited(&["g", "o desc", "id"], &["g"], 0, Some(1)) > 0, "{setup:?}");
        assert_eq!(limited(&["g", "id"], &["g"], 0, Some(2)), 0);
        assert_eq!(limited(&["g", "id"], &["g"], 1, Some(1)), 0);
        assert_eq!(limited(&["g"], &["g"], 0, Some(1)), 0);
        assert_eq!(limited(&["o", "id"], &["o"], 0, Some(1)), 0);
        assert_eq!(limited(&["g", "o", "id"], &["g", "o"], 0, Some(1)), 0);
    }
}
