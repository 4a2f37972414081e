//! The shell: runs statements and commands, and prints what they answer.

use crate::{
    allocator,
    commands::{self, Flow},
    error_text::{ErrorStyle, Failure},
    format::{self, PrintError},
    interrupt,
    options::{Options, OutputKind, Pager},
    output::Output,
    pager::PagedOutput,
    progress_line::ProgressLine,
    statement_ends::is_command,
    variables::Variables,
};
use std::{io, sync::Arc, time::Instant};
use volley::{Error, Outcome, ParsedStatement, ResultStream, Session, StatementInputs};

/// Who writes the statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The command line, a file or a pipe.
    Script,
    /// A person at the prompt.
    Prompt,
}

/// A session, and how its statements are run and their rows printed.
pub struct Shell {
    /// Where statements run.
    pub session: Arc<Session>,
    /// What commands change.
    pub options: Options,
    /// Where results go.
    pub output: Output,
    /// Values of parameters.
    pub variables: Variables,
    /// Who writes the statements.
    pub origin: Origin,
    /// Whether commands may not reach files and programs.
    pub is_safe: bool,
    /// Who reads errors.
    pub errors: ErrorStyle,
    /// Whether a statement failed and others ran after it.
    pub has_failed: bool,
    /// The last statements that were run, for `.edit`.
    pub last_text: String,
    /// What the next prompt begins with.
    pub next_text: Option<String>,
}

impl Shell {
    /// Runs a text: a command, or statements. The first error stops, unless options say otherwise.
    ///
    /// # Errors
    ///
    /// The first failure that stops.
    pub fn run(&mut self, text: &str) -> Result<Flow, Failure> {
        self.run_after(0, text)
    }

    /// Runs a text that follows `lines_before` other lines.
    ///
    /// # Errors
    ///
    /// The first failure that stops.
    pub fn run_after(&mut self, lines_before: usize, text: &str) -> Result<Flow, Failure> {
        if is_command(text) {
            if self.options.echoes {
                println!("{}", text.trim());
            }
            let done = commands::run(self, text);
            return self.go_on(done, Flow::Continue);
        }
        if !text.trim().is_empty() {
            text.trim().clone_into(&mut self.last_text);
        }
        self.run_statements(lines_before, text)?;
        Ok(Flow::Continue)
    }

    fn run_statements(&mut self, lines_before: usize, sql: &str) -> Result<(), Failure> {
        if !self.keeps_going() || u32::try_from(sql.len()).is_err() {
            return self.run_part(sql, &|e| Failure::of_statement(&e, sql, lines_before));
        }
        // A statement that is not understood keeps no other from running.
        for part in volley::split(sql) {
            let text = sql.get(part.start as usize..part.end as usize).unwrap_or_default();
            let failed = |e: Error| Failure::of_statement(&e.moved(part.start), sql, lines_before);
            let ran = self.run_part(text, &failed);
            self.go_on(ran, ())?;
        }
        Ok(())
    }

    fn run_part(&mut self, sql: &str, failed: &dyn Fn(Error) -> Failure) -> Result<(), Failure> {
        for statement in &self.session.parse(sql).map_err(failed)? {
            let ran = self.run_statement(statement, failed);
            self.go_on(ran, ())?;
        }
        Ok(())
    }

    fn run_statement(
        &mut self,
        statement: &ParsedStatement,
        failed: &dyn Fn(Error) -> Failure,
    ) -> Result<(), Failure> {
        if interrupt::is_interrupted() {
            // Ctrl-C came before the statement, which would not know of it.
            return Err(failed(Error::cancelled()));
        }
        if self.options.echoes {
            println!("{};", statement.text().trim().trim_end_matches(';'));
        }
        allocator::refill();
        let start = Instant::now();
        let progress = self.options.shows_progress.then(|| ProgressLine::of_session(&self.session));
        let values = self.variables.of(statement.parameters()).into_iter();
        let named = values.map(|(name, value)| (name.to_owned(), value)).collect();
        let inputs = StatementInputs { named, ..StatementInputs::default() };
        let outcome = self.session.run_with(statement, &inputs).map_err(failed)?;
        if interrupt::is_interrupted() {
            // Ctrl-C may have come before the statement began.
            self.session.cancel();
        }
        match outcome {
            Outcome::Rows(rows) => self.print(rows, start, progress.flatten(), failed)?,
            Outcome::Done(rows) => {
                drop(progress);
                if self.origin == Origin::Prompt {
                    confirm(rows, start);
                }
            }
        }
        if self.options.shows_time {
            eprintln!("time: {:.3} s", start.elapsed().as_secs_f64());
        }
        Ok(())
    }

    fn print(
        &mut self,
        mut rows: ResultStream,
        start: Instant,
        mut progress: Option<ProgressLine>,
        failed: &dyn Fn(Error) -> Failure,
    ) -> Result<(), Failure> {
        let at_prompt = self.origin == Origin::Prompt;
        let kind = self.output.kind();
        let mut printing = self.options.printing(kind, at_prompt.then_some(start));
        printing.type_names = self.session.settings().type_names;
        let is_paged = at_prompt && kind == OutputKind::Terminal && !self.is_safe;
        let paged = is_paged.then(|| self.paged_output());
        let mut out = self.output.of_statement(paged);
        // Rows that go elsewhere do not disturb the line.
        let before_rows = || {
            if kind == OutputKind::Terminal {
                progress = None;
            }
        };
        let printed = format::print(&mut rows, &printing, &mut out, before_rows);
        drop(progress);
        let was_left = out.was_left();
        // What came before an error of the query is shown.
        let finished = out.finish().map_err(PrintError::Output);
        match printed.and(finished) {
            Ok(()) => Ok(()),
            Err(PrintError::Output(_)) if was_left => Ok(()),
            Err(PrintError::Query(error)) => Err(failed(error)),
            Err(PrintError::Output(error)) => Err(self.output.failure(error)),
        }
    }

    fn paged_output(&self) -> PagedOutput {
        let height = crossterm::terminal::size().map_or(24, |it| usize::from(it.1));
        let is_limited = self.options.rows_max > 0 && self.options.rows_max < height;
        let pager = if is_limited { &Pager::Off } else { &self.options.pager };
        PagedOutput::new(pager, height)
    }

    /// Whether a failure keeps no other statement of the text from running. At the prompt it does,
    /// and the prompt goes on.
    fn keeps_going(&self) -> bool {
        !self.options.bails && self.origin == Origin::Script
    }

    /// Reports a failure, and continues if the options say so.
    fn go_on<T>(&mut self, result: Result<T, Failure>, default: T) -> Result<T, Failure> {
        match result {
            Err(failure @ Failure::Statement(_)) if self.keeps_going() => {
                failure.print(self.errors);
                self.has_failed = true;
                Ok(default)
            }
            other => other,
        }
    }

    /// Reports a failure of a statement that did not run.
    ///
    /// # Errors
    ///
    /// The failure, if it stops.
    pub fn report(&mut self, failure: Failure) -> Result<Flow, Failure> {
        self.go_on(Err(failure), Flow::Continue)
    }

    /// The failure of the command, once all statements ran: those of statements were reported.
    ///
    /// # Errors
    ///
    /// A statement failed.
    pub fn outcome(&self) -> Result<(), Failure> {
        if self.has_failed { Err(Failure::reported()) } else { Ok(()) }
    }

    /// Writes text to where results go.
    ///
    /// # Errors
    ///
    /// The output does not take it.
    pub fn write(
        &mut self,
        write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let mut out = self.output.of_statement(None);
        let written = write(&mut out);
        let finished = out.finish();
        written.and(finished).map_err(|it| self.output.failure(it))
    }
}

/// Reports at the prompt that a statement without rows is done.
fn confirm(rows: Option<u64>, start: Instant) {
    let time = format::seconds(start.elapsed());
    match rows {
        None => println!("done in {time}"),
        Some(1) => println!("done, 1 row in {time}"),
        Some(rows) => println!("done, {rows} rows in {time}"),
    }
}
