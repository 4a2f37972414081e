//! Exchanges and merges between the pipelines of a task.

use crate::kit::run;
use volley_exec_testkit::{A, InputEncoding, SETUPS, TestTables};
use volley_testkit::{RowValues, integers, sorted};
use volley_types::{Type, Value};

fn rows() -> RowValues {
    let row = |it: i64| {
        let text = if it % 5 == 0 { Value::Null } else { Value::text(format!("text {}", it % 5)) };
        vec![Value::BigInt(it), text]
    };
    (0..200).map(row).collect()
}

const COLUMNS: [(&str, Type); 2] = [("a", Type::BigInt), ("b", Type::Varchar)];

#[test]
fn no_row_is_lost_or_repeated_in_any_exchange() {
    for manners in InputEncoding::WHOLE {
        let tables = TestTables::one(&COLUMNS, rows(), manners);
        let scan = tables.scan("t");
        let plans = [
            scan.clone().gather(),
            scan.clone().round_robin(),
            scan.clone().partition(&["b"]),
            scan.clone().partition(&["b", "a"]).partition(&["a"]).round_robin().gather(),
        ];
        for plan in plans {
            for setup in SETUPS {
                let result = run(plan.clone(), &tables, setup).unwrap();
                assert_eq!(sorted(result), sorted(rows()), "{manners:?} {setup:?}");
            }
        }
    }
}

#[test]
fn no_row_comes_out_of_an_empty_input() {
    let tables = TestTables::one(&A, Vec::new(), InputEncoding::Flat);
    for setup in SETUPS {
        let plan = tables.scan("t").partition(&["a"]).round_robin();
        assert!(run(plan, &tables, setup).unwrap().is_empty());
    }
}

#[test]
fn a_limit_ends_all_senders() {
    let tables = TestTables::one(&A, integers((0..5_000).rev()), InputEncoding::Flat);
    let plan = tables.scan("t").round_robin().order_by(&["a"]).limit(10, 20);
    for setup in SETUPS {
        assert_eq!(run(plan.clone(), &tables, setup).unwrap(), integers(10..30), "{setup:?}");
    }
}
