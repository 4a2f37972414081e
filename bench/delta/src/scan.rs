//! Scans that merge changes, against the loop over the base.
//!
//! A scan reads every value of every column once (a sum; of texts, of their lengths), as a query
//! would. The base is in memory, in batches of 1024 rows, so that all that differs is merging.

use crate::segment::{COLUMNS, Kind, batch, changed};
use std::time::Instant;
use volley_error::Result;
use volley_pdt::MergePlan;
use volley_types::PhysicalType;
use volley_vector::{Batch, Decoded, Vector};

const BASE_ROWS: u32 = 1 << 20;

const BATCH_ROWS: u32 = 1024;

/// Rounds of all variants, interleaved.
const ROUNDS: usize = 9;

/// The largest time of 5 % changed rows to that of the clean scan.
const RATIO_MAX: f64 = 1.3;

pub fn run() -> Result<bool> {
    println!("\n## scans of {BASE_ROWS} rows, {COLUMNS} columns: time / clean loop\n");
    println!("| kind | changed | plan, ms | unordered | ordered | entries |");
    println!("|---|---|---|---|---|---|");
    let base: Vec<Batch> = (0..BASE_ROWS)
        .step_by(BATCH_ROWS as usize)
        .map(|start| batch(start..start + BATCH_ROWS))
        .collect();
    let mut all_kept = true;
    for kind in Kind::ALL {
        for percent in [0, 1, 5, 20] {
            all_kept &= measure(&base, percent, kind)?;
        }
    }
    Ok(all_kept)
}

fn measure(base: &[Batch], percent: u32, kind: Kind) -> Result<bool> {
    let layers = changed(BASE_ROWS, percent, kind)?;
    let start = Instant::now();
    let plan = MergePlan::new(layers.view())?;
    let plan_ms = start.elapsed().as_secs_f64() * 1000.0;
    let mut times = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        times[0].push(time(|| clean(base))?);
        times[1].push(time(|| unordered(base, &plan))?);
        times[2].push(time(|| ordered(base, &plan))?);
    }
    let ratio = |variant: usize| {
        let ratios = times[0].iter().zip(&times[variant]).map(|(clean, time)| time / clean);
        median(ratios.collect())
    };
    let (unordered, ordered) = (ratio(1), ratio(2));
    let entries = layers.write.tree().len();
    println!(
        "| {kind:?} | {percent} % | {plan_ms:.1} | {unordered:.2} | {ordered:.2} | {entries} |"
    );
    Ok(percent > 5 || unordered <= RATIO_MAX)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn time(run: impl FnOnce() -> Result<u64>) -> Result<f64> {
    let start = Instant::now();
    std::hint::black_box(run()?);
    Ok(start.elapsed().as_secs_f64())
}

fn clean(base: &[Batch]) -> Result<u64> {
    base.iter().try_fold(0, |sum: u64, it| Ok(sum.wrapping_add(consume(it)?)))
}

/// Base rows that exist, as codes of the base's values; then the inserts.
fn unordered(base: &[Batch], plan: &MergePlan) -> Result<u64> {
    let columns: Vec<usize> = (0..COLUMNS).collect();
    let mut sum = 0u64;
    for (start, batch) in (0..).step_by(BATCH_ROWS as usize).zip(base) {
        let range = plan.range(start..start + BATCH_ROWS);
        let mut merged = batch.clone();
        if !range.is_clean() {
            let patched = (0..)
                .zip(batch.columns())
                .map(|(column, it)| range.patch(column, it.clone(), None));
            merged = Batch::new(patched.collect::<Result<_>>()?, batch.rows());
            if let Some(live) = range.live() {
                merged = merged.select(&live);
            }
        }
        sum = sum.wrapping_add(consume(&merged)?);
    }
    for batch in plan.inserted(&columns) {
        sum = sum.wrapping_add(consume(&batch)?);
    }
    Ok(sum)
}

fn ordered(base: &[Batch], plan: &MergePlan) -> Result<u64> {
    let columns: Vec<usize> = (0..COLUMNS).collect();
    let mut sum = 0u64;
    for (start, batch) in (0..).step_by(BATCH_ROWS as usize).zip(base) {
        let range = plan.range(start..start + BATCH_ROWS);
        if range.is_clean() {
            sum = sum.wrapping_add(consume(batch)?);
            continue;
        }
        let live = range.live().map(|it| it.to_indices());
        let patched =
            (0..).zip(batch.columns()).map(|(column, it)| range.patch(column, it.clone(), None));
        let mut merged = Batch::new(patched.collect::<Result<_>>()?, batch.rows());
        if let Some(live) = &live {
            merged = merged.wrap(&live.clone().into());
        }
        for batch in range.interleave(merged, live.as_deref(), &columns, BATCH_ROWS as usize)? {
            sum = sum.wrapping_add(consume(&batch)?);
        }
    }
    Ok(sum)
}

/// Reads every value.
fn consume(batch: &Batch) -> Result<u64> {
    batch.columns().iter().try_fold(0, |sum: u64, it| Ok(sum.wrapping_add(sum_of(it)?)))
}

fn sum_of(column: &Vector) -> Result<u64> {
    let decoded = Decoded::new(column)?;
    let rows = 0..decoded.len();
    Ok(match column.data_type().physical() {
        PhysicalType::I64 => {
            let values = decoded.native::<i64>();
            rows.map(|row| values[decoded.index(row)] as u64).fold(0, u64::wrapping_add)
        }
        PhysicalType::I32 => {
            let values = decoded.native::<i32>();
            rows.map(|row| values[decoded.index(row)] as u64).fold(0, u64::wrapping_add)
        }
        _ => rows.map(|row| hash(decoded.bytes(row))).fold(0, u64::wrapping_add),
    })
}

/// Some work on each text, as a hash or comparison has.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_01b3))
}
