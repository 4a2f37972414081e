//! Files of statements and of rows.

use super::{Command, Completes, Flow, check_unsafe, inspect::quoted_name};
use crate::{
    error_text::Failure,
    open,
    script::run_file,
    shell::{Origin, Shell},
};
use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process,
};
use volley::{Error, Result, connector::WriteAccess};

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "read",
        arguments: "FILE",
        help: "Runs the statements and commands of a file",
        count: (1, 1),
        completes: Completes::Files,
        run: |shell, arguments| {
            check_unsafe(shell, ".read")?;
            let path = arguments.first().map_or("", String::as_str);
            run_file(shell, Path::new(path))
        },
    },
    Command {
        name: "open",
        arguments: "PATH",
        help: "Makes a data file a table, or opens the database in a folder",
        count: (1, 1),
        completes: Completes::Files,
        run: |shell, arguments| {
            check_unsafe(shell, ".open")?;
            let path = arguments.first().map_or("", String::as_str);
            open::open(&shell.session, Path::new(path), WriteAccess::ReadWrite)?;
            Ok(Flow::Continue)
        },
    },
    Command {
        name: "import",
        arguments: "FILE TABLE",
        help: "Adds the rows of a data file to a table, which it makes if there is none",
        count: (2, 2),
        completes: Completes::Files,
        run: import,
    },
    Command {
        name: "edit",
        arguments: "[FILE]",
        help: "Edits the last statement, or a file, in VISUAL or EDITOR; the text is the next input",
        count: (0, 1),
        completes: Completes::Files,
        run: edit,
    },
];

fn import(shell: &mut Shell, arguments: &[String]) -> Result<Flow, Failure> {
    check_unsafe(shell, ".import")?;
    let [file, table] = arguments else { return Ok(Flow::Continue) };
    let columns = shell.session.columns(table).map_err(|e| Failure::of_error(&e))?;
    let name = table.split('.').map(quoted_name).collect::<Vec<_>>().join(".");
    let file = file.replace('\'', "''");
    let sql = match columns {
        Some(_) => format!("INSERT INTO {name} SELECT * FROM '{file}'"),
        None => format!("CREATE TABLE {name} AS SELECT * FROM '{file}'"),
    };
    let before = std::mem::take(&mut shell.last_text);
    let done = shell.run(&sql);
    shell.last_text = before;
    done
}

/// Edits a text; the result is at the prompt, where Enter runs it.
fn edit(shell: &mut Shell, arguments: &[String]) -> Result<Flow, Failure> {
    check_unsafe(shell, ".edit")?;
    if shell.origin != Origin::Prompt {
        let error = Error::invalid_value(".edit needs a prompt");
        return Err(Failure::of_error(&error));
    }
    let failed = |path: &Path, e| Failure::of_error(&Error::io(path.display(), e));
    let (path, is_temporary) = match arguments.first() {
        Some(path) => (PathBuf::from(path), false),
        None => {
            let path = env::temp_dir().join(format!("volley-edit-{}.sql", process::id()));
            let mut file = fs::File::create(&path).map_err(|e| failed(&path, e))?;
            writeln!(file, "{}", shell.last_text).map_err(|e| failed(&path, e))?;
            (path, true)
        }
    };
    let edited = run_editor(&path);
    let text = edited.and_then(|()| fs::read_to_string(&path).map_err(|e| failed(&path, e)));
    if is_temporary {
        let _ = fs::remove_file(&path);
    }
    let text = text?;
    shell.next_text = Some(text.trim_end().to_owned()).filter(|it| !it.is_empty());
    Ok(Flow::Continue)
}

fn run_editor(path: &Path) -> Result<(), Failure> {
    let set = |name: &str| env::var(name).ok().filter(|it| !it.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = process::Command::new(program).args(words).arg(path).status();
    let status = status.map_err(|e| Failure::of_error(&Error::io(program, e)))?;
    if status.success() {
        return Ok(());
    }
    let error = Error::invalid_value(format!("the editor {program} ended with {status}"));
    Err(Failure::of_error(&error.hint("set VISUAL or EDITOR to another one")))
}
