//! Help, the end, and how statements are run.

use super::{Command, Completes, Flow, GROUPS, ON_OFF, find, switch};
use crate::{
    error_text::Failure,
    shell::{Origin, Shell},
};
use std::io::{self, Write};
use volley::{Error, Result};

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "help",
        arguments: "[COMMAND]",
        help: "Lists the commands, or explains one",
        count: (0, 1),
        completes: Completes::Commands,
        run: help,
    },
    Command {
        name: "quit",
        arguments: "",
        help: "Leaves; so do .exit and Ctrl-D",
        count: (0, 0),
        completes: Completes::Nothing,
        run: |_, _| Ok(Flow::Leave),
    },
    Command {
        name: "timer",
        arguments: "[on|off]",
        help: "Prints the time of every statement on standard error",
        count: (0, 1),
        completes: ON_OFF,
        run: |shell, arguments| {
            shell.options.shows_time = switch("timer", arguments, shell.options.shows_time)?;
            Ok(Flow::Continue)
        },
    },
    Command {
        name: "progress",
        arguments: "[on|off]",
        help: "Shows how far a statement is that takes longer than half a second",
        count: (0, 1),
        completes: ON_OFF,
        run: |shell, arguments| {
            shell.options.shows_progress =
                switch("progress", arguments, shell.options.shows_progress)?;
            Ok(Flow::Continue)
        },
    },
    Command {
        name: "echo",
        arguments: "[on|off]",
        help: "Prints every statement before it runs",
        count: (0, 1),
        completes: ON_OFF,
        run: |shell, arguments| {
            shell.options.echoes = switch("echo", arguments, shell.options.echoes)?;
            Ok(Flow::Continue)
        },
    },
    Command {
        name: "bail",
        arguments: "[on|off]",
        help: "Stops at the first statement that fails",
        count: (0, 1),
        completes: ON_OFF,
        run: |shell, arguments| {
            shell.options.bails = switch("bail", arguments, shell.options.bails)?;
            Ok(Flow::Continue)
        },
    },
    Command {
        name: "var",
        arguments: "[NAME VALUE]",
        help: "Gives the parameter $NAME a value in all statements, or lists the values",
        count: (0, 2),
        completes: Completes::Nothing,
        run: var,
    },
    Command {
        name: "print",
        arguments: "[TEXT]...",
        help: "Prints its arguments to where results go",
        count: (0, usize::MAX),
        completes: Completes::Nothing,
        run: |shell, arguments| {
            shell.write(|out| writeln!(out, "{}", arguments.join(" ")))?;
            Ok(Flow::Continue)
        },
    },
    Command {
        name: "clear",
        arguments: "",
        help: "Clears the terminal",
        count: (0, 0),
        completes: Completes::Nothing,
        run: |shell, _| {
            if shell.origin == Origin::Prompt {
                print!("\x1b[2J\x1b[H");
                io::stdout().flush().map_err(Failure::of_output)?;
            }
            Ok(Flow::Continue)
        },
    },
];

const INTRODUCTION: &str = "\
Write a SQL statement and end it with a semicolon:
  FROM 'file.parquet';  SELECT * FROM 'logs/*.csv' LIMIT 10;
  SHOW TABLES;  DESCRIBE t;  SHOW FUNCTIONS;  SHOW ALL;  EXPLAIN ANALYZE SELECT ...;
Keys: Tab completes, Ctrl-R searches the history, Ctrl-C stops a query or keeps the text in the
history and begins anew, Alt-Enter begins a line, Ctrl-D leaves.
";

fn help(shell: &mut Shell, arguments: &[String]) -> Result<Flow, Failure> {
    let text = match arguments.first() {
        None => overview(),
        Some(name) => {
            let name = name.trim_start_matches('.');
            let Some(command) = find(name) else {
                let error = Error::invalid_value(format!("no such command: .{name}"));
                return Err(Failure::of_error(&error.hint(".help lists the commands")));
            };
            format!(".{} {}\n  {}\n", command.name, command.arguments, command.help)
        }
    };
    shell.write(|out| out.write_all(text.as_bytes()))?;
    Ok(Flow::Continue)
}

/// All commands with their help.
pub(super) fn overview() -> String {
    let mut text = INTRODUCTION.to_owned();
    for group in &GROUPS {
        text += &format!("\n{}\n", group.title);
        for command in group.commands {
            let usage = format!(".{} {}", command.name, command.arguments);
            text += &format!("  {usage:<26} {}\n", command.help);
        }
    }
    text
}

fn var(shell: &mut Shell, arguments: &[String]) -> Result<Flow, Failure> {
    match arguments {
        [name, value] => shell.variables.set(name, value).map_err(|e| Failure::of_error(&e))?,
        [_] => {
            let error = Error::invalid_value("a variable needs a value");
            return Err(Failure::of_error(&error.hint("usage: .var [NAME VALUE]")));
        }
        _ => {
            let lines = shell.variables.list().map(|(name, value)| format!("{name} = {value}\n"));
            let text: String = lines.collect();
            shell.write(|out| out.write_all(text.as_bytes()))?;
        }
    }
    Ok(Flow::Continue)
}
