use crate::test_kit::{A, InputEncoding, SETUPS, TestTables, run};
use std::collections::HashSet;
use volley_plan::SampleMethod;
use volley_testkit::integers;

#[test]
fn about_a_share_of_the_rows_is_kept_and_none_is_made_up() {
    for manners in InputEncoding::WHOLE {
        let tables = TestTables::one(&A, integers(0..4000), manners);
        for setup in SETUPS {
            let plan = tables.scan("t").sample(SampleMethod::Rows(0.25), None);
            let rows = run(plan, &tables, setup).unwrap();
            let values: HashSet<_> = rows.iter().map(|it| it[0].as_i128()).collect();
            assert_eq!(values.len(), rows.len());
            // Fifteen standard deviations around a thousand.
            assert!((600..1400).contains(&rows.len()), "{} {setup:?}", rows.len());
            for (share, expected) in [(0.0, 0), (1.0, 4000)] {
                for method in [SampleMethod::Rows(share), SampleMethod::Batches(share)] {
                    let rows = run(tables.scan("t").sample(method, None), &tables, setup).unwrap();
                    assert_eq!(rows.len(), expected, "{method:?}");
                }
            }
        }
    }
}

#[test]
fn numbers_with_a_seed_are_the_same_again_in_one_driver() {
    let tables = TestTables::one(&A, integers(0..500), InputEncoding::WHOLE[0]);
    let numbers = |seed| {
        let plan = tables.scan("t").gather().sample(SampleMethod::Number, Some(seed));
        let setup = SETUPS.into_iter().find(|it| it.drivers == 1).unwrap();
        run(plan, &tables, setup).unwrap()
    };
    assert!(numbers(7) == numbers(7));
    assert!(numbers(7) != numbers(8));
    let distinct: HashSet<_> = numbers(7).iter().map(|it| it[1].as_i128()).collect();
    assert_eq!(distinct.len(), 500);
}
