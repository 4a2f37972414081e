//! Measures native tables in one process.
//!
//! ```text
//! cargo run --release -p volley-bench-native -- below-sql FOLDER --rows 10000000 --changes 200000
//! cargo run --release -p volley-bench-native -- upserts FOLDER --connections 64
//! cargo run --release -p volley-bench-native -- lookups FOLDER --rows 100000000
//! ```
//!
//! `FOLDER` gets a database of its own. On tmpfs a sync costs nothing, and the figures are those of
//! the code. `bench/native/tables.py` runs `upserts` and `lookups` with DuckDB as the peer; their
//! last line is JSON.

mod below_sql;
mod statements;

use clap::{Parser, Subcommand};
use std::{path::PathBuf, process::ExitCode};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Loads rows, inserts, updates and look-ups by key through the traits of the connector
    BelowSql {
        /// The folder of the database
        folder: PathBuf,
        /// Rows of the table
        #[arg(long, default_value_t = 10_000_000)]
        rows: i64,
        /// Keys that are inserted, updated and looked up
        #[arg(long, default_value_t = 200_000)]
        changes: i64,
    },
    /// One-row upserts by key: prepared statements of several connections
    Upserts {
        /// The folder of the database
        folder: PathBuf,
        /// Rows of the table
        #[arg(long, default_value_t = 10_000_000)]
        rows: i64,
        /// Upserts of all connections: half of their keys are in the table
        #[arg(long, default_value_t = 1_000_000)]
        changes: i64,
        /// Connections, each with a thread
        #[arg(long, default_value_t = 1)]
        connections: i64,
        /// Threads that run queries
        #[arg(long, default_value_t = 2)]
        threads: u32,
    },
    /// A row by primary key: a prepared SELECT
    Lookups {
        /// The folder of the database
        folder: PathBuf,
        /// Rows of the table
        #[arg(long, default_value_t = 100_000_000)]
        rows: i64,
        /// Rows that are looked up
        #[arg(long, default_value_t = 20_000)]
        lookups: i64,
        /// Threads that run queries
        #[arg(long, default_value_t = 2)]
        threads: u32,
    },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::BelowSql { folder, rows, changes } => below_sql::run(&folder, rows, changes),
        Command::Upserts { folder, rows, changes, connections, threads } => {
            let sizes = statements::Sizes { rows, changes, connections, threads };
            statements::upserts(&folder, sizes)
        }
        Command::Lookups { folder, rows, lookups, threads } => {
            let sizes = statements::Sizes { rows, changes: lookups, connections: 1, threads };
            statements::lookups(&folder, sizes)
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
