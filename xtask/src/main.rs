//! Checks of the repository: `cargo run -p xtask -- tidy`. `cargo test` runs them, too.

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

/// The project's folder: that of the workspace in which cargo runs this, or else the current one.
fn root() -> std::path::PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| ".".into(), |it| Path::new(&it).join(".."))
}
