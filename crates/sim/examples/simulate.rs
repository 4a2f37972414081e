//! Runs seeds of the simulation:
//! `cargo run --release -p volley-sim --example simulate -- FIRST COUNT`.
//!
//! A seed that fails is printed with all its steps.

use std::{env, process::ExitCode, sync::Arc};
use volley_sim::{Counts, Weather, run};

fn main() -> ExitCode {
    let mut numbers = env::args().skip(1).map(|it| it.parse::<u64>());
    let (Some(Ok(first)), Some(Ok(count))) = (numbers.next(), numbers.next()) else {
        eprintln!("usage: seeds FIRST COUNT");
        return ExitCode::FAILURE;
    };
    let (mut counts, mut failed) = (Counts::default(), 0u64);
    for seed in first..first.saturating_add(count) {
        // Every fourth seed damages bytes, too.
        let weather = if seed % 4 == 3 { Weather::Damaging } else { Weather::Survivable };
        if let Err(error) = run(seed, weather, &|disk| Arc::new(disk), &mut counts) {
            println!("{error}\n");
            failed += 1;
        }
        if seed % 1000 == 999 {
            println!("seed {seed}: {failed} failed");
        }
    }
    println!("{count} seeds from {first}: {failed} failed\n{counts:#?}");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
