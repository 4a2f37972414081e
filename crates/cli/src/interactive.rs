//! The prompt: history, several lines, colors, completion.

use crate::{error_text::Failure, interrupt, script::Runner};
use reedline::{
    ColumnarMenu, Emacs, FileBackedHistory, KeyCode, KeyModifiers, MenuBuilder, Prompt,
    PromptEditMode, PromptHistorySearch, Reedline, ReedlineEvent, ReedlineMenu, Signal,
    default_emacs_keybindings,
};
use std::{borrow::Cow, path::PathBuf, sync::Arc};
use volley::Error;

mod complete;
mod highlight;
mod scan;
mod validate;

/// Statements that the history keeps.
const HISTORY_MAX: usize = 10_000;

const MENU: &str = "completion";

const HELP: &str = "\
Write a SQL statement and end it with a semicolon. Some beginnings:
  FROM 'file.parquet';  SELECT * FROM 'logs/*.csv' LIMIT 10;
  SHOW TABLES;  DESCRIBE t;  SHOW FUNCTIONS;  SHOW ALL;  EXPLAIN ANALYZE SELECT ...;
Keys: Tab completes, Ctrl-R searches the history, Ctrl-C stops a query, Ctrl-D leaves.
Commands: .help  .tables  .timer on|off  .clear  .quit";

/// Reads statements from the terminal and runs them, until the end of input.
pub fn run(mut runner: Runner) -> Result<(), Failure> {
    let mut editor = editor(&runner)?;
    println!("Volley {} - .help for help, Ctrl-D to leave", env!("CARGO_PKG_VERSION"));
    loop {
        match editor.read_line(&SqlPrompt) {
            Ok(Signal::Success(text)) if is_command(&text) => {
                if !command(&mut runner, text.trim()) {
                    return Ok(());
                }
            }
            Ok(Signal::Success(text)) => {
                interrupt::forget_interrupts();
                if let Err(failure) = runner.run(&text) {
                    failure.print();
                }
            }
            Ok(Signal::CtrlD) => return Ok(()),
            // Ctrl-C: the line is dropped.
            Ok(_) => {}
            Err(error) => return Err(Failure::of_error(&Error::io("terminal", error))),
        }
    }
}

fn editor(runner: &Runner) -> Result<Reedline, Failure> {
    let mut keys = default_emacs_keybindings();
    let complete = vec![ReedlineEvent::Menu(MENU.into()), ReedlineEvent::MenuNext];
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, ReedlineEvent::UntilFound(complete));
    let menu = Box::new(ColumnarMenu::default().with_name(MENU));
    let editor = Reedline::create()
        .with_completer(Box::new(complete::SqlCompleter::new(Arc::clone(&runner.session))))
        .with_menu(ReedlineMenu::EngineCompleter(menu))
        .with_highlighter(Box::new(highlight::SqlHighlighter))
        .with_validator(Box::new(validate::SqlValidator))
        .with_edit_mode(Box::new(Emacs::new(keys)));
    let Some(file) = history_file() else { return Ok(editor) };
    match FileBackedHistory::with_file(HISTORY_MAX, file) {
        Ok(history) => Ok(editor.with_history(Box::new(history))),
        Err(error) => {
            eprintln!("warning: the history is not kept: {error}");
            Ok(editor)
        }
    }
}

fn history_file() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state =
        state.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state")));
    state.map(|it| it.join("volley").join("history"))
}

/// Whether `text` is a command of the prompt and not SQL.
fn is_command(text: &str) -> bool {
    let text = text.trim().trim_end_matches(';').trim_end();
    text.starts_with('.') || ["quit", "exit", "help"].contains(&text.to_lowercase().as_str())
}

/// Runs a command of the prompt; false to leave.
fn command(runner: &mut Runner, text: &str) -> bool {
    let words = text.trim_start_matches('.').trim_end_matches(';').to_lowercase();
    match words.trim() {
        "quit" | "exit" | "q" => return false,
        "clear" => print!("\x1b[2J\x1b[H"),
        "tables" => {
            if let Err(failure) = runner.run("SHOW TABLES") {
                failure.print();
            }
        }
        "timer" | "timer on" => runner.timer = true,
        "timer off" => runner.timer = false,
        "help" => println!("{HELP}"),
        _ => eprintln!("error: no such command: {text}\nhint: .help lists them"),
    }
    true
}

struct SqlPrompt;

impl Prompt for SqlPrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        "volley".into()
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        "".into()
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        "> ".into()
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        "     > ".into()
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        format!("(search: {}) ", search.term).into()
    }
}
