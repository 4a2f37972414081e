//! The `volley` command: a SQL shell, TPC-H, and a worker for Presto.
//!
//! ```text
//! volley [PATH] -c "SELECT ..." | -f file.sql | < file.sql | (on a terminal) a prompt
//! volley tpch [generate | load | run]
//! volley check DIR | salvage DIR --out DIR2
//! volley presto-worker --etc DIR (feature presto)
//! mpirun -n 4 volley --platform mpi ... (feature mpi)
//! ```
//!
//! Exit status: 0 done, 1 a statement failed, 2 wrong usage.

use args::{Args, Command};
use clap::Parser;
use error_text::{ErrorStyle, Failure};
use std::process::ExitCode;

mod allocator;
mod args;
mod check;
mod database;
mod error_text;
mod format;
mod interactive;
mod interrupt;
#[cfg(feature = "presto")]
mod presto;
mod commands;
mod open;
mod options;
mod output;
mod pager;
mod platform;
mod progress_line;
mod salvage;
mod script;
mod session;
mod shell;
mod statement_ends;
mod variables;
mod words;
mod tpch;

fn main() -> ExitCode {
    allocator::set_up();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage(&error),
    };
    let style = if args.agent { ErrorStyle::Json } else { ErrorStyle::Text };
    match platform::run(args, run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print(style);
            ExitCode::from(failure.status())
        }
    }
}

/// Runs what the command line names.
fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Some(_) if args.path.is_some() => Err(database::misplaced()),
        Some(Command::Check(check)) => check::main(check, &args.session),
        Some(Command::Salvage(salvage)) => salvage::main(salvage, &args.session),
        Some(Command::Tpch(tpch)) => tpch::main(tpch, &args.session),
        #[cfg(feature = "presto")]
        Some(Command::PrestoWorker(worker)) => presto::main(worker, &args.session),
        None => script::main(args),
    }
}

/// Prints what clap has to say: help or the version on standard output, or what is wrong.
fn usage(error: &clap::Error) -> ExitCode {
    if platform::is_silent() {
        return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
    }
    match error.print() {
        Ok(()) => ExitCode::from(if error.use_stderr() { 2 } else { 0 }),
        Err(output) => {
            let failure = Failure::of_output(output);
            failure.print(ErrorStyle::Text);
            ExitCode::from(failure.status())
        }
    }
}
