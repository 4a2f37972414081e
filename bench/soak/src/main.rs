//! Runs random queries concurrently in one process, with a memory limit and random cancels. Checks
//! for wrong answers, stuck queries, and leaked memory or files.
//!
//! ```text
//! cargo run --release -p volley-bench-soak                          30 minutes, 16 clients, 2 GB
//! cargo run --release -p volley-bench-soak -- --minutes 1 --clients 4 --memory-limit 300MB
//! ```
//!
//! First each statement runs alone and without a limit, which gives the expected answer. A line per
//! interval reports the work since the last line and the memory of the process. A query without
//! enough memory counts as refused, which is allowed. Any other failure ends the program with
//! status 1.

mod clients;
mod report;
mod statements;

use crate::{
    clients::{Clients, answer_of},
    report::Report,
    statements::Statement,
};
use clap::Parser;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};
use volley::{Error, Result, Session};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs many queries at once for long.
#[derive(Debug, Parser)]
#[command(about)]
struct Args {
    /// How long
    #[arg(long, default_value_t = 30.0)]
    minutes: f64,

    /// Queries at the same time
    #[arg(long, default_value_t = 16)]
    clients: usize,

    /// The maximum memory that all queries together hold
    #[arg(long, default_value = "2GB")]
    memory_limit: String,

    /// Threads of the engine [default: all cores]
    #[arg(long)]
    threads: Option<usize>,

    /// The scale factor of TPC-H
    #[arg(long, default_value_t = 1.0)]
    scale: f64,

    /// Where TPC-H's Parquet files are [default: data/tpch-sfSCALE]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// The share of queries that are cancelled at some time
    #[arg(long, default_value_t = 0.3)]
    cancelled: f64,

    /// A query that takes longer is stuck
    #[arg(long, default_value_t = 300)]
    stuck_seconds: u64,

    /// Seconds between two lines
    #[arg(long, default_value_t = 60)]
    interval: u64,

    /// The same seed makes the same statements
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all went well.
fn run(args: &Args) -> Result<bool> {
    let spill = tempfile::tempdir().map_err(|it| Error::io(std::env::temp_dir().display(), it))?;
    let session = session(args, spill.path())?;
    // What the tables keep of their footers.
    let kept = session.pool().stats().bytes;
    let statements = statements::make(&session, args.seed)?;
    println!("{} statements answered alone", statements.len());
    session.set("memory_limit", &args.memory_limit)?;
    let report = soak(args, &session, &statements)?;
    session.wait_released();
    let left = session.pool().stats().bytes.saturating_sub(kept);
    let peak = session.pool().stats().peak_bytes >> 20;
    drop(session);
    let files = std::fs::read_dir(spill.path()).map_or(0, Iterator::count);
    println!("left: {left} bytes, {files} files; {peak} MiB charged at most");
    Ok(report.is_good() && left == 0 && files == 0)
}

fn session(args: &Args, spill: &Path) -> Result<Session> {
    let default = || PathBuf::from(format!("data/tpch-sf{}", args.scale));
    let folder = args.data.clone().unwrap_or_else(default);
    if !volley_tpch::is_complete(&folder) {
        println!("making TPC-H data of scale {} in {}", args.scale, folder.display());
        volley_tpch::generate(args.scale, &folder, &|_| Ok(()))?;
    }
    let session = Session::new()?;
    if let Some(threads) = args.threads {
        session.set("threads", &threads.to_string())?;
    }
    session.set("spill_directory", &spill.to_string_lossy())?;
    for (table, _) in volley_tpch::TABLES {
        let path = folder.join(format!("{table}.parquet"));
        session.register_files(table, &path.to_string_lossy())?;
    }
    Ok(session)
}

/// Lets the clients work and reports on them.
fn soak(args: &Args, session: &Session, statements: &[Statement]) -> Result<Report> {
    let clients = Clients::new(args.clients, args.cancelled);
    let mut report = Report::new(args.stuck_seconds);
    let end = Instant::now() + Duration::from_secs_f64(args.minutes * 60.0);
    std::thread::scope(|scope| {
        for client in 0..args.clients {
            let seed = args.seed.wrapping_mul(1000).wrapping_add(client as u64);
            let clients = &clients;
            scope.spawn(move || clients.work(client, session, statements, seed));
        }
        while Instant::now() < end && !clients.has_failed() {
            let rest = end.saturating_duration_since(Instant::now());
            clients.wait(rest.min(Duration::from_secs(args.interval)));
            report.line(&clients);
        }
        clients.stop();
        // What runs now is cancelled again and again, as it may only just be about to start.
        while clients.working() > 0 && !report.is_stuck(&clients) {
            session.cancel();
            std::thread::sleep(Duration::from_millis(10));
        }
        if report.is_stuck(&clients) {
            // The threads of the scope would be waited for without end.
            report.line(&clients);
            std::process::exit(1);
        }
    });
    report.line(&clients);
    report.end(&clients);
    Ok(report)
}
