//! How results look and where they go.

use super::{Command, Completes, Flow, ON_OFF, check_unsafe, number, switch};
use crate::{
    error_text::Failure,
    format::Format,
    options::{Options, Pager},
    output::Output,
    shell::Shell,
};
use clap::ValueEnum;
use std::{fs::File, io::BufWriter, path::PathBuf};
use volley::{Error, Result};

/// The names of `.mode`.
const MODES: &[&str] =
    &["table", "box", "line", "csv", "json", "ndjson", "markdown", "html", "insert", "agent"];

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "mode",
        arguments: "[MODE [TABLE]]",
        help: "The form of results: table, box, line, csv, json, ndjson, markdown, html, insert \
               (into TABLE), agent",
        count: (0, 2),
        completes: Completes::Words(MODES),
        run: mode,
    },
    Command {
        name: "output",
        arguments: "[FILE]",
        help: "Writes results to a file, or to the terminal again",
        count: (0, 1),
        completes: Completes::Files,
        run: output,
    },
    Command {
        name: "maxrows",
        arguments: "[ROWS]",
        help: "The maximum number of rows that are printed on a terminal; 0 for all",
        count: (0, 1),
        completes: Completes::Nothing,
        run: |shell, arguments| set_number(shell, "maxrows", arguments, |it| &mut it.rows_max),
    },
    Command {
        name: "width",
        arguments: "[CHARACTERS]",
        help: "The width of tables; 0 for that of the terminal",
        count: (0, 1),
        completes: Completes::Nothing,
        run: |shell, arguments| set_number(shell, "width", arguments, |it| &mut it.width),
    },
    Command {
        name: "null",
        arguments: "[TEXT]",
        help: "What NULL looks like in tables",
        count: (0, 1),
        completes: Completes::Nothing,
        run: null,
    },
    Command {
        name: "types",
        arguments: "[on|off]",
        help: "Shows the types of columns below their names",
        count: (0, 1),
        completes: ON_OFF,
        run: |shell, arguments| {
            shell.options.shows_types = switch("types", arguments, shell.options.shows_types)?;
            Ok(Flow::Continue)
        },
    },
    Command {
        name: "thousands",
        arguments: "[on|off]",
        help: "Separates thousands of numbers in tables",
        count: (0, 1),
        completes: ON_OFF,
        run: |shell, arguments| {
            let before = shell.options.has_thousands;
            shell.options.has_thousands = switch("thousands", arguments, before)?;
            Ok(Flow::Continue)
        },
    },
    Command {
        name: "pager",
        arguments: "[on|off|PROGRAM]",
        help: "Shows results that are longer than the terminal in VOLLEY_PAGER, PAGER or less",
        count: (0, usize::MAX),
        completes: ON_OFF,
        run: pager,
    },
];

fn mode(shell: &mut Shell, arguments: &[String]) -> Result<Flow, Failure> {
    let Some(name) = arguments.first() else {
        let name = shell.options.format.to_possible_value().map(|it| it.get_name().to_owned());
        let line = format!("mode: {}\n", name.unwrap_or_default());
        shell.write(|out| out.write_all(line.as_bytes()))?;
        return Ok(Flow::Continue);
    };
    let format = Format::from_str(name, true).map_err(|_| {
        let error = Error::invalid_value(format!("no such mode: '{name}'"));
        Failure::of_error(&error.hint(format!("modes are {}", MODES.join(", "))))
    })?;
    if let Some(table) = arguments.get(1) {
        shell.options.insert_table.clone_from(table);
    }
    shell.options.format = format;
    Ok(Flow::Continue)
}

fn output(shell: &mut Shell, arguments: &[String]) -> Result<Flow, Failure> {
    let Some(path) = arguments.first().filter(|it| *it != "stdout") else {
        shell.output = Output::Stdout;
        return Ok(Flow::Continue);
    };
    check_unsafe(shell, ".output")?;
    let file = File::create(path).map_err(|e| Failure::of_error(&Error::io(path, e)))?;
    shell.output = Output::File { path: PathBuf::from(path), file: BufWriter::new(file) };
    Ok(Flow::Continue)
}

fn set_number(
    shell: &mut Shell,
    name: &str,
    arguments: &[String],
    field: fn(&mut Options) -> &mut usize,
) -> Result<Flow, Failure> {
    match arguments.first() {
        Some(text) => *field(&mut shell.options) = number(name, text)?,
        None => {
            let line = format!("{name}: {}\n", field(&mut shell.options));
            shell.write(|out| out.write_all(line.as_bytes()))?;
        }
    }
    Ok(Flow::Continue)
}

fn null(shell: &mut Shell, arguments: &[String]) -> Result<Flow, Failure> {
    shell.options.null = arguments.first().cloned().unwrap_or_else(|| "NULL".to_owned());
    Ok(Flow::Continue)
}

fn pager(shell: &mut Shell, arguments: &[String]) -> Result<Flow, Failure> {
    check_unsafe(shell, ".pager")?;
    shell.options.pager = match arguments.first().map(String::as_str) {
        None | Some("on") => Pager::Default,
        Some("off") => Pager::Off,
        Some(_) => Pager::Program(arguments.join(" ")),
    };
    Ok(Flow::Continue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_has_a_mode() {
        let names: Vec<String> = Format::value_variants()
            .iter()
            .filter_map(|it| it.to_possible_value())
            .map(|it| it.get_name().to_owned())
            .collect();
        assert_eq!(names, MODES);
    }
}
