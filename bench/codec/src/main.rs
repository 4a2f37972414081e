//! How many cycles storage codecs take for a value, and how that compares with a copy of what they
//! make: `cargo run --release -p volley-bench-codec`, or with `-- pfor alp` for codecs whose name
//! has one of these words.
//!
//! A column of 8 vectors is read again and again, so that its bytes and the output stay within the
//! L2 cache. Cycles are nanoseconds of the best round times the core's frequency, which is measured
//! in every round, too, right before the codec and the copy.

mod columns;
mod frequency;

use columns::{Case, cases};
use std::{hint::black_box, time::Instant};
use volley_codec::{ColumnReader, Options, encode};
use volley_error::Result;
use volley_vector::{Buffer, Vector};

/// Rounds, of which the best one counts: others share the machine.
const ROUNDS: usize = 40;

/// Reads in a round.
const READS: usize = 100;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    println!("| codec | bytes/value | cycles/value | copy, cycles/value | ratio | GB/s |");
    println!("|---|---|---|---|---|---|");
    for case in cases() {
        if words.is_empty() || words.iter().any(|it| case.name.contains(it.as_str())) {
            measure(&case)?;
        }
    }
    Ok(())
}

fn measure(case: &Case) -> Result<()> {
    let options = Options { codec: Some(case.codec), ..Options::default() };
    let bytes = encode(&case.column, options)?;
    let mut reader = ColumnReader::open(Buffer::from(&bytes[..]), case.column.data_type())?;
    let rows = case.column.len();
    let output = vec![1u8; case.output_bytes];
    let mut copy = vec![0u8; case.output_bytes];
    let (mut read_nanos, mut copy_nanos, mut gigahertz) = (f64::MAX, f64::MAX, 0f64);
    for _ in 0..ROUNDS {
        gigahertz = gigahertz.max(frequency::gigahertz());
        read_nanos = read_nanos.min(nanos(|| read(&mut reader, rows))?);
        copy_nanos = copy_nanos.min(nanos(|| {
            copy.copy_from_slice(black_box(&output));
            black_box(&copy);
            Ok(())
        })?);
    }
    println!(
        "| {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.1} |",
        case.name,
        bytes.len() as f64 / rows as f64,
        read_nanos * gigahertz / rows as f64,
        copy_nanos * gigahertz / rows as f64,
        copy_nanos / read_nanos,
        case.output_bytes as f64 / read_nanos,
    );
    Ok(())
}

fn read(reader: &mut ColumnReader, rows: usize) -> Result<()> {
    let vector: Vector = reader.read(0..rows as u32, None)?;
    black_box(&vector);
    Ok(())
}

/// Nanoseconds of a run on average.
fn nanos(mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    let started = Instant::now();
    for _ in 0..READS {
        run()?;
    }
    Ok(started.elapsed().as_nanos() as f64 / READS as f64)
}
