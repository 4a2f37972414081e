//! Runs statements from the command line, files, standard input or a prompt.

use crate::{
    allocator,
    args::Args,
    database,
    error_text::Failure,
    format::{self, PrintError, Printing},
    interactive, interrupt, session,
    statement_ends::StatementEnds,
};
use std::{
    borrow::Cow,
    cell::Cell,
    fmt::Display,
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, IsTerminal, Write},
    sync::Arc,
    time::Instant,
};
use volley::{
    Error, ErrorKind, Outcome, ParsedStatement, ResultStream, Session, connector::WriteAccess,
};

/// `volley` without a subcommand.
pub fn main(args: &Args) -> Result<(), Failure> {
    let session = Arc::new(session::open(&args.session)?);
    interrupt::cancel_on_interrupt(&session);
    if let Some(folder) = &args.database {
        let access = if args.read_only { WriteAccess::ReadOnly } else { WriteAccess::ReadWrite };
        database::open(&session, folder, access)?;
    }
    for dir in &args.data {
        for problem in session::register_data(&session, dir)? {
            eprint!("warning: {}", problem.text().trim_start_matches("error: "));
        }
    }
    let on_terminal = io::stdout().is_terminal();
    let printing = Printing {
        format: args.format,
        rows_max: if on_terminal && args.max_rows > 0 { args.max_rows } else { usize::MAX },
        width: if on_terminal { format::terminal_width() } else { None },
    };
    let runner = Runner {
        session: Arc::clone(&session),
        printing,
        timer: args.timer,
        confirms: false,
        keeps_going: args.keep_going,
        has_failed: Cell::new(false),
    };
    let ran = run_all(runner, args);
    // An error of a statement tells more than one of the end.
    let closed = session.close().map_err(|e| Failure::of_error(&e));
    ran.and(closed)
}

/// Runs the statements that the command line names.
fn run_all(runner: Runner, args: &Args) -> Result<(), Failure> {
    if args.sql.is_empty() && args.file.is_empty() {
        if io::stdin().is_terminal() {
            return interactive::run(Runner { confirms: true, ..runner });
        }
        run_lines(&runner, io::stdin().lock(), "standard input")?;
        return runner.outcome();
    }
    for sql in &args.sql {
        runner.go_on(runner.run(sql))?;
    }
    for file in &args.file {
        let opened =
            File::open(file).map_err(|e| Failure::of_error(&Error::io(file.display(), e)))?;
        run_lines(&runner, BufReader::new(opened), file.display())?;
    }
    runner.outcome()
}

/// What some editors write at the beginning of a file of UTF-8.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Runs statements as their lines arrive. The writer may wait for the rows of one statement before
/// it writes the next, and only one statement of a dump is in memory at a time.
fn run_lines(runner: &Runner, mut input: impl BufRead, from: impl Display) -> Result<(), Failure> {
    let (mut sql, mut lines_before) = (String::new(), 0);
    let mut ends = StatementEnds::new();
    let (mut line, mut invalid_line) = (Vec::new(), None);
    loop {
        let line_start = sql.len();
        line.clear();
        let read = input.read_until(b'\n', &mut line);
        read.map_err(|e| Failure::of_error(&Error::io(&from, e)))?;
        let text = String::from_utf8_lossy(&line);
        if matches!(text, Cow::Owned(_)) && invalid_line.is_none() {
            invalid_line = Some(lines_before + sql.matches('\n').count() + 1);
        }
        sql.push_str(&text);
        if lines_before == 0 && line_start == 0 && sql.starts_with(BYTE_ORDER_MARK) {
            sql.remove(0);
        }
        let is_end = sql.len() == line_start;
        if ends.is_after(&sql[line_start..]) || is_end {
            // A text with other characters in the place of the bytes would mean something else.
            runner.go_on(match invalid_line.take() {
                Some(number) => Err(Failure::of_error(&not_utf8(&from, number))),
                None => runner.run_after(lines_before, &sql),
            })?;
            lines_before += sql.matches('\n').count();
            sql.clear();
            ends = StatementEnds::new();
        }
        if is_end {
            return Ok(());
        }
    }
}

fn not_utf8(from: impl Display, line: usize) -> Error {
    let message = format!("{from} is not UTF-8 in line {line}; the statement is not run");
    Error::new(ErrorKind::Syntax, message)
}

/// Runs statements and prints their rows.
pub struct Runner {
    /// Where they run.
    pub session: Arc<Session>,
    /// How rows are printed.
    pub printing: Printing,
    /// Whether to print the time of every statement.
    pub timer: bool,
    /// Whether statements without rows say that they are done.
    pub confirms: bool,
    /// Whether a statement that fails does not keep the next ones from running.
    pub keeps_going: bool,
    /// Whether one did.
    pub has_failed: Cell<bool>,
}

impl Runner {
    /// Runs the statements of `sql`; the first error stops.
    pub fn run(&self, sql: &str) -> Result<(), Failure> {
        self.run_after(0, sql)
    }

    /// Runs the statements of `sql`, which follow `lines_before` other lines of a text.
    fn run_after(&self, lines_before: usize, sql: &str) -> Result<(), Failure> {
        if !self.keeps_going || u32::try_from(sql.len()).is_err() {
            return self.run_part(sql, |e| Failure::of_statement(&e, sql, lines_before));
        }
        // A statement that is not understood keeps no other from running.
        for part in volley::split(sql) {
            let text = sql.get(part.start as usize..part.end as usize).unwrap_or_default();
            let failed = |e: Error| Failure::of_statement(&e.moved(part.start), sql, lines_before);
            self.go_on(self.run_part(text, failed))?;
        }
        Ok(())
    }

    fn run_part(&self, sql: &str, failed: impl Fn(Error) -> Failure) -> Result<(), Failure> {
        for statement in &self.session.parse(sql).map_err(&failed)? {
            self.go_on(self.run_statement(statement, &failed))?;
        }
        Ok(())
    }

    fn run_statement(
        &self,
        statement: &ParsedStatement,
        failed: impl Fn(Error) -> Failure,
    ) -> Result<(), Failure> {
        if interrupt::is_interrupted() {
            // Ctrl-C came before the statement, which would not know of it.
            return Err(failed(Error::cancelled()));
        }
        allocator::refill();
        let start = Instant::now();
        let outcome = self.session.run(statement).map_err(&failed)?;
        if interrupt::is_interrupted() {
            // Ctrl-C may have come before the statement began.
            self.session.cancel();
        }
        match outcome {
            Outcome::Rows(rows) => self.print(rows, failed)?,
            Outcome::Done(rows) if self.confirms => confirm(rows),
            Outcome::Done(_) => {}
        }
        if self.timer {
            eprintln!("time: {:.3} s", start.elapsed().as_secs_f64());
        }
        Ok(())
    }

    /// Reports a failure, and continues if the options say so.
    fn go_on(&self, result: Result<(), Failure>) -> Result<(), Failure> {
        match result {
            Err(failure @ Failure::Statement(_)) if self.keeps_going => {
                failure.print();
                self.has_failed.set(true);
                Ok(())
            }
            other => other,
        }
    }

    /// The failure of the command, once all statements ran: those of statements were told.
    fn outcome(&self) -> Result<(), Failure> {
        if self.has_failed.get() { Err(Failure::Statement(String::new())) } else { Ok(()) }
    }

    fn print(&self, rows: ResultStream, failed: impl Fn(Error) -> Failure) -> Result<(), Failure> {
        // The window may have changed its size.
        let width = self.printing.width.and_then(|_| format::terminal_width());
        let printing = Printing { width, ..self.printing };
        let mut out = BufWriter::new(io::stdout().lock());
        let printed = format::print(rows, printing, &mut out);
        // What came before an error of the query is shown.
        let flushed = out.flush().map_err(PrintError::Output);
        match printed.and(flushed) {
            Ok(()) => Ok(()),
            Err(PrintError::Query(error)) => Err(failed(error)),
            Err(PrintError::Output(error)) => Err(Failure::of_output(error)),
        }
    }
}

/// Reports at the prompt that a statement without rows is done.
fn confirm(rows: Option<u64>) {
    match rows {
        None => println!("done"),
        Some(1) => println!("done, 1 row"),
        Some(rows) => println!("done, {rows} rows"),
    }
}
