//! The command line.

use crate::{
    format::Format,
    platform::{Joined, PlatformName},
};
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// A fast SQL shell over Parquet, CSV and JSON files, and over databases on disk.
#[derive(Debug, Parser)]
#[command(name = "volley", bin_name = "volley", version, about)]
pub struct Args {
    /// A data file or a folder of them, which become tables of their names, or the folder of a
    /// database, which is made if there is none and becomes the default; names of subcommands win,
    /// ./tpch is a folder
    #[arg(value_name = "PATH")]
    pub path: Option<PathBuf>,

    /// Opens the database to read it, while another process may write it
    #[arg(long, requires = "path")]
    pub read_only: bool,

    /// Runs these statements and exits
    #[arg(short = 'c', value_name = "SQL")]
    pub sql: Vec<String>,

    /// Runs the statements in this file and exits
    #[arg(short = 'f', value_name = "FILE")]
    pub file: Vec<PathBuf>,

    /// Makes a table of every Parquet, CSV or JSON file in DIR, and of every folder of such files
    #[arg(long, value_name = "DIR")]
    pub data: Vec<PathBuf>,

    /// Output format of rows [default: table, with --agent: agent]
    #[arg(long, value_enum)]
    pub format: Option<Format>,

    /// The maximum number of rows that are printed on a terminal or with --agent; 0 for all
    /// [default: 100, with --agent: 200]
    #[arg(long, value_name = "ROWS")]
    pub max_rows: Option<usize>,

    /// The maximum number of bytes of a result that are printed with --agent; 0 for all
    #[arg(long, value_name = "BYTES", default_value_t = 65_536)]
    pub max_bytes: usize,

    /// Prints the time of every statement
    #[arg(long)]
    pub timer: bool,

    /// Continues with the next statement after one that failed
    #[arg(long, conflicts_with = "bail")]
    pub keep_going: bool,

    /// Stops at the first statement that fails, also at the prompt, and exits with status 1
    #[arg(long)]
    pub bail: bool,

    /// Prints every statement before it runs
    #[arg(long)]
    pub echo: bool,

    /// Gives the parameter $NAME a value in all statements: a number, true, false, null or a text
    #[arg(long, value_name = "NAME=VALUE")]
    pub var: Vec<String>,

    /// Forbids files, the network and changes of settings, once PATH and --data are open
    #[arg(long)]
    pub safe: bool,

    /// For programs: compact typed rows, errors as JSON, limits for rows and bytes
    #[arg(long)]
    pub agent: bool,

    /// Commands and statements that the prompt begins with [default: ~/.volleyrc]
    #[arg(long, value_name = "FILE")]
    pub startup: Option<PathBuf>,

    #[command(flatten)]
    pub session: SessionArgs,

    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Options of the session.
#[derive(Clone, Debug, clap::Args)]
pub struct SessionArgs {
    /// Threads that run queries [default: all cores]
    #[arg(long, value_name = "N", global = true)]
    pub threads: Option<String>,

    /// The maximum memory that queries hold, such as 4GB [default: 80 % of the machine's, or of the
    /// process's (control group, ulimit) where that is less]
    #[arg(long, value_name = "SIZE", global = true)]
    pub memory_limit: Option<String>,

    /// Changes a setting, such as batch_rows=1024; SHOW ALL lists them
    #[arg(long, value_name = "NAME=VALUE", global = true)]
    pub set: Vec<String>,

    /// Shows no progress of what takes longer than half a second
    #[arg(long, global = true)]
    pub no_progress: bool,

    /// Runs queries in several processes; start them with mpirun -n 4 volley --platform mpi ...
    #[arg(long, value_enum, value_name = "NAME", global = true)]
    pub platform: Option<PlatformName>,

    /// The processes of the platform, once this one has joined them.
    #[arg(skip)]
    pub joined: Option<Joined>,

    /// How many processes of the platform share this machine; 0 without a platform.
    #[arg(skip)]
    pub processes_of_machine: usize,
}

/// The subcommands of `volley`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Runs the TPC-H queries; generates the data on first use
    Tpch(TpchArgs),
    /// Verifies every checksum of a database
    Check(CheckArgs),
    /// Saves what can be read of a damaged database
    Salvage(SalvageArgs),
    /// Runs a worker for Presto
    #[cfg(feature = "presto")]
    PrestoWorker(PrestoWorkerArgs),
}

/// `volley presto-worker`.
#[cfg(feature = "presto")]
#[derive(Debug, clap::Args)]
pub struct PrestoWorkerArgs {
    /// The folder with config.properties, node.properties and catalog/*.properties
    #[arg(long, value_name = "DIR")]
    pub etc: PathBuf,
}

/// `volley check`.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// The folder of the database
    #[arg(value_name = "DIR")]
    pub database: PathBuf,
}

/// `volley salvage`.
#[derive(Debug, clap::Args)]
pub struct SalvageArgs {
    /// The folder of the damaged database, which is not changed
    #[arg(value_name = "DIR")]
    pub database: PathBuf,
    /// The folder of the new database
    #[arg(long, value_name = "DIR2")]
    pub out: PathBuf,
}

/// `volley tpch`.
#[derive(Debug, clap::Args)]
pub struct TpchArgs {
    /// The scale factor: 1 is about 1 GB as text, 0.3 GB as Parquet
    #[arg(long, default_value = "1", value_parser = scale, allow_negative_numbers = true)]
    pub scale: f64,

    #[command(subcommand)]
    pub command: Option<TpchCommand>,
}

/// The subcommands of `volley tpch`.
#[derive(Debug, Subcommand)]
pub enum TpchCommand {
    /// Writes the tables as Parquet files
    Generate {
        /// The scale factor
        #[arg(long, value_parser = scale, allow_negative_numbers = true)]
        scale: f64,
        /// The output folder
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Makes the tables in a database
    Load {
        /// The scale factor
        #[arg(long, value_parser = scale, allow_negative_numbers = true)]
        scale: f64,
        /// The folder of the database, which is made if it does not exist
        #[arg(long, value_name = "DIR")]
        database: PathBuf,
    },
    /// Runs the queries on existing tables
    Run(RunArgs),
}

/// `volley tpch run`.
#[derive(Clone, Debug, clap::Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub tables: TablesArgs,
    /// Runs this query only; may be repeated
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=22))]
    pub query: Vec<u8>,
    /// Number of runs of every query
    #[arg(long, value_name = "R", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
    /// Writes the measurements to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Where the tables of `volley tpch run` are.
#[derive(Clone, Debug, clap::Args)]
#[group(required = true, multiple = false)]
pub struct TablesArgs {
    /// The folder of the files
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The folder of the database, which is opened to be read
    #[arg(long, value_name = "DIR")]
    pub database: Option<PathBuf>,
}

/// A scale factor for which data can be generated.
fn scale(text: &str) -> Result<f64, String> {
    let scale = text.parse::<f64>().map_err(|_| "not a number".to_owned())?;
    volley_tpch::check_scale(scale).map_err(|e| e.to_string())?;
    Ok(scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn scales_that_no_data_can_have_are_refused() {
        assert_eq!(scale("0.01"), Ok(0.01));
        for text in ["0", "-1", "nan", "inf", "1e30", "one", ""] {
            assert!(scale(text).is_err(), "{text}");
        }
    }
}
