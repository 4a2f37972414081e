//! Measures kernels and expressions against hand-written loops and against each other.
//!
//! ```text
//! cargo run --release -p volley-bench-micro                 everything
//! cargo run --release -p volley-bench-micro -- ascii api    some chapters
//! ```
//!
//! Every table compares variants of the same work in the same run, interleaved, by the median of
//! many rounds. A limit is the largest allowed ratio to the first variant; the program fails when
//! one is missed.

mod api;
mod ascii;
mod dictionary;
mod filters;
mod ladder;
mod measure;
mod setup;

use std::process::ExitCode;
use volley_error::Result;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A chapter's name and what measures it, answering whether all limits were kept.
const CHAPTERS: [(&str, fn() -> Result<bool>); 5] = [
    ("ladder", ladder::run),
    ("api", api::run),
    ("ascii", ascii::run),
    ("dictionary", dictionary::run),
    ("filters", filters::run),
];

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let known = |name: &String| CHAPTERS.iter().any(|(chapter, _)| chapter == name);
    if let Some(unknown) = wanted.iter().find(|it| !known(it)) {
        let names = CHAPTERS.map(|(name, _)| name).join(", ");
        eprintln!("no chapter {unknown}; there are {names}");
        return ExitCode::FAILURE;
    }
    let mut all_kept = true;
    for (name, run) in CHAPTERS {
        if !wanted.is_empty() && !wanted.iter().any(|it| it == name) {
            continue;
        }
        println!("\n## {name}");
        match run() {
            Ok(kept) => all_kept &= kept,
            Err(error) => {
                eprintln!("{name}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    if all_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
