//! The prompt: history, several lines, colors, completion.
//!
//! Text is never lost: what is run, abandoned by Ctrl-C or edited is in the history.

use crate::{commands::Flow, error_text::Failure, interrupt, script::run_file, shell::Shell};
use reedline::{
    ColumnarMenu, EditCommand, Emacs, FileBackedHistory, HistoryItem, KeyCode, KeyModifiers,
    MenuBuilder, Prompt, PromptEditMode, PromptHistorySearch, Reedline, ReedlineEvent,
    ReedlineMenu, Signal, default_emacs_keybindings,
};
use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::Arc,
};
use volley::Error;

mod complete;
mod highlight;
mod keywords;
mod scan;
mod validate;

/// Statements that the history keeps.
const HISTORY_MAX: usize = 10_000;

const MENU: &str = "completion";

/// What stands before the second and later lines of a statement.
const NEXT_LINE: &str = "     > ";

/// Clears the terminal from the cursor to its end.
const CLEAR_BELOW: &str = "\x1b[J";

/// What Ctrl-C does while a statement is typed.
const ABANDON: &str = "abandon";

/// Reads statements from the terminal and runs them, until the end of input. `startup`: what the
/// prompt begins with, instead of `~/.volleyrc`.
pub fn run(mut shell: Shell, startup: Option<&Path>) -> Result<(), Failure> {
    shell.session.keep_last_profile();
    if start(&mut shell, startup)? == Flow::Leave {
        return shell.outcome();
    }
    let mut editor = editor(&shell)?;
    println!("Volley {} - .help for help, Ctrl-D to leave", env!("CARGO_PKG_VERSION"));
    loop {
        if let Some(text) = shell.next_text.take() {
            editor.run_edit_commands(&[EditCommand::InsertString(text)]);
        }
        match editor.read_line(&SqlPrompt) {
            Ok(Signal::Success(text)) => {
                interrupt::forget_interrupts();
                match shell.run(&text) {
                    Ok(Flow::Continue) => {}
                    Ok(Flow::Leave) => return shell.outcome(),
                    Err(failure) if shell.options.bails => return Err(failure),
                    Err(failure) => failure.print(shell.errors),
                }
            }
            Ok(Signal::CtrlD) => return shell.outcome(),
            Ok(Signal::HostCommand(command)) if command == ABANDON => editor = abandon(editor),
            Ok(_) => {}
            Err(error) => return Err(Failure::of_error(&Error::io("terminal", error))),
        }
    }
}

/// Runs the file of the user's own beginnings. What fails in it does not end the shell.
fn start(shell: &mut Shell, startup: Option<&Path>) -> Result<Flow, Failure> {
    let of_home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".volleyrc"));
    let path = match startup {
        Some(path) => path.to_owned(),
        None => match of_home().filter(|it| it.is_file() && !shell.is_safe) {
            Some(path) => path,
            None => return Ok(Flow::Continue),
        },
    };
    match run_file(shell, &path) {
        Err(failure) if !shell.options.bails => {
            failure.print(shell.errors);
            Ok(Flow::Continue)
        }
        other => other,
    }
}

/// Keeps the text that is typed in the history, and begins anew, without an open menu.
fn abandon(mut editor: Reedline) -> Reedline {
    let text = editor.current_buffer_contents().to_owned();
    // Below the cursor stands the rest of the text, and perhaps a menu, which disappears.
    let rest = text.get(editor.current_insertion_point()..).unwrap_or_default();
    println!("{CLEAR_BELOW}{}^C", rest.replace('\n', &format!("\n{NEXT_LINE}")));
    if !text.trim().is_empty() {
        // A history that cannot be written was reported at the start.
        let _ = editor.history_mut().save(HistoryItem::from_command_line(text));
    }
    editor.run_edit_commands(&[EditCommand::MoveToEnd { select: false }, EditCommand::Clear]);
    editor.clear_menus().with_menu(completion_menu())
}

fn completion_menu() -> ReedlineMenu {
    ReedlineMenu::EngineCompleter(Box::new(ColumnarMenu::default().with_name(MENU)))
}

fn editor(shell: &Shell) -> Result<Reedline, Failure> {
    let mut keys = default_emacs_keybindings();
    let complete = vec![ReedlineEvent::Menu(MENU.into()), ReedlineEvent::MenuNext];
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, ReedlineEvent::UntilFound(complete));
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
    let new_line = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, new_line);
    let abandon = ReedlineEvent::ExecuteHostCommand(ABANDON.into());
    keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('c'), abandon);
    let editor = Reedline::create()
        .with_completer(Box::new(complete::SqlCompleter::new(Arc::clone(&shell.session))))
        .with_menu(completion_menu())
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_highlighter(Box::new(highlight::SqlHighlighter))
        .with_validator(Box::new(validate::SqlValidator))
        .with_edit_mode(Box::new(Emacs::new(keys)))
        .use_bracketed_paste(true);
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
        NEXT_LINE.into()
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        format!("(search: {}) ", search.term).into()
    }
}
