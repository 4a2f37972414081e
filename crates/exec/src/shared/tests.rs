use crate::test_kit::{A, Manners, SETUPS, TestTables, integers, run, sorted};
use volley_plan::JoinKind;

#[test]
fn every_reader_sees_every_row_once() {
    for manners in Manners::WHOLE {
        let tables = TestTables::one(&A, integers(0..50), manners);
        let shared = tables.scan("t").shared(1);
        let plan = shared.clone().union(vec![shared.clone(), shared]);
        for setup in SETUPS {
            let rows = run(plan.clone(), &tables, setup).unwrap();
            let expected = integers((0..50).chain(0..50).chain(0..50));
            assert_eq!(sorted(rows), sorted(expected), "{manners:?} {setup:?}");
        }
    }
}

#[test]
fn both_sides_of_a_join_may_read_the_same_subplan() {
    let tables = TestTables::one(&A, integers(0..20), Manners::Blocking);
    let shared = tables.scan("t").shared(1);
    let plan = shared.clone().nested_loop_join(JoinKind::Inner, shared);
    for setup in SETUPS {
        assert_eq!(run(plan.clone(), &tables, setup).unwrap().len(), 400);
    }
}

#[test]
fn a_reader_that_needs_no_more_does_not_hold_rows() {
    let tables = TestTables::one(&A, integers(0..1000), Manners::Flat);
    let shared = tables.scan("t").shared(1);
    let plan = shared.clone().limit(0, 1).union(vec![shared]);
    for setup in SETUPS {
        assert_eq!(run(plan.clone(), &tables, setup).unwrap().len(), 1001);
    }
    let endless = TestTables::one(&A, integers(0..10), Manners::Endless);
    let shared = endless.scan("t").shared(1);
    let plan = shared.clone().limit(0, 5).union(vec![shared.limit(0, 6)]);
    for setup in SETUPS {
        assert_eq!(run(plan.clone(), &endless, setup).unwrap().len(), 11);
    }
}
