//! Every target runs the seeds and findings of fuzzing without a panic, and the corpus with random
//! changes: `VOLLEY_FUZZ_SEEDS=1000..9000` makes others, and `VOLLEY_FUZZ_TARGET=plan` for one
//! target alone.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{env, fs, ops::Range, path::Path};
use volley_fuzz_targets::{TARGETS, read_plan};
use volley_vector::random::Generator;

/// The files in the folder of a target below `folder`.
fn files(folder: &str, target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder).join(target);
    let mut paths: Vec<_> =
        fs::read_dir(folder).into_iter().flatten().map(|it| it.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|it| fs::read(it).unwrap()).collect()
}

/// Runs all files of `folder`; how many files there were.
fn run(folder: &str) -> usize {
    let mut count = 0;
    for (name, target) in TARGETS {
        for (number, bytes) in files(folder, name).iter().enumerate() {
            println!("{folder}/{name}, file {number}: {} bytes", bytes.len());
            target(bytes);
            count += 1;
        }
    }
    count
}

/// A few random changes: bits, numbers, pieces moved, left out, or taken from another file.
fn change(random: &mut Generator, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..1 + random.below(4) {
        if bytes.is_empty() {
            return;
        }
        let start = random.below(bytes.len());
        let end = (start + random.below(20)).min(bytes.len());
        match random.below(6) {
            0 => bytes[start] ^= 1 << random.below(8),
            1 => bytes[start] = *random.choose(&[0, 1, 0x7f, 0x80, 0xff, b'(', b'"', b'9']),
            2 => drop(bytes.drain(start..end)),
            3 => {
                let piece = bytes[start..end].to_vec();
                let place = random.below(bytes.len());
                bytes.splice(place..place, piece);
            }
            4 => bytes.truncate(start),
            _ if other.is_empty() => {}
            _ => {
                let first = random.below(other.len());
                let last = (first + random.below(40)).min(other.len());
                bytes.splice(start..end, other[first..last].iter().copied());
            }
        }
    }
}

fn seeds() -> Range<u64> {
    let Ok(text) = env::var("VOLLEY_FUZZ_SEEDS") else { return 0..300 };
    let (start, end) = text.split_once("..").unwrap();
    start.parse().unwrap()..end.parse().unwrap()
}

#[test]
fn the_corpus_runs_with_random_changes() {
    let wanted = env::var("VOLLEY_FUZZ_TARGET").ok();
    for (name, target) in TARGETS {
        if wanted.as_ref().is_some_and(|it| it != name) {
            continue;
        }
        let files = files("corpus", name);
        for seed in seeds() {
            let mut random = Generator::new(seed);
            let mut bytes = random.choose(&files).clone();
            let other = random.choose(&files);
            change(&mut random, &mut bytes, other);
            println!("{name}, seed {seed}: {} bytes", bytes.len());
            target(&bytes);
        }
    }
}

#[test]
fn the_corpus_runs() {
    assert!(run("corpus") >= 6 * 4);
}

#[test]
fn plans_of_the_corpus_are_plans() {
    let files = files("corpus", "plan");
    assert!(files.len() > 50);
    files.iter().for_each(|it| drop(read_plan(it).unwrap()));
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
