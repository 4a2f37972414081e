//! `volley tpch`: generates the data, loads it into a database, and runs the queries.

use crate::{
    args::{RunArgs, SessionArgs, TablesArgs, TpchArgs, TpchCommand},
    database,
    error_text::Failure,
    interrupt,
    progress_line::{ProgressLine, share_text},
    session,
};
use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use volley::{Error, ErrorKind, connector::WriteAccess};

mod checksum;
mod load;
mod report;
mod run;

/// `volley tpch`, with or without a subcommand.
pub fn main(args: &TpchArgs, session_args: &SessionArgs) -> Result<(), Failure> {
    match &args.command {
        None => {
            let data = PathBuf::from(format!("data/tpch-sf{}", args.scale));
            if !volley_tpch::is_complete(&data) {
                eprintln!("making TPC-H data of scale {} in {}", args.scale, data.display());
                generate(args.scale, &data, session_args)?;
            }
            let tables = TablesArgs { data: Some(data), database: None };
            let run = RunArgs { tables, query: Vec::new(), runs: 1, json: None };
            run_queries(&run, session_args)
        }
        Some(TpchCommand::Generate { scale, out }) => generate(*scale, out, session_args),
        Some(TpchCommand::Load { scale, database }) => load::load(*scale, database, session_args),
        Some(TpchCommand::Run(run)) => run_queries(run, session_args),
    }
}

fn generate(scale: f64, out: &Path, session_args: &SessionArgs) -> Result<(), Failure> {
    let bar = Steps::new(volley_tpch::estimated_rows(scale), "rows");
    let line = bar.line(session_args);
    interrupt::note_interrupts();
    let done = volley_tpch::generate(scale, out, &|rows| {
        bar.add(rows);
        if !interrupt::is_interrupted() {
            return Ok(());
        }
        let message = "interrupted; tables that are not finished are removed";
        Err(Error::new(ErrorKind::Cancelled, message).hint("the next run writes what is missing"))
    });
    drop(line);
    done.map_err(|e| Failure::of_error(&e))
}

fn run_queries(args: &RunArgs, session_args: &SessionArgs) -> Result<(), Failure> {
    let session = Arc::new(session::open(session_args)?);
    interrupt::cancel_on_interrupt(&session);
    if let Some(folder) = &args.tables.database {
        check_exists(folder, "make it with volley tpch load")?;
        database::open(&session, folder, WriteAccess::ReadOnly)?;
    }
    if let Some(data) = &args.tables.data {
        check_exists(data, "make it with volley tpch generate")?;
        if let Some(problem) = session::register_data(&session, data)?.into_iter().next() {
            return Err(problem);
        }
    }
    let queries: Vec<u8> =
        if args.query.is_empty() { (1..=22).collect() } else { args.query.clone() };
    let bar = Steps::new(u64::from(args.runs) * queries.len() as u64, "runs");
    let line = bar.line(session_args);
    let mut figures = Vec::with_capacity(queries.len());
    for query in queries {
        figures.push(run::measure(&session, query, args.runs, &|| bar.add(1))?);
    }
    drop(line);
    report::write_table(&figures, &mut io::stdout()).map_err(Failure::of_output)?;
    if let Some(path) = &args.json {
        let written = std::fs::write(path, report::json(&figures));
        written.map_err(|e| Failure::of_error(&Error::io(path.display(), e)))?;
    }
    Ok(())
}

fn check_exists(folder: &Path, hint: &'static str) -> Result<(), Failure> {
    if folder.is_dir() {
        return Ok(());
    }
    let error = Error::io(folder.display(), io::ErrorKind::NotFound.into());
    Err(Failure::of_error(&error.hint(hint)))
}

/// How many steps of a known number are done.
struct Steps {
    done: Arc<AtomicU64>,
    all: u64,
    what: &'static str,
}

impl Steps {
    fn new(all: u64, what: &'static str) -> Steps {
        Steps { done: Arc::default(), all, what }
    }

    fn add(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }

    /// A line on the terminal that shows them until it is dropped.
    fn line(&self, session_args: &SessionArgs) -> Option<ProgressLine> {
        if session_args.no_progress {
            return None;
        }
        let (done, all, what) = (Arc::clone(&self.done), self.all, self.what);
        ProgressLine::start(Box::new(move || {
            let done = done.load(Ordering::Relaxed);
            let share = share_text(done as f64 / all.max(1) as f64);
            Some(format!("{share}  {done} of {all} {what}"))
        }))
    }
}
