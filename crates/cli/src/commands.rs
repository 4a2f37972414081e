//! Commands of the shell: lines that begin with a dot.
//!
//! A command is data: its name, arguments, help and what runs it. `.help`, completion and
//! highlighting read the same tables.

mod display;
mod files;
mod general;
mod inspect;

use crate::{error_text::Failure, shell::Shell, words::words};
use volley::{Error, Result};

/// Whether the shell goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It does.
    Continue,
    /// It ends.
    Leave,
}

/// What runs a command, given the words behind its name.
type Run = fn(&mut Shell, &[String]) -> Result<Flow, Failure>;

/// A command.
#[derive(Debug)]
pub struct Command {
    /// Without the dot.
    pub name: &'static str,
    /// For people: `[NAME]` may be left out.
    pub arguments: &'static str,
    /// What it does.
    pub help: &'static str,
    /// The least and the greatest number of arguments.
    pub count: (usize, usize),
    /// What completes its first argument.
    pub completes: Completes,
    run: Run,
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completes {
    /// Nothing that is known.
    Nothing,
    /// One of these words.
    Words(&'static [&'static str]),
    /// A file.
    Files,
    /// A table.
    Tables,
    /// A command.
    Commands,
}

/// A group of commands, for `.help`.
pub struct Group {
    /// What they are about.
    pub title: &'static str,
    /// In the order of `.help`.
    pub commands: &'static [Command],
}

/// All commands.
pub static GROUPS: [Group; 4] = [
    Group { title: "General", commands: general::COMMANDS },
    Group { title: "Results", commands: display::COMMANDS },
    Group { title: "Tables and plans", commands: inspect::COMMANDS },
    Group { title: "Files", commands: files::COMMANDS },
];

const ON_OFF: Completes = Completes::Words(&["on", "off"]);

/// All commands, in the order of `.help`.
pub fn all() -> impl Iterator<Item = &'static Command> {
    GROUPS.iter().flat_map(|it| it.commands)
}

/// The command of a name, without the dot.
pub fn find(name: &str) -> Option<&'static Command> {
    let name = if name.eq_ignore_ascii_case("exit") { "quit" } else { name };
    all().find(|it| it.name.eq_ignore_ascii_case(name))
}

/// Runs a command.
///
/// # Errors
///
/// No such command, wrong arguments; what it fails with.
pub fn run(shell: &mut Shell, text: &str) -> Result<Flow, Failure> {
    let text = text.trim().trim_end_matches(';').trim_end();
    let failed = |e: Error| Failure::of_error(&e);
    let words = words(text).map_err(|it| failed(Error::invalid_value(it)))?;
    let Some((first, arguments)) = words.split_first() else { return Ok(Flow::Continue) };
    let name = first.strip_prefix('.').unwrap_or(first);
    let command = find(name).ok_or_else(|| failed(no_command(name)))?;
    let (least, most) = command.count;
    if arguments.len() < least || arguments.len() > most {
        let message = format!("wrong number of arguments of .{}", command.name);
        let usage = format!("usage: .{} {}", command.name, command.arguments);
        return Err(failed(Error::invalid_value(message).hint(usage.trim_end())));
    }
    (command.run)(shell, arguments)
}

fn no_command(name: &str) -> Error {
    let error = Error::invalid_value(format!("no such command: .{name}"));
    let nearest = all().map(|it| it.name).find(|it| {
        let prefix: String = name.chars().take(2).collect();
        !prefix.is_empty() && it.starts_with(&prefix.to_ascii_lowercase())
    });
    match nearest {
        Some(nearest) => error.hint(format!("did you mean .{nearest}? .help lists the commands")),
        None => error.hint(".help lists the commands"),
    }
}

/// Fails in a shell that may not reach files and programs.
fn check_unsafe(shell: &Shell, what: &str) -> Result<(), Failure> {
    if shell.is_safe {
        let error = Error::invalid_value(format!("{what} is not allowed with --safe"));
        return Err(Failure::of_error(&error));
    }
    Ok(())
}

/// `on` or `off`; without, the other than before.
fn switch(name: &str, arguments: &[String], before: bool) -> Result<bool, Failure> {
    match arguments.first().map(|it| it.to_ascii_lowercase()).as_deref() {
        None => Ok(!before),
        Some("on" | "true" | "1") => Ok(true),
        Some("off" | "false" | "0") => Ok(false),
        Some(other) => {
            let error = Error::invalid_value(format!(".{name} is on or off, not '{other}'"));
            Err(Failure::of_error(&error))
        }
    }
}

/// A count.
fn number(name: &str, text: &str) -> Result<usize, Failure> {
    text.parse().map_err(|_| {
        let error = Error::invalid_value(format!(".{name} takes a number: '{text}'"));
        Failure::of_error(&error)
    })
}

#[cfg(test)]
mod tests;
