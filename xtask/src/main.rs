//! Checks of the house: `cargo run -p xtask -- tidy`. `cargo test` runs them, too.

use std::{path::Path, process::ExitCode};

mod tidy;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => report(&tidy::check_tree(&root())),
        _ => {
            eprintln!("usage: cargo run -p xtask -- tidy");
            ExitCode::from(2)
        }
    }
}

fn report(findings: &[String]) -> ExitCode {
    findings.iter().for_each(|it| println!("{it}"));
    println!("{} findings", findings.len());
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
