use super::*;
use std::sync::Arc;
use volley_storage::canary::{self, Mistake};

/// Seeds of a run of all tests; `cargo run --release -p volley-sim --example simulate` runs more.
const SEEDS: u64 = 250;

/// Seeds within which every mistake must be found.
const CANARY_SEEDS: u64 = 1000;

#[test]
fn nothing_is_lost_and_nothing_is_half_done() {
    let mut counts = Counts::default();
    for seed in 0..SEEDS {
        let result = run(seed, Weather::Survivable, &|disk| Arc::new(disk), &mut counts);
        assert!(result.is_ok(), "{}", result.unwrap_err());
    }
    assert!(counts.commits > 1000 && counts.conflicts > 50, "{counts:?}");
    assert!(counts.checkpoints > 200 && counts.propagations > 100, "{counts:?}");
    assert!(counts.merges > 100, "{counts:?}");
    assert!(counts.crashes > 500 && counts.kept_outcomes > 20, "{counts:?}");
    assert!(counts.open_outcomes > counts.kept_outcomes, "{counts:?}");
}

#[test]
fn damage_is_an_error_and_never_an_answer() {
    let mut counts = Counts::default();
    for seed in 0..SEEDS {
        let result = run(seed, Weather::Damaging, &|disk| Arc::new(disk), &mut counts);
        assert!(result.is_ok(), "{}", result.unwrap_err());
    }
    assert!(counts.damaged > SEEDS / 4 && counts.damaged < SEEDS, "{counts:?}");
    for fault in [Fault::FlippedBit, Fault::MisdirectedRead, Fault::MisdirectedWrite] {
        assert!(counts.faults.of(fault) >= 20, "{fault:?} {counts:?}");
    }
}

/// The first seed that finds a mistake.
fn found_by(run_seed: impl Fn(u64) -> Result<(), String>) -> Option<u64> {
    (0..CANARY_SEEDS).find(|it| run_seed(*it).is_err())
}

#[test]
fn mistakes_of_a_store_are_found() {
    let mistakes = [
        StoreMistake::NoSync("log"),
        StoreMistake::NoSync("data"),
        StoreMistake::NoNameSync("log"),
        StoreMistake::NoNameSync("data"),
        StoreMistake::PutNotDurable,
        StoreMistake::ShortWriteIgnored,
        StoreMistake::SyncRetried,
    ];
    for mistake in mistakes {
        let found = found_by(|seed| {
            let wrap = |disk| Arc::new(MistakenStore::new(disk, mistake)) as _;
            run(seed, Weather::Survivable, &wrap, &mut Counts::default())
        });
        assert!(found.is_some(), "{mistake:?} was not found in {CANARY_SEEDS} seeds");
    }
}

#[test]
fn mistakes_of_storage_are_found() {
    let mistakes = [
        Mistake::PublishBeforeAppend,
        Mistake::StampOffByOne,
        Mistake::NoTranslation,
        Mistake::ReplaceNotLogged,
        Mistake::IdsNotSaved,
        Mistake::StaleRun,
        Mistake::RemovedTooEarly,
        Mistake::NoChecksum,
        Mistake::SyncErrorIgnored,
        Mistake::RecoveredTailNotSynced,
    ];
    for mistake in mistakes {
        let found = found_by(|seed| {
            canary::make(Some(mistake));
            let result =
                run(seed, Weather::Survivable, &|disk| Arc::new(disk), &mut Counts::default());
            canary::make(None);
            result
        });
        assert!(found.is_some(), "{mistake:?} was not found in {CANARY_SEEDS} seeds");
    }
}

#[test]
fn the_simulated_disk_conforms() {
    volley_storage::conformance::store(&SimDisk::new(1));
}
