//! Options of the shell that commands change.

use crate::{
    args::Args,
    format::{self, Format, Printing},
};
use std::{
    io::{self, IsTerminal},
    time::Instant,
};
use volley::TypeNames;

/// Rows that are printed on a terminal, unless the command line says otherwise.
const ROWS_MAX: usize = 100;

/// Rows that are printed for a program, unless the command line says otherwise.
const AGENT_ROWS_MAX: usize = 200;

/// How the shell prints and behaves.
#[derive(Clone, Debug)]
pub struct Options {
    /// The form of results.
    pub format: Format,
    /// The table of `.mode insert`.
    pub insert_table: String,
    /// The maximum number of rows that are printed; 0 for all.
    pub rows_max: usize,
    /// The maximum number of bytes that are printed for programs; 0 for all.
    pub bytes_max: usize,
    /// The width of tables in characters; 0 for that of the terminal.
    pub width: usize,
    /// What NULL looks like in tables.
    pub null: String,
    /// Whether numbers in tables have thousands separators.
    pub has_thousands: bool,
    /// Whether tables show the types of columns.
    pub shows_types: bool,
    /// Whether the time of every statement is printed.
    pub shows_time: bool,
    /// Whether long statements show their progress.
    pub shows_progress: bool,
    /// Whether statements are printed before they run.
    pub echoes: bool,
    /// Whether a failure keeps the next statements from running.
    pub bails: bool,
    /// What shows results that are longer than the terminal.
    pub pager: Pager,
}

/// What shows long results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pager {
    /// The terminal.
    Off,
    /// The program of the environment (`VOLLEY_PAGER`, `PAGER`), or `less`.
    Default,
    /// This program, with its arguments.
    Program(String),
}

impl Options {
    /// Those of the command line.
    pub fn of(args: &Args) -> Options {
        let is_agent = args.agent;
        let rows_max = if is_agent { AGENT_ROWS_MAX } else { ROWS_MAX };
        Options {
            format: args.format.unwrap_or(if is_agent { Format::Agent } else { Format::Table }),
            insert_table: "table_name".to_owned(),
            rows_max: args.max_rows.unwrap_or(rows_max),
            bytes_max: args.max_bytes,
            width: 0,
            null: "NULL".to_owned(),
            has_thousands: false,
            shows_types: true,
            shows_time: args.timer,
            shows_progress: !args.session.no_progress && !is_agent,
            echoes: args.echo,
            bails: !args.keep_going,
            pager: Pager::Default,
        }
    }

    /// How rows are printed to an output, of a statement that began at `start`.
    pub fn printing(&self, output: OutputKind, start: Option<Instant>) -> Printing {
        let on_terminal = output == OutputKind::Terminal;
        // A file or a program gets everything; an agent has limits of its own.
        let is_limited = on_terminal || self.format == Format::Agent;
        let unlimited = |max: usize| if max == 0 { usize::MAX } else { max };
        let width = match self.width {
            0 if on_terminal => format::terminal_width(),
            0 => None,
            width => Some(u16::try_from(width).unwrap_or(u16::MAX)),
        };
        Printing {
            format: self.format,
            insert_table: self.insert_table.clone(),
            rows_max: if is_limited { unlimited(self.rows_max) } else { usize::MAX },
            bytes_max: unlimited(self.bytes_max),
            width,
            null: self.null.clone(),
            has_thousands: self.has_thousands,
            shows_types: self.shows_types,
            type_names: TypeNames::default(),
            start: start.filter(|_| on_terminal),
        }
    }
}

/// What takes the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// A person reads it now.
    Terminal,
    /// A file or a pipe.
    Other,
}

impl OutputKind {
    /// That of standard output.
    pub fn of_stdout() -> OutputKind {
        if io::stdout().is_terminal() { OutputKind::Terminal } else { OutputKind::Other }
    }
}
