//! Output of an interactive statement: short results go to the terminal, long ones to a pager.

use crate::options::Pager;
use std::{
    env,
    io::{self, Write},
    process::{Child, Command, Stdio},
};

/// What `less` is told when the user named no pager: to stay only if the text is longer than
/// a screen, to keep colors, and to cut long lines.
const LESS: &str = "less -SRFX";

/// Gathers lines until there are more than fit, then shows them in a pager.
pub struct PagedOutput {
    command: Option<String>,
    /// Lines that fit on the terminal.
    lines_max: usize,
    gathered: Vec<u8>,
    lines: usize,
    state: State,
}

enum State {
    Gathering,
    Terminal,
    Pager(Child),
    /// The pager was left before the end.
    Left,
}

impl PagedOutput {
    /// Output to a terminal of `height` lines.
    pub fn new(pager: &Pager, height: usize) -> PagedOutput {
        let from_environment = || {
            let set = |name: &str| env::var(name).ok().filter(|it| !it.trim().is_empty());
            set("VOLLEY_PAGER").or_else(|| set("PAGER"))
        };
        let command = match pager {
            Pager::Off => None,
            Pager::Program(program) => Some(program.clone()),
            Pager::Default => Some(from_environment().unwrap_or_else(|| LESS.to_owned())),
        };
        let state = if command.is_some() { State::Gathering } else { State::Terminal };
        // The prompt takes a line.
        let lines_max = height.saturating_sub(1).max(1);
        PagedOutput { command, lines_max, gathered: Vec::new(), lines: 0, state }
    }

    /// Shows what is left, and waits until the pager is left.
    ///
    /// # Errors
    ///
    /// The terminal does not take the text.
    pub fn finish(mut self) -> io::Result<()> {
        if matches!(self.state, State::Gathering) {
            self.show_on_terminal()?;
        }
        io::stdout().flush()?;
        if let State::Pager(child) = &mut self.state {
            drop(child.stdin.take());
            child.wait()?;
        }
        Ok(())
    }

    /// Whether the reader left the pager before the end.
    pub fn was_left(&self) -> bool {
        matches!(self.state, State::Left)
    }

    fn show_on_terminal(&mut self) -> io::Result<()> {
        self.state = State::Terminal;
        io::stdout().write_all(&std::mem::take(&mut self.gathered))
    }

    /// The pager, or the terminal if it does not start.
    fn start(&mut self) -> io::Result<()> {
        let command = self.command.clone().unwrap_or_default();
        let mut words = command.split_whitespace();
        let Some(program) = words.next() else { return self.show_on_terminal() };
        let started = Command::new(program).args(words).stdin(Stdio::piped()).spawn();
        match started {
            Ok(child) => {
                self.state = State::Pager(child);
                let gathered = std::mem::take(&mut self.gathered);
                self.write_all(&gathered)
            }
            Err(_) => self.show_on_terminal(),
        }
    }
}

impl Write for PagedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.state {
            State::Terminal => io::stdout().write(bytes),
            State::Pager(child) => {
                let Some(input) = &mut child.stdin else { return Ok(bytes.len()) };
                match input.write(bytes) {
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                        drop(child.stdin.take());
                        child.wait()?;
                        self.state = State::Left;
                        Err(error)
                    }
                    other => other,
                }
            }
            State::Left => Err(io::ErrorKind::BrokenPipe.into()),
            State::Gathering => {
                self.gathered.extend_from_slice(bytes);
                self.lines += bytes.iter().filter(|it| **it == b'\n').count();
                if self.lines > self.lines_max {
                    self.start()?;
                }
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
