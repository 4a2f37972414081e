use crate::test_kit::{A, InputEncoding, SETUPS, TestTables, run};
use volley_testkit::integers;

#[test]
fn the_wanted_number_of_rows_passes() {
    let tables = TestTables::one(&A, integers(0..100), InputEncoding::Lazy);
    for (offset, limit, expected) in [(0, 5, 5), (95, 10, 5), (100, 1, 0), (0, 0, 0), (3, 97, 97)] {
        for setup in SETUPS {
            let rows = run(tables.scan("t").limit(offset, limit), &tables, setup).unwrap();
            assert_eq!(rows.len(), expected, "{offset} {limit} {setup:?}");
        }
    }
}

#[test]
fn the_rows_of_a_sorted_input_are_those_in_the_range() {
    let tables = TestTables::one(&A, integers((0..100).rev()), InputEncoding::Dictionary);
    for setup in SETUPS {
        let plan = tables.scan("t").order_by(&["a"]);
        let rows = run(plan.clone().limit(10, 20), &tables, setup).unwrap();
        assert_eq!(rows, integers(10..30), "{setup:?}");
        assert_eq!(run(plan.offset(97), &tables, setup).unwrap(), integers(97..100));
    }
}

#[test]
fn a_satisfied_limit_ends_an_endless_input() {
    let tables = TestTables::one(&A, integers(0..10), InputEncoding::Endless);
    for setup in SETUPS {
        let plan = tables.scan("t").partition(&["a"]).round_robin();
        assert_eq!(run(plan.limit(0, 33), &tables, setup).unwrap().len(), 33);
    }
}

#[test]
fn offsets_and_limits_beyond_any_count_do_not_overflow() {
    let tables = TestTables::one(&A, integers(0..10), InputEncoding::Flat);
    for setup in SETUPS {
        let plan = tables.scan("t");
        assert_eq!(run(plan.clone().limit(5, u64::MAX), &tables, setup).unwrap().len(), 5);
        assert_eq!(run(plan.limit(u64::MAX, u64::MAX), &tables, setup).unwrap().len(), 0);
    }
}
