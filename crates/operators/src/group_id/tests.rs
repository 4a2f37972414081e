use crate::test_kit::{InputEncoding, SETUPS, TestTables, run};
use volley_testkit::{RowValues, sorted};
use volley_types::{Type, Value};

const COLUMNS: [(&str, Type); 2] = [("a", Type::Varchar), ("b", Type::BigInt)];

fn row(index: i64) -> Vec<Value> {
    vec![Value::text(format!("row {index}")), Value::BigInt(index)]
}

/// The rows for the sets (a, b), (b) and (), in this order.
fn expected(rows: i64, with_extra: bool) -> RowValues {
    let mut expected = Vec::new();
    for index in 0..rows {
        for (id, kept) in [[true, true], [false, true], [false, false]].iter().enumerate() {
            let mut out = row(index);
            for (key, is_kept) in row(index).into_iter().zip(kept) {
                out.push(if *is_kept { key } else { Value::Null });
            }
            out.push(Value::BigInt(id as i64));
            out.extend(with_extra.then_some(Value::Boolean(true)));
            expected.push(out);
        }
    }
    if with_extra {
        let mut out = vec![Value::Null; 4];
        out.extend([Value::BigInt(2), Value::Null]);
        expected.push(out);
    }
    expected
}

#[test]
fn rows_come_once_per_set_and_lose_the_keys_that_it_lacks() {
    for rows in [0, 1, 5, 2000] {
        for manners in InputEncoding::WHOLE {
            let tables = TestTables::one(&COLUMNS, (0..rows).map(row).collect(), manners);
            for setup in SETUPS {
                for with_extra in [false, true] {
                    let sets: [&[&str]; 3] = [&["a", "b"], &["b"], &[]];
                    let plan = tables.scan("t").group_id(&sets, with_extra);
                    let found = run(plan, &tables, setup).unwrap();
                    let expected = expected(rows, with_extra);
                    assert!(sorted(found) == sorted(expected), "{rows} {manners:?} {setup:?}");
                }
            }
        }
    }
}

#[test]
fn groups_of_no_keys_are_there_without_input() {
    let tables = TestTables::one(&COLUMNS, Vec::new(), InputEncoding::WHOLE[0]);
    for setup in SETUPS {
        let sets: [&[&str]; 2] = [&["a"], &[]];
        let plan = tables.scan("t").group_id(&sets, true);
        let plan = plan.aggregate(&["#2", "#3"], &[("n", "count", &["b"])]);
        let rows = run(plan, &tables, setup).unwrap();
        assert_eq!(rows, [vec![Value::Null, Value::BigInt(1), Value::BigInt(0)]]);
    }
}
