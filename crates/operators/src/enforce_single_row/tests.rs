use crate::test_kit::{A, InputEncoding, SETUPS, TestTables, run};
use volley_testkit::integers;
use volley_types::Value;

#[test]
fn one_row_passes_and_none_becomes_nulls() {
    for setup in SETUPS {
        let one = TestTables::one(&A, integers([7]), InputEncoding::Lazy);
        let rows = run(one.scan("t").enforce_single_row(), &one, setup).unwrap();
        assert_eq!(rows, integers([7]));
        let none = TestTables::one(&A, Vec::new(), InputEncoding::Flat);
        let rows = run(none.scan("t").enforce_single_row(), &none, setup).unwrap();
        assert_eq!(rows, vec![vec![Value::Null]]);
    }
}

#[test]
fn two_rows_are_an_error() {
    let tables = TestTables::one(&A, integers([7, 7]), InputEncoding::Flat);
    for setup in SETUPS {
        let error = run(tables.scan("t").enforce_single_row(), &tables, setup).unwrap_err();
        assert_eq!(error.message(), "scalar subquery returned more than one row");
    }
}
