use crate::test_kit::{Manners, SETUPS, TestTables, run};
use volley_testkit::RowValues;
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
    for manners in Manners::WHOLE {
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
