use crate::test_kit::{A, InputEncoding, SETUPS, TestTables, run};
use std::collections::HashSet;
use volley_testkit::integers;

#[test]
fn identities_are_distinct_over_all_drivers() {
    for manners in InputEncoding::WHOLE {
        let tables = TestTables::one(&A, integers(0..500), manners);
        for setup in SETUPS {
            let rows = run(tables.scan("t").unique_id("id"), &tables, setup).unwrap();
            let ids: HashSet<_> = rows.iter().map(|it| it[1].as_i128()).collect();
            assert_eq!((rows.len(), ids.len()), (500, 500), "{setup:?}");
        }
    }
}
