use crate::test_kit::{A, InputEncoding, SETUPS, TestTables, run};
use volley_testkit::{Random, RowValues, integers};
use volley_types::{Type, Value};

const COLUMNS: [(&str, Type); 3] = [("a", Type::BigInt), ("b", Type::Varchar), ("c", Type::Double)];

fn random_rows(count: usize) -> RowValues {
    let mut random = Random(5);
    let row = |_| {
        let a = random.below(7) as i64;
        let b = random.below(5);
        let text = Value::text(format!("a string that is longer than a view {b}"));
        vec![
            if a == 6 { Value::Null } else { Value::BigInt(a) },
            if b == 4 { Value::Null } else { text },
            Value::Double(random.below(1000) as f64 / 8.0),
        ]
    };
    (0..count).map(row).collect()
}

/// The specification, for the keys `a desc, b nulls first, c`.
fn naive(mut rows: RowValues) -> RowValues {
    rows.sort_by(|left, right| {
        // A null `a` comes last, descending or not.
        let a = |it: &Value| it.as_i128().map_or(i128::MAX, |it| -it);
        let b = |it: &Value| it.as_str().map(str::to_owned);
        let c = |it: &Value| if let Value::Double(it) = it { (*it * 8.0) as i64 } else { 0 };
        (a(&left[0]), b(&left[1]), c(&left[2])).cmp(&(a(&right[0]), b(&right[1]), c(&right[2])))
    });
    rows
}

#[test]
fn rows_come_in_order_in_every_encoding_and_setup() {
    let expected = naive(random_rows(200));
    for manners in InputEncoding::WHOLE {
        let tables = TestTables::one(&COLUMNS, random_rows(200), manners);
        let plan = tables.scan("t").order_by(&["a desc", "b nulls first", "c"]);
        for setup in SETUPS {
            let rows = run(plan.clone(), &tables, setup).unwrap();
            assert_eq!(rows, expected, "{manners:?}, {setup:?}");
        }
    }
}

#[test]
fn many_rows_sort_in_many_steps() {
    let count = 150_000;
    let values = integers((0..count).map(|it| (it * 7919) % count));
    let tables = TestTables::one(&A, values, InputEncoding::Flat);
    let rows = run(tables.scan("t").order_by(&["a"]), &tables, SETUPS[5]).unwrap();
    assert_eq!(rows, integers(0..count));
}

#[test]
fn no_rows_and_one_row_are_sorted() {
    for count in [0, 1] {
        let tables = TestTables::one(&A, integers(0..count), InputEncoding::Flat);
        for setup in SETUPS {
            let rows = run(tables.scan("t").order_by(&["a"]), &tables, setup).unwrap();
            assert_eq!(rows, integers(0..count));
        }
    }
}
