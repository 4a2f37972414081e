//! What fuzzing started from and what it found once goes through every target without a panic.

use std::{fs, path::Path};
use volley_fuzz_targets::TARGETS;

/// Runs the files of `folder`, one folder per target; how many files there were.
fn run(folder: &str) -> usize {
    let mut files = 0;
    for (name, target) in TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder).join(name);
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let bytes = fs::read(entry.path()).unwrap_or_default();
            println!("{}: {} bytes", entry.path().display(), bytes.len());
            target(&bytes);
            files += 1;
        }
    }
    files
}

#[test]
fn the_corpus_runs() {
    assert!(run("corpus") >= 6 * 4);
}

#[test]
fn past_crashes_run() {
    run("crashes");
}

#[test]
fn nothing_at_all_runs() {
    for (_, target) in TARGETS {
        target(b"");
        target(b"\0");
    }
}
