//! The `volley` command: a SQL shell, and TPC-H.
//!
//! ```text
//! volley -c "SELECT ..." | -f file.sql | < file.sql | (on a terminal) a prompt
//! volley tpch [generate | run]
//! ```
//!
//! Exit status: 0 done, 1 a statement failed, 2 wrong usage.

use args::{Args, Command};
use clap::Parser;
use std::process::ExitCode;

mod args;
mod error_text;
mod format;
mod interactive;
mod interrupt;
mod script;
mod session;
mod tpch;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.command {
        Some(Command::Tpch(tpch)) => tpch::main(tpch, &args.session),
        None => script::main(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.status())
        }
    }
}
