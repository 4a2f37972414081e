//! Runs statements from the command line, files or standard input, or begins the prompt.

use crate::{
    args::Args,
    commands::Flow,
    error_text::{ErrorStyle, Failure},
    interactive, interrupt,
    open::open,
    options::Options,
    output::Output,
    session,
    shell::{Origin, Shell},
    statement_ends::{StatementEnds, is_command},
    variables::Variables,
};
use std::{
    borrow::Cow,
    fmt::Display,
    fs::File,
    io::{self, BufRead, BufReader, IsTerminal},
    path::Path,
    sync::Arc,
};
use volley::{Error, ErrorKind, connector::WriteAccess};

/// `volley` without a subcommand.
pub fn main(args: &Args) -> Result<(), Failure> {
    let shell = shell(args)?;
    let session = Arc::clone(&shell.session);
    let ran = run_all(shell, args);
    // An error of a statement tells more than one of the end.
    let closed = session.close().map_err(|e| Failure::of_error(&e));
    ran.and(closed)
}

/// Runs the statements that the command line names.
fn run_all(mut shell: Shell, args: &Args) -> Result<(), Failure> {
    if args.sql.is_empty() && args.file.is_empty() {
        if io::stdin().is_terminal() {
            shell.origin = Origin::Prompt;
            shell.options.bails = args.bail;
            return interactive::run(shell, args.startup.as_deref());
        }
        run_lines(&mut shell, io::stdin().lock(), "standard input")?;
        return shell.outcome();
    }
    for sql in &args.sql {
        if shell.run(sql)? == Flow::Leave {
            return shell.outcome();
        }
    }
    for file in &args.file {
        if run_file(&mut shell, file)? == Flow::Leave {
            return shell.outcome();
        }
    }
    shell.outcome()
}

/// The shell with the options of the command line.
fn shell(args: &Args) -> Result<Shell, Failure> {
    let session = Arc::new(session::open(&args.session)?);
    interrupt::cancel_on_interrupt(&session);
    for dir in &args.data {
        session::register_folder(&session, dir)?;
    }
    let access = if args.read_only { WriteAccess::ReadOnly } else { WriteAccess::ReadWrite };
    if let Some(path) = &args.path {
        open(&session, path, access)?;
    }
    let mut variables = Variables::default();
    for text in &args.var {
        variables.add(text).map_err(|e| Failure::usage(&e))?;
    }
    if args.safe {
        session.access_gate().deny_external();
        session.access_gate().deny_network();
        session.access_gate().lock();
    }
    Ok(Shell {
        session,
        options: Options::of(args),
        output: Output::default(),
        variables,
        origin: Origin::Script,
        is_safe: args.safe,
        errors: if args.agent { ErrorStyle::Json } else { ErrorStyle::Text },
        has_failed: false,
        last_text: String::new(),
        next_text: None,
    })
}

/// Runs the statements and commands of a file.
///
/// # Errors
///
/// I/O; the first failure that stops.
pub fn run_file(shell: &mut Shell, path: &Path) -> Result<Flow, Failure> {
    let opened = File::open(path).map_err(|e| Failure::of_error(&Error::io(path.display(), e)))?;
    run_lines(shell, BufReader::new(opened), path.display())
}

/// What some editors write at the beginning of a file of UTF-8.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Runs statements as their lines arrive. The writer may wait for the rows of one statement before
/// it writes the next, and only one statement of a dump is in memory at a time. A line that begins
/// with a dot, where a statement could begin, is a command.
fn run_lines(
    shell: &mut Shell,
    mut input: impl BufRead,
    from: impl Display,
) -> Result<Flow, Failure> {
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
        let is_whole = ends.is_after(&sql[line_start..]) || is_end || is_command(&sql);
        if is_whole {
            // A text with other characters in the place of the bytes would mean something else.
            let flow = match invalid_line.take() {
                Some(number) => shell.report(Failure::of_error(&not_utf8(&from, number)))?,
                None => shell.run_after(lines_before, &sql)?,
            };
            if flow == Flow::Leave {
                return Ok(flow);
            }
            lines_before += sql.matches('\n').count();
            sql.clear();
            ends = StatementEnds::new();
        }
        if is_end {
            return Ok(Flow::Continue);
        }
    }
}

fn not_utf8(from: impl Display, line: usize) -> Error {
    let message = format!("{from} is not UTF-8 in line {line}; the statement is not run");
    Error::new(ErrorKind::Syntax, message)
}
