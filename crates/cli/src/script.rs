//! Running statements: from the command line, files, standard input or a prompt.

use crate::{
    args::Args,
    error_text::Failure,
    format::{self, Printing},
    interactive, interrupt, session,
};
use std::{
    fs,
    io::{self, IsTerminal, Read, Write},
    sync::Arc,
    time::Instant,
};
use volley::{Error, Outcome, Session};

/// `volley` without a subcommand.
pub fn main(args: &Args) -> Result<(), Failure> {
    let session = Arc::new(session::open(&args.session)?);
    interrupt::cancel_on_interrupt(&session);
    for dir in &args.data {
        session::register_data(&session, dir)?;
    }
    let on_terminal = io::stdout().is_terminal();
    let printing = Printing {
        format: args.format,
        rows_max: if on_terminal && args.max_rows > 0 { args.max_rows } else { usize::MAX },
        width: if on_terminal { format::terminal_width() } else { None },
    };
    let runner = Runner { session, printing, timer: args.timer };
    if args.sql.is_empty() && args.file.is_empty() {
        if io::stdin().is_terminal() {
            return interactive::run(runner);
        }
        return runner.run(&read_stdin()?);
    }
    for sql in &args.sql {
        runner.run(sql)?;
    }
    for file in &args.file {
        let text = fs::read_to_string(file)
            .map_err(|e| Failure::of_error(&Error::io(file.display(), e)))?;
        runner.run(&text)?;
    }
    Ok(())
}

fn read_stdin() -> Result<String, Failure> {
    let mut sql = String::new();
    io::stdin()
        .read_to_string(&mut sql)
        .map_err(|e| Failure::of_error(&Error::io("standard input", e)))?;
    Ok(sql)
}

/// Runs statements and prints their rows.
pub struct Runner {
    /// Where they run.
    pub session: Arc<Session>,
    /// How rows are printed.
    pub printing: Printing,
    /// Whether to print the time of every statement.
    pub timer: bool,
}

impl Runner {
    /// Runs the statements of `sql`; the first error stops.
    pub fn run(&self, sql: &str) -> Result<(), Failure> {
        let failed = |e: Error| Failure::of_statement(&e, sql);
        for statement in &volley::parse(sql).map_err(failed)? {
            let start = Instant::now();
            if let Outcome::Rows(rows) = self.session.run(statement).map_err(failed)? {
                let mut out = io::stdout().lock();
                match format::print(rows, self.printing, &mut out) {
                    Ok(()) => {}
                    Err(format::PrintError::Query(error)) => return Err(failed(error)),
                    // Whoever read our output has enough (`volley ... | head`).
                    Err(format::PrintError::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => {
                        return Ok(());
                    }
                    Err(format::PrintError::Output(e)) => {
                        return Err(failed(Error::io("standard output", e)));
                    }
                }
                let _ = out.flush();
            }
            if self.timer {
                eprintln!("time: {:.3} s", start.elapsed().as_secs_f64());
            }
        }
        Ok(())
    }
}
