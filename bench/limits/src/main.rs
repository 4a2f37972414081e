//! Compares Volley's operators with hand-written loops that do the same work.
//!
//! ```text
//! cargo run --release -p volley-bench-limits                       all, TPC-H of scale 1
//! cargo run --release -p volley-bench-limits -- joins groups       some chapters
//! cargo run --release -p volley-bench-limits -- --scale 10 queries
//! ```
//!
//! Every line of the table compares an operator, run by the whole engine from its plan to the last
//! row, with a loop over arrays that knows the types, the absence of nulls, and the number of
//! groups or keys. Both use one thread, run alternately in the same process, and must return the
//! same answer. The ratio is the overhead of a general engine. TPC-H data is generated under
//! `data/` on first use.

mod groups;
mod hash_array;
mod joins;
mod measure;
mod queries;
mod repartition;
mod row_partitioner;
mod scans;
mod setup;

use crate::measure::Table;
use clap::Parser;
use std::{path::PathBuf, process::ExitCode};
use volley::{Error, Result};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures operators against hand-written loops.
#[derive(Debug, Parser)]
#[command(about)]
struct Args {
    /// Some chapters only: queries, scans, joins, groups, repartition
    chapters: Vec<String>,

    /// The scale factor of TPC-H
    #[arg(long, default_value_t = 1.0)]
    scale: f64,

    /// Where TPC-H's Parquet files are [default: data/tpch-sfSCALE]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// Rows of the tables of joins and groups; repartition takes a quarter
    #[arg(long, default_value_t = 4_000_000)]
    rows: usize,

    /// Runs of each variant, one variant after the other
    #[arg(long, default_value_t = 7)]
    rounds: usize,
}

/// A chapter's name and what adds its lines.
const CHAPTERS: [(&str, fn(&Args, &mut Table) -> Result<()>); 5] = [
    ("queries", queries::run),
    ("scans", scans::run),
    ("joins", joins::run),
    ("groups", groups::run),
    ("repartition", repartition::run),
];

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<()> {
    let known = |name: &String| CHAPTERS.iter().any(|(chapter, _)| chapter == name);
    if let Some(unknown) = args.chapters.iter().find(|it| !known(it)) {
        let names = CHAPTERS.map(|(name, _)| name).join(", ");
        return Err(Error::invalid_query("no such chapter").at("chapter", unknown).hint(names));
    }
    let mut table = Table::new(args.rounds);
    for (name, measure) in CHAPTERS {
        if args.chapters.is_empty() || args.chapters.iter().any(|it| it == name) {
            measure(args, &mut table)?;
        }
    }
    Ok(())
}
