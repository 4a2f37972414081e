//! Layers of changes against a list of rows: transactions of any length, conflicts, savepoints,
//! freezing, rewriting of the segment, translation of names.
//!
//! A case is a list of steps, which proptest makes and shrinks. `PROPTEST_CASES` sets how many
//! cases run, `PROPTEST_RNG_SEED` other ones.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "model/rows.rs"]
mod rows;
#[path = "model/world.rs"]
mod world;

use proptest::{prelude::*, strategy::ValueTree};
use world::{Step, World};

/// Numbers are reduced to what exists when the step is taken.
fn step() -> impl Strategy<Value = Step> {
    let n = || any::<u16>().prop_map(usize::from);
    prop_oneof![
        3 => Just(Step::Begin),
        6 => (n(), n(), 1..5usize).prop_map(|(txn, at, count)| Step::Insert { txn, at, count }),
        5 => (n(), n()).prop_map(|(txn, at)| Step::Delete { txn, at }),
        2 => (n(), n(), n()).prop_map(|(txn, at, rows)| Step::DeleteRange { txn, at, rows }),
        6 => (n(), n(), 0..2u32).prop_map(|(txn, at, column)| Step::Modify { txn, at, column }),
        2 => (n(), n(), n()).prop_map(|(txn, at, step)| Step::ModifyMany { txn, at, step }),
        1 => n().prop_map(|txn| Step::Save { txn }),
        1 => n().prop_map(|txn| Step::RollBack { txn }),
        6 => n().prop_map(|txn| Step::Commit { txn }),
        1 => n().prop_map(|txn| Step::Abort { txn }),
        1 => Just(Step::Freeze),
        2 => n().prop_map(|lag| Step::FreezeLater { lag }),
        1 => Just(Step::StartRewrite),
        2 => Just(Step::FinishRewrite),
        1 => n().prop_map(|batch_rows| Step::Check { batch_rows }),
    ]
}

fn run(base_rows: u32, steps: &[Step]) -> World {
    let mut world = World::new(base_rows);
    for step in steps {
        world.take(step);
    }
    world.check_all();
    world
}

fn config(cases: u32) -> ProptestConfig {
    let mut config = ProptestConfig::with_cases(cases);
    if std::env::var_os("PROPTEST_CASES").is_some() {
        config.cases = ProptestConfig::default().cases;
    }
    config.failure_persistence = None;
    config.max_shrink_iters = 20_000;
    // The same cases in every run, unless others are asked for.
    if std::env::var_os("PROPTEST_RNG_SEED").is_none() {
        config.rng_seed = proptest::test_runner::RngSeed::Fixed(36);
    }
    config
}

proptest! {
    #![proptest_config(config(3000))]

    #[test]
    fn short_histories(base in 0..8u32, steps in prop::collection::vec(step(), 0..40)) {
        run(base, &steps);
    }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn long_histories(base in 0..200u32, steps in prop::collection::vec(step(), 200..400)) {
        run(base, &steps);
    }
}

/// A long transaction sees its snapshot and commits after everything else happened to its segment.
#[test]
fn a_transaction_outlives_freezes_and_rewrites() {
    let mut steps = vec![Step::Begin];
    let long = |at| [Step::Modify { txn: 0, at, column: 1 }, Step::Insert { txn: 0, at, count: 3 }];
    for round in 0..300 {
        steps.extend(long(round * 7));
        // The others change rows, too, but not those that the long one changed: they commit at
        // once.
        steps.extend([
            Step::Begin,
            Step::Insert { txn: 1, at: round * 31, count: 4 },
            Step::Delete { txn: 1, at: round * 17 },
            Step::Modify { txn: 1, at: round * 13, column: 0 },
            Step::Commit { txn: 1 },
        ]);
        match round % 10 {
            3 => steps.push(Step::Freeze),
            5 => steps.push(Step::StartRewrite),
            8 => steps.push(Step::FinishRewrite),
            _ => {}
        }
    }
    steps.push(Step::Check { batch_rows: 3 });
    steps.push(Step::Commit { txn: 0 });
    let world = run(500, &steps);
    let seen = world.seen();
    assert!(seen.rewrites >= 25 && seen.freezes >= 25, "{seen:?}");
    assert!(seen.translations >= 25 || seen.conflicts > 0, "{seen:?}");
}

/// Row 3 was changed before the transaction began, but frozen with later changes.
#[test]
fn a_transaction_is_too_old_for_what_was_frozen_after_it_began() {
    let change = |txn, at| [Step::Begin, Step::Modify { txn, at, column: 0 }, Step::Commit { txn }];
    let mut steps = change(0, 3).to_vec();
    steps.push(Step::Begin);
    steps.extend(change(1, 9));
    steps.extend([Step::FreezeLater { lag: 0 }, Step::Modify { txn: 0, at: 3, column: 1 }]);
    steps.push(Step::Commit { txn: 0 });
    let seen = run(20, &steps).seen();
    assert_eq!((seen.commits, seen.conflicts, seen.too_old), (2, 0, 1));
    // Of a row that was not frozen, it is not.
    let place = steps.len() - 2;
    steps[place] = Step::Modify { txn: 0, at: 5, column: 1 };
    let seen = run(20, &steps).seen();
    assert_eq!((seen.commits, seen.too_old), (3, 0));
}

/// The random histories reach what they are meant to test.
#[test]
fn histories_reach_every_kind_of_event() {
    let mut runner = proptest::test_runner::TestRunner::new(config(1));
    let strategy = prop::collection::vec(step(), 200..400);
    let mut seen = world::Seen::default();
    for _ in 0..80 {
        let steps = strategy.new_tree(&mut runner).unwrap().current();
        seen.add(run(40, &steps).seen());
    }
    let world::Seen { commits, conflicts, too_old, freezes, rewrites, translations, rollbacks } =
        seen;
    assert!(commits > 500 && conflicts + too_old > 50, "{seen:?}");
    assert!(freezes > 100 && rewrites > 100 && translations > 50 && rollbacks > 10, "{seen:?}");
}
