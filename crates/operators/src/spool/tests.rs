use crate::test_kit::{A, InputEncoding, SETUPS, Setup, TestTables, run, run_limited};
use volley_plan::JoinKind;
use volley_testkit::{integers, sorted};

#[test]
fn every_reader_sees_every_row_once() {
    for manners in InputEncoding::WHOLE {
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
    let tables = TestTables::one(&A, integers(0..20), InputEncoding::Blocking);
    let shared = tables.scan("t").shared(1);
    let plan = shared.clone().nested_loop_join(JoinKind::Inner, shared);
    for setup in SETUPS {
        assert_eq!(run(plan.clone(), &tables, setup).unwrap().len(), 400);
    }
}

#[test]
fn a_reader_that_needs_no_more_does_not_hold_rows() {
    let tables = TestTables::one(&A, integers(0..1000), InputEncoding::Flat);
    let shared = tables.scan("t").shared(1);
    let plan = shared.clone().limit(0, 1).union(vec![shared]);
    for setup in SETUPS {
        assert_eq!(run(plan.clone(), &tables, setup).unwrap().len(), 1001);
    }
    let endless = TestTables::one(&A, integers(0..10), InputEncoding::Endless);
    let shared = endless.scan("t").shared(1);
    let plan = shared.clone().limit(0, 5).union(vec![shared.limit(0, 6)]);
    for setup in SETUPS {
        assert_eq!(run(plan.clone(), &endless, setup).unwrap().len(), 11);
    }
}

#[test]
fn what_waits_for_a_slow_reader_is_written_to_disk() {
    let tables = TestTables::one(&A, integers(0..600_000), InputEncoding::Flat);
    let shared = || tables.scan("t").shared(1);
    // The probe side waits for the whole build side, of which one row is left.
    let last = shared().aggregate(&[], &[("m", "max", &["a"])]);
    let plan = shared().hash_join(JoinKind::LeftAnti, last, &[("a", "m")]);
    let plan = plan.aggregate(&[], &[("n", "count", &["a"]), ("s", "sum", &["a"])]);
    let plan = plan.build().unwrap();
    for setup in [SETUPS[0], SETUPS[5]] {
        let whole = run_limited(&plan, &tables, setup, None, None);
        let run = run_limited(&plan, &tables, setup, Some(4 << 20), None);
        assert_eq!(run.rows.unwrap(), whole.rows.unwrap(), "{setup:?}");
        assert!(run.spilled_bytes > 0 && whole.spilled_bytes == 0, "{setup:?}");
    }
}

#[test]
fn readers_begin_anywhere_in_what_was_written_meanwhile() {
    let tables = TestTables::one(&A, integers(0..50_000), InputEncoding::Flat);
    let shared = tables.scan("t").shared(1);
    let plan = shared.clone().union(vec![shared.clone(), shared]).build().unwrap();
    for setup in SETUPS.into_iter().filter(|it| it.spill_always) {
        let setup = Setup { batch_rows: 100, ..setup };
        let run = run_limited(&plan, &tables, setup, None, None);
        let mut values: Vec<i128> =
            run.rows.unwrap().iter().map(|it| it[0].as_i128().unwrap()).collect();
        values.sort_unstable();
        assert!(values.into_iter().eq((0..150_000).map(|it| it / 3)), "{setup:?}");
        assert!(run.spilled_bytes > 0, "{setup:?}");
    }
}
