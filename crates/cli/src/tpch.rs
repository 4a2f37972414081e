//! `volley tpch`: generates the data, loads it into a database, and runs the queries.

use crate::{
    args::{RunArgs, SessionArgs, TablesArgs, TpchArgs, TpchCommand},
    database,
    error_text::Failure,
    interrupt, session,
};
use indicatif::{ProgressBar, ProgressStyle};
use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
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
                generate(args.scale, &data)?;
            }
            let tables = TablesArgs { data: Some(data), database: None };
            let run = RunArgs { tables, query: Vec::new(), runs: 1, json: None };
            run_queries(&run, session_args)
        }
        Some(TpchCommand::Generate { scale, out }) => generate(*scale, out),
        Some(TpchCommand::Load { scale, database }) => load::load(*scale, database, session_args),
        Some(TpchCommand::Run(run)) => run_queries(run, session_args),
    }
}

fn generate(scale: f64, out: &Path) -> Result<(), Failure> {
    let bar = progress_bar(volley_tpch::estimated_rows(scale), "{human_pos} of {human_len} rows");
    interrupt::note_interrupts();
    let done = volley_tpch::generate(scale, out, &|rows| {
        bar.inc(rows);
        if !interrupt::is_interrupted() {
            return Ok(());
        }
        let message = "interrupted; tables that are not finished are removed";
        Err(Error::new(ErrorKind::Cancelled, message).hint("the next run writes what is missing"))
    });
    bar.finish_and_clear();
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
    let bar =
        progress_bar(u64::from(args.runs) * queries.len() as u64, "{pos} of {len} runs {msg}");
    let mut figures = Vec::with_capacity(queries.len());
    for query in queries {
        bar.set_message(format!("(query {query})"));
        let measured = run::measure(&session, query, args.runs, &|| bar.inc(1));
        figures.push(measured.inspect_err(|_| bar.finish_and_clear())?);
    }
    bar.finish_and_clear();
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

fn progress_bar(steps: u64, what: &str) -> ProgressBar {
    let bar = ProgressBar::new(steps);
    if let Ok(style) = ProgressStyle::with_template(&format!("{{bar:40}} {what} {{elapsed}}")) {
        bar.set_style(style);
    }
    bar
}
