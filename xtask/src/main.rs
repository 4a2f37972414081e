//! Checks of the repository: `cargo run -p xtask -- tidy`. `cargo test` runs them, too. With
//! `lines` it counts the code of sub-operators and platforms.

use std::{path::Path, process::ExitCode};

mod lines;
mod tidy;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => report(&tidy::check_tree(&root())),
        Some("lines") => {
            print!("{}", lines::report(&root()));
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("usage: cargo run -p xtask -- tidy | lines");
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
