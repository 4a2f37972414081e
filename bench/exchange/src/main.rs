//! Measures the exchange of rows: partition, encode and decode, on one core.
//!
//! ```text
//! cargo run --release -p volley-bench-exchange                 all
//! cargo run --release -p volley-bench-exchange -- 16           edges of 16 lanes
//! ```
//!
//! Set `MIMALLOC_PURGE_DELAY=10000 MIMALLOC_ALLOW_THP=0`, as the shell does: otherwise clearing
//! memory of the system takes a fifth of the time.
//!
//! `sink=4` buffers 4 MiB for all lanes instead of [`SINK_MIB`].
//!
//! Both ways write the same pages in the same format in the same run, interleaved: the page sink,
//! column at a time, and its twin, row by row with typed column writers and reserved buffers. GB/s
//! are decoded bytes per second of CPU by the median of the rounds. The ratio is the time of the
//! twin over that of the sink, the median over rounds. Limits: the program fails when one is
//! missed.

mod data;

use rustix::time::{ClockId, clock_gettime};
use std::{hint::black_box, process::ExitCode, sync::Arc, time::Duration};
use volley_error::Result;
use volley_exchange::{
    LaneBatch, Page, PageCodec, PageEncoder, PageSink, PageSizes, Partitioning, RowSink,
};
use volley_memory::Pool;
use volley_types::Type;
use volley_vector::Batch;
use volley_wire::{NativeFormat, PageFormat, flat_bytes};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rounds of all variants.
const ROUNDS: usize = 15;

/// Decoded bytes of a page on a fast link.
const PAGE_BYTES: usize = 1 << 20;

/// MiB that a sink buffers for all lanes.
const SINK_MIB: usize = 4;

/// What is exchanged.
struct Case {
    name: &'static str,
    lanes: usize,
    batches: Vec<Batch>,
    sizes: PageSizes,
    /// The least ratio of the twin's time to the sink's.
    ratio_min: Option<f64>,
    /// The least decoded GB/s of the sink's partition and encode.
    rate_min: Option<f64>,
}

/// How long the steps of one way took.
#[derive(Clone, Copy, Default)]
struct Times {
    partition: Duration,
    encode: Duration,
    decode: Duration,
}

fn main() -> ExitCode {
    let lanes: Vec<usize> = std::env::args().skip(1).filter_map(|it| it.parse().ok()).collect();
    let mib = std::env::args().find_map(|it| it.strip_prefix("sink=")?.parse().ok());
    let sizes = PageSizes { page_bytes: PAGE_BYTES, sink_bytes: mib.unwrap_or(SINK_MIB) << 20 };
    let mixed = |lanes| Case {
        name: "9 mixed columns",
        lanes,
        batches: data::mixed(),
        sizes,
        ratio_min: Some(2.5),
        rate_min: None,
    };
    let numbers = Case {
        name: "BIGINT",
        lanes: 16,
        batches: data::numbers(),
        sizes,
        ratio_min: None,
        rate_min: Some(2.0),
    };
    let mut all_kept = true;
    println!("| rows | lanes | format | way | partition | encode | decode | GB/s | ratio | |");
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for case in [mixed(4), mixed(64), mixed(256), numbers] {
        if !lanes.is_empty() && !lanes.contains(&case.lanes) {
            continue;
        }
        for format in [NativeFormat::Plain, NativeFormat::Packed] {
            match measure(&case, format) {
                Ok(kept) => all_kept &= kept || format == NativeFormat::Packed,
                Err(error) => {
                    eprintln!("{}: {error}", case.name);
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    if all_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Measures both ways and prints them. Whether the limits are kept.
fn measure(case: &Case, format: NativeFormat) -> Result<bool> {
    let types: Vec<Type> =
        case.batches[0].columns().iter().map(|it| it.data_type().clone()).collect();
    let codec = PageCodec { format: Arc::new(format), types: types.into() };
    let bytes = case.batches.iter().map(flat_bytes).sum::<Result<usize>>()?;
    let (mut by_column, mut by_row) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        by_column.push(columns(case, &codec)?);
        by_row.push(rows(case, &codec)?);
    }
    let ratios = by_row.iter().zip(&by_column);
    let ratios =
        ratios.map(|(row, column)| row.total().as_secs_f64() / column.total().as_secs_f64());
    let ratio = median(ratios.collect());
    let column = medians(&by_column);
    let sent = bytes as f64 / (column.partition + column.encode).as_secs_f64() / 1e9;
    let kept =
        case.ratio_min.is_none_or(|it| ratio >= it) && case.rate_min.is_none_or(|it| sent >= it);
    let verdict = if kept { "kept" } else { "MISSED" };
    print(case, format, "column", column, bytes, &format!("{ratio:.2} | {verdict}"));
    print(case, format, "row", medians(&by_row), bytes, "1.00 |");
    Ok(kept)
}

fn print(case: &Case, format: NativeFormat, way: &str, times: Times, bytes: usize, end: &str) {
    let rate = |it: Duration| bytes as f64 / it.as_secs_f64() / 1e9;
    println!(
        "| {} | {} | {} | {way} | {:.2} | {:.2} | {:.2} | {:.2} | {end} |",
        case.name,
        case.lanes,
        format.name(),
        rate(times.partition),
        rate(times.encode),
        rate(times.decode),
        rate(times.total()),
    );
}

/// Column at a time.
fn columns(case: &Case, codec: &PageCodec) -> Result<Times> {
    let pool = Pool::root("bench", None);
    let hash = Partitioning::Hash(vec![0]);
    let mut sink = PageSink::new(codec.types.to_vec(), hash, case.lanes, case.sizes, &pool);
    let (mut times, mut encoder) = (Times::default(), PageEncoder::bytes(codec)?);
    for (index, batch) in case.batches.iter().enumerate() {
        let started = cpu_time();
        sink.push(batch.clone())?;
        let is_last = index + 1 == case.batches.len();
        let split = if sink.is_full() || is_last { sink.flush()? } else { Vec::new() };
        times.partition += cpu_time() - started;
        send(&split, codec, &mut encoder, &mut times)?;
    }
    Ok(times)
}

/// Row by row.
fn rows(case: &Case, codec: &PageCodec) -> Result<Times> {
    let hash = Partitioning::Hash(vec![0]);
    let mut sink = RowSink::new(codec.types.to_vec(), hash, case.lanes, case.sizes);
    let (mut times, mut encoder) = (Times::default(), PageEncoder::bytes(codec)?);
    for (index, batch) in case.batches.iter().enumerate() {
        let mut split = Vec::new();
        let started = cpu_time();
        let mut emit = |page| {
            split.push(page);
            Ok(())
        };
        sink.push(batch, &mut emit)?;
        if index + 1 == case.batches.len() {
            sink.finish(&mut emit)?;
        }
        times.partition += cpu_time() - started;
        send(&split, codec, &mut encoder, &mut times)?;
    }
    Ok(times)
}

/// Encodes and decodes pages.
fn send(
    split: &[LaneBatch],
    codec: &PageCodec,
    encoder: &mut PageEncoder,
    times: &mut Times,
) -> Result<()> {
    for rows in split {
        let started = cpu_time();
        let page: Page = encoder.encode(rows)?;
        times.encode += cpu_time() - started;
        let started = cpu_time();
        black_box(page.decode(codec)?);
        times.decode += cpu_time() - started;
    }
    Ok(())
}

/// The CPU time of this thread: other processes on the machine do not count.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

impl Times {
    fn total(&self) -> Duration {
        self.partition + self.encode + self.decode
    }
}

fn medians(times: &[Times]) -> Times {
    let of = |step: fn(&Times) -> Duration| {
        let seconds = times.iter().map(|it| step(it).as_secs_f64()).collect();
        Duration::from_secs_f64(median(seconds))
    };
    Times {
        partition: of(|it| it.partition),
        encode: of(|it| it.encode),
        decode: of(|it| it.decode),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
