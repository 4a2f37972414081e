use super::*;
use std::sync::Arc;

/// Seeds of a run of all tests; `cargo run --release -p volley-sim --example seeds` runs more.
const SEEDS: u64 = 250;

#[test]
fn nothing_is_lost_and_nothing_is_half_done() {
    let mut counts = Counts::default();
    for seed in 0..SEEDS {
        let result = run(seed, &|disk| Arc::new(disk), &mut counts);
        assert!(result.is_ok(), "{}", result.unwrap_err());
    }
    assert!(counts.commits > 1000 && counts.conflicts > 50, "{counts:?}");
    assert!(counts.checkpoints > 200 && counts.propagations > 200, "{counts:?}");
    assert!(counts.crashes > 500 && counts.kept_outcomes > 20, "{counts:?}");
    assert!(counts.open_outcomes > counts.kept_outcomes, "{counts:?}");
}

#[test]
fn the_simulated_disk_conforms() {
    volley_storage::conformance::store(&SimDisk::new(1));
}
