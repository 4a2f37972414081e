//! One-row transactions: begin, change, check for conflicts, commit.

use crate::segment::{Kind, Source, changed};
use std::time::Instant;
use volley_error::{Error, Result};
use volley_pdt::Stamp;

/// Transactions of one figure.
const TRANSACTIONS: u32 = 50_000;

/// The stamp of the first one.
const FIRST_STAMP: u64 = 1_000_000;

pub fn run() -> Result<bool> {
    println!("\n## one-row transactions per second\n");
    println!("| base rows | changed | insert | delete | modify | entries | bytes per entry |");
    println!("|---|---|---|---|---|---|---|");
    for base_rows in [1_000, 100_000, 10_000_000] {
        for percent in [1, 5, 20] {
            let mut figures = Vec::new();
            let mut size = (0, 0);
            for kind in [Kind::Insert, Kind::Delete, Kind::Modify] {
                let (rate, entries, bytes) = measure(base_rows, percent, kind)?;
                figures.push(format!("{:.0} K", rate / 1000.0));
                size = (entries, bytes / entries.max(1));
            }
            let (entries, bytes) = size;
            let figures = figures.join(" | ");
            println!("| {base_rows} | {percent} % | {figures} | {entries} | {bytes} |");
        }
    }
    Ok(true)
}

fn measure(base_rows: u32, percent: u32, kind: Kind) -> Result<(f64, usize, usize)> {
    let start_version = changed(base_rows, percent, Kind::Mixed)?;
    let mut layers = start_version.clone();
    let source = Source::new();
    let mut random = fastrand::Rng::with_seed(1);
    let mut stamp = FIRST_STAMP;
    // A small base has few rows to delete: it starts again from the first version.
    let restart = (base_rows / 4).clamp(1, TRANSACTIONS);
    let start = Instant::now();
    for number in 0..TRANSACTIONS {
        if number % restart == 0 {
            layers = start_version.clone();
        }
        let mut own = layers.transaction()?;
        source.change(&mut own, &layers, kind, random.u32(..base_rows))?;
        if let Some(conflict) = layers.conflict(&own, Stamp(stamp)) {
            return Err(Error::internal(conflict.to_string()));
        }
        stamp += 1;
        layers = layers.apply(&own, Stamp(stamp))?;
    }
    let rate = f64::from(TRANSACTIONS) / start.elapsed().as_secs_f64();
    Ok((rate, layers.write.tree().len(), layers.write.retained_bytes()))
}
