//! The suite over a network with and without faults.

use crate::{
    TaskId, Transport,
    conformance::{Fabric, transport},
    simulation::{FaultCounts, FaultRates, SimulatedFabric},
};
use std::{
    ops::Range,
    sync::{Arc, Mutex},
};

/// A fabric whose fault counts are added up when it ends.
struct Counted(SimulatedFabric, Arc<Mutex<FaultCounts>>);

impl Fabric for Counted {
    fn transport(&self, task: TaskId) -> Arc<dyn Transport> {
        self.0.transport(task)
    }

    fn advance(&mut self) -> bool {
        self.0.advance()
    }

    fn kill(&mut self, task: TaskId) {
        self.0.kill(task);
    }

    fn open_edges(&self) -> usize {
        self.0.open_edges()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.lock().unwrap().add(self.0.counts());
    }
}

#[test]
fn a_network_without_faults_passes() {
    let found = transport(0..20, |seed| SimulatedFabric::new(seed, FaultRates::default()));
    assert_eq!(found, Ok(()), "{}", found.clone().unwrap_err());
}

/// The seeds: `VOLLEY_FUZZ_SEEDS`, such as 1000..9000, or enough to see each fault 100 times.
fn seeds() -> Range<u64> {
    let seeds = std::env::var("VOLLEY_FUZZ_SEEDS").ok();
    let range = seeds.as_deref().and_then(|it| it.split_once(".."));
    let range = range.and_then(|(start, end)| Some(start.parse().ok()?..end.parse().ok()?));
    range.unwrap_or(0..100)
}

#[test]
fn a_network_with_every_fault_passes_and_each_fault_happens_often() {
    let counts = Arc::new(Mutex::new(FaultCounts::default()));
    let found = transport(seeds(), |seed| {
        // From few faults to one in ten frames of each kind.
        let rates = FaultRates::all(0.01 + 0.09 * (seed % 10) as f64 / 10.0);
        Counted(SimulatedFabric::new(seed, rates), Arc::clone(&counts))
    });
    assert_eq!(found, Ok(()), "{}", found.clone().unwrap_err());
    let counts = *counts.lock().unwrap();
    println!("{counts:?}");
    assert!(counts.least() >= 100, "{counts:?}");
}
