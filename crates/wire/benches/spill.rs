//! Measures spilling: batches to bytes, to compressed blocks in a file, and back, on one thread.
//!
//! `cargo bench -p volley-wire` prints MB/s of the flat columns for each step, best of some runs.

use std::{hint::black_box, time::Instant};
use volley_error::Result;
use volley_memory::{
    format_bytes,
    spill::{SpillFile, SpillSpace},
};
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};
use volley_wire::{Encoder, decode, flat_bytes};

const ROWS: usize = 4_000_000;
const BATCH_ROWS: usize = 8192;
const RUNS: usize = 5;

/// Bytes of a block: what the spill files of operators have.
const BLOCK_BYTES: usize = 60 << 10;

fn random_words(random: &mut fastrand::Rng, words: usize) -> String {
    const WORDS: [&str; 10] = [
        "furiously",
        "express",
        "deposits",
        "sleep",
        "quickly",
        "across",
        "the",
        "silent",
        "packages",
        "regular",
    ];
    let words: Vec<&str> = (0..words).map(|_| WORDS[random.usize(..WORDS.len())]).collect();
    words.join(" ")
}

fn column(name: &str, random: &mut fastrand::Rng, start: usize) -> Vector {
    let rows = start..start + BATCH_ROWS;
    let natives =
        |data_type: Type, values: Vec<i64>| Vector::native::<i64>(data_type, values, None);
    match name {
        "bigint, ascending" => natives(Type::BigInt, rows.map(|it| it as i64).collect()),
        "bigint, random" => natives(Type::BigInt, rows.map(|_| random.i64(..)).collect()),
        "decimal" => {
            let values = rows.map(|_| random.i64(90_000..10_500_000)).collect();
            natives(Type::decimal(12, 2), values)
        }
        _ => {
            let texts: Vec<Value> = rows
                .map(|_| match name {
                    "short text" => Value::text(format!("{:06}", random.u32(..1_000_000))),
                    _ => {
                        let words = random.usize(4..10);
                        Value::text(random_words(random, words))
                    }
                })
                .collect();
            Vector::from_values(Type::Varchar, &texts)
        }
    }
}

/// Seconds of the fastest run.
fn best(mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// Cuts batches into blocks, as operators do.
fn encode_all(
    batches: &[Batch],
    encoder: &mut Encoder,
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut block = Vec::new();
    for batch in batches {
        let rows = BATCH_ROWS.div_ceil(flat_bytes(batch)?.div_ceil(BLOCK_BYTES));
        for start in (0..BATCH_ROWS).step_by(rows) {
            block.clear();
            encoder.encode(&batch.slice(start, rows.min(BATCH_ROWS - start)), &mut block)?;
            take(&block)?;
        }
    }
    Ok(())
}

fn measure(name: &str) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(1);
    let batches: Vec<Batch> = (0..ROWS / BATCH_ROWS)
        .map(|it| Batch::new(vec![column(name, &mut random, it * BATCH_ROWS)], BATCH_ROWS))
        .collect();
    let types = [batches[0].column(0).data_type().clone()];
    let flat: usize = batches.iter().map(|it| flat_bytes(it).unwrap_or(0)).sum();
    let rate = |seconds: f64| flat as f64 / 1e6 / seconds;

    let mut encoder = Encoder::new(&types)?;
    let mut blocks = Vec::new();
    encode_all(&batches, &mut encoder, |it| {
        blocks.push(it.to_vec());
        Ok(())
    })?;
    let encode = best(|| {
        encode_all(&batches, &mut encoder, |it| {
            black_box(it.len());
            Ok(())
        })
    })?;
    let decoded =
        best(|| blocks.iter().try_for_each(|it| decode(it, &types).map(|it| drop(black_box(it)))))?;

    let space = SpillSpace::new(std::env::temp_dir(), None);
    let mut file: Option<SpillFile> = None;
    let write = best(|| {
        // Without the time to free the data of the last run.
        let file = file.insert(space.create_file()?);
        encode_all(&batches, &mut encoder, |it| file.append(it).map(drop))
    })?;
    let Some(file) = file else { return Ok(()) };
    let read = best(|| {
        let (mut reader, mut block) = (file.reader(), Vec::new());
        while reader.next(&mut block)? {
            black_box(decode(&block, &types)?);
        }
        Ok(())
    })?;
    println!(
        "{name:18} {:>10}, {:>10} on disk, MB/s: encode {:6.0}, and write {:6.0}, \
         decode {:6.0}, read and decode {:6.0}",
        format_bytes(flat),
        format_bytes(file.bytes() as usize),
        rate(encode),
        rate(write),
        rate(decoded),
        rate(read),
    );
    Ok(())
}

fn main() -> Result<()> {
    let names = ["bigint, ascending", "bigint, random", "decimal", "short text", "long text"];
    names.into_iter().try_for_each(measure)
}
