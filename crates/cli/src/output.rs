//! Where results go: standard output, a pager, or the file of `.output`.

use crate::{error_text::Failure, options::OutputKind, pager::PagedOutput};
use std::{
    fs::File,
    io::{self, BufWriter, StdoutLock, Write},
    path::PathBuf,
};
use volley::Error;

/// What takes results until it is changed.
#[derive(Debug, Default)]
pub enum Output {
    /// Standard output.
    #[default]
    Stdout,
    /// A file that `.output` named.
    File {
        /// Its path.
        path: PathBuf,
        /// What writes to it.
        file: BufWriter<File>,
    },
}

/// What takes the rows of one statement.
pub enum StatementOutput<'o> {
    /// Standard output.
    Stdout(BufWriter<StdoutLock<'static>>),
    /// A terminal, or a pager on it.
    Paged(Box<PagedOutput>),
    /// A file.
    File(&'o mut BufWriter<File>),
}

impl Output {
    /// Who reads it.
    pub fn kind(&self) -> OutputKind {
        match self {
            Output::Stdout => OutputKind::of_stdout(),
            Output::File { .. } => OutputKind::Other,
        }
    }

    /// What it means that it does not take what is written.
    pub fn failure(&self, error: io::Error) -> Failure {
        match self {
            Output::Stdout => Failure::of_output(error),
            Output::File { path, .. } => Failure::of_error(&Error::io(path.display(), error)),
        }
    }

    /// The output of a statement; `paged`: what shows long results on a terminal.
    pub fn of_statement(&mut self, paged: Option<PagedOutput>) -> StatementOutput<'_> {
        match (self, paged) {
            (Output::File { file, .. }, _) => StatementOutput::File(file),
            (Output::Stdout, Some(paged)) => StatementOutput::Paged(Box::new(paged)),
            (Output::Stdout, None) => StatementOutput::Stdout(BufWriter::new(io::stdout().lock())),
        }
    }
}

impl StatementOutput<'_> {
    /// Whether the reader has seen enough.
    pub fn was_left(&self) -> bool {
        matches!(self, StatementOutput::Paged(paged) if paged.was_left())
    }

    /// Writes what is left.
    ///
    /// # Errors
    ///
    /// The output does not take it.
    pub fn finish(self) -> io::Result<()> {
        match self {
            StatementOutput::Stdout(mut out) => out.flush(),
            StatementOutput::Paged(paged) => paged.finish(),
            StatementOutput::File(file) => file.flush(),
        }
    }
}

impl Write for StatementOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            StatementOutput::Stdout(out) => out.write(bytes),
            StatementOutput::Paged(paged) => paged.write(bytes),
            StatementOutput::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            StatementOutput::Stdout(out) => out.flush(),
            StatementOutput::Paged(paged) => paged.flush(),
            StatementOutput::File(file) => file.flush(),
        }
    }
}
