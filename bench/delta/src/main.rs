//! Measures positional delta trees.
//!
//! ```text
//! cargo run --release -p volley-bench-delta                   all chapters
//! cargo run --release -p volley-bench-delta -- change scan    some of them
//! ```
//!
//! `change`: one-row transactions per second, each committed, by size of the base and by the part
//! of it that is changed already. `scan`: a scan of all columns that merges changes, against the
//! loop over the unchanged base, interleaved in the same run; fails when a ratio is missed.

mod change;
mod scan;
mod segment;

use std::process::ExitCode;
use volley_error::Result;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A chapter's name and what measures it; whether all limits were kept.
const CHAPTERS: [(&str, fn() -> Result<bool>); 2] = [("change", change::run), ("scan", scan::run)];

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let mut all_kept = true;
    for (name, run) in CHAPTERS {
        if !wanted.is_empty() && !wanted.iter().any(|it| it == name) {
            continue;
        }
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
