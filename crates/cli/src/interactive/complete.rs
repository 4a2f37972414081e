//! Completion of keywords, tables, columns, functions, settings, commands and data files.

use super::{
    keywords::KEYWORDS,
    scan::{Kind, Piece, scan},
};
use crate::{
    commands::{self, Completes},
    session::is_data,
};
use reedline::{Completer, CompletionResult, Span, Suggestion};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::Arc,
};
use volley::Session;

pub(super) struct SqlCompleter {
    session: Arc<Session>,
}

/// The completions of the word at the cursor.
#[derive(Debug, PartialEq)]
struct Candidates {
    /// Where the word begins.
    start: usize,
    /// What it can become, with a word about each.
    names: BTreeMap<String, &'static str>,
}

impl SqlCompleter {
    pub(super) fn new(session: Arc<Session>) -> SqlCompleter {
        SqlCompleter { session }
    }

    /// The completions at the end of `text` (which ends at the cursor) of the input `whole`.
    fn candidates(&self, text: &str, whole: &str) -> Candidates {
        if text.trim_start().starts_with('.') {
            return self.of_command(text);
        }
        let pieces = scan(text);
        let (last, before) = match pieces.split_last() {
            Some((last, before)) if last.kind == Kind::Word => (Some(last), before),
            Some((last, _)) if last.kind == Kind::Text && !last.closed => {
                let start = last.range.start + 1;
                return Candidates { start, names: named(files(&text[start..], '\''), "file") };
            }
            _ => (None, pieces.as_slice()),
        };
        let start = last.map_or(text.len(), |it| it.range.start);
        let prefix = &text[start..];
        if let Some(table) = qualifier(text, before) {
            let table = aliased(whole, &table).unwrap_or(table);
            return Candidates { start, names: starting(self.columns_of(&table), prefix) };
        }
        let word = words_before(text, before);
        let all = match word.as_slice() {
            [
                ..,
                "FROM" | "JOIN" | "DESCRIBE" | "INTO" | "TABLE" | "UPDATE" | "SUMMARIZE" | "VIEW",
            ] => self.tables(),
            ["SET" | "RESET"] | ["SHOW"] => self.settings(),
            // An empty word can become anything.
            _ if prefix.is_empty() => BTreeMap::new(),
            _ => self.everything(whole),
        };
        Candidates { start, names: starting(all, prefix) }
    }

    /// The completions of a command or of its first argument.
    fn of_command(&self, text: &str) -> Candidates {
        let trimmed = text.trim_start();
        let offset = text.len() - trimmed.len();
        let Some((name, argument)) = trimmed.split_once(char::is_whitespace) else {
            let names = commands::all().map(|it| format!(".{}", it.name)).collect();
            return Candidates { start: offset, names: starting(named(names, "command"), trimmed) };
        };
        let mut start = text.len() - argument.trim_start().len();
        let mut argument = argument.trim_start();
        let quote = argument.chars().next().filter(|it| ['\'', '"'].contains(it));
        if quote.is_some() {
            argument = &argument[1..];
            start += 1;
        }
        let completes = commands::find(name.trim_start_matches('.'))
            .map_or(Completes::Nothing, |it| it.completes);
        let words = |words: &[&str]| -> BTreeSet<String> {
            words.iter().map(|it| (*it).to_owned()).collect()
        };
        let names = match completes {
            Completes::Nothing => BTreeMap::new(),
            Completes::Words(known) => starting(named(words(known), ""), argument),
            Completes::Commands => {
                let names = commands::all().map(|it| it.name.to_owned()).collect();
                starting(named(names, "command"), argument)
            }
            Completes::Tables => starting(self.tables(), argument),
            Completes::Files => named(any_files(argument), "file"),
        };
        Candidates { start, names }
    }

    fn tables(&self) -> BTreeMap<String, &'static str> {
        self.session.tables().into_iter().collect()
    }

    fn settings(&self) -> BTreeMap<String, &'static str> {
        let settings = self.session.settings();
        let words = ["ALL", "TABLES", "FUNCTIONS"].map(|it| (it.to_owned(), "keyword"));
        let names = settings.list().into_iter().map(|it| (it.0.to_owned(), "setting"));
        names.chain(words).collect()
    }

    fn columns_of(&self, table: &str) -> BTreeMap<String, &'static str> {
        let schema = self.session.columns(table).ok().flatten().unwrap_or_default();
        schema.fields.into_iter().map(|it| (it.name, "column")).collect()
    }

    /// Keywords, functions, tables, and the columns of the tables that the statement names; while
    /// it names none, of all.
    fn everything(&self, whole: &str) -> BTreeMap<String, &'static str> {
        let mut names: BTreeMap<String, &'static str> = BTreeMap::new();
        names.extend(KEYWORDS.iter().map(|it| ((*it).to_owned(), "keyword")));
        let registry = self.session.registry();
        names.extend(registry.package_docs().iter().map(|it| (it.name.to_owned(), "function")));
        let tables = self.session.tables();
        let words: BTreeSet<String> = scan(whole)
            .iter()
            .filter(|it| matches!(it.kind, Kind::Word | Kind::QuotedName))
            .map(|it| whole[it.range.clone()].trim_matches('"').to_lowercase())
            .collect();
        let is_named = |table: &str| words.contains(&table.to_lowercase());
        let names_any = tables.iter().any(|it| is_named(&it.0));
        for (table, kind) in tables {
            if !names_any || is_named(&table) {
                names.extend(self.columns_of(&table));
            }
            names.insert(table, kind);
        }
        names
    }
}

fn named(names: BTreeSet<String>, what: &'static str) -> BTreeMap<String, &'static str> {
    names.into_iter().map(|it| (it, what)).collect()
}

/// Columns and tables first: there are hundreds of keywords and functions.
fn ranked(names: BTreeMap<String, &'static str>) -> Vec<(String, &'static str)> {
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort_by_key(|(_, what)| match *what {
        "column" => 0,
        "keyword" => 2,
        "function" => 3,
        _ => 1,
    });
    names
}

/// Those that begin with a prefix, in any case.
fn starting(
    mut names: BTreeMap<String, &'static str>,
    prefix: &str,
) -> BTreeMap<String, &'static str> {
    let prefix = prefix.to_lowercase();
    names.retain(|name, _| name.to_lowercase().starts_with(&prefix));
    names
}

/// The table of `table.` right before the cursor.
fn qualifier(text: &str, before: &[Piece]) -> Option<String> {
    let [.., name, dot] = before else { return None };
    let is_name = matches!(name.kind, Kind::Word | Kind::QuotedName);
    let is_dot = &text[dot.range.clone()] == ".";
    (is_name && is_dot).then(|| text[name.range.clone()].trim_matches('"').to_owned())
}

/// The table that has an alias in a statement: `table alias` or `table AS alias`.
fn aliased(whole: &str, alias: &str) -> Option<String> {
    let pieces = scan(whole);
    let words: Vec<&str> = pieces
        .iter()
        .map(|it| whole[it.range.clone()].trim())
        .filter(|it| !it.is_empty())
        .collect();
    let mut found = None;
    for window in words.windows(4) {
        let [first, table, third, fourth] = window else { continue };
        if !["FROM", "JOIN", ","].iter().any(|it| first.eq_ignore_ascii_case(it)) {
            continue;
        }
        let given = if third.eq_ignore_ascii_case("AS") { fourth } else { third };
        if given.eq_ignore_ascii_case(alias) {
            found = Some(table.trim_matches('"').to_owned());
        }
    }
    found
}

/// The words of the statement before the cursor, in upper case: all of the first two, or the last.
fn words_before(text: &str, before: &[Piece]) -> Vec<&'static str> {
    const KNOWN: [&str; 11] = [
        "FROM",
        "JOIN",
        "DESCRIBE",
        "INTO",
        "TABLE",
        "UPDATE",
        "SUMMARIZE",
        "VIEW",
        "SET",
        "RESET",
        "SHOW",
    ];
    let words = before.iter().map(|it| text[it.range.clone()].trim());
    let words: Vec<&str> = words.filter(|it| !it.is_empty()).collect();
    let known = |word: &str| KNOWN.iter().copied().find(|it| it.eq_ignore_ascii_case(word));
    match words.as_slice() {
        [] => Vec::new(),
        [only] => known(only).into_iter().collect(),
        // SET of UPDATE stands behind others: what follows is a column.
        [.., last] => {
            let last = known(last).filter(|it| !["SET", "RESET", "SHOW"].contains(it));
            std::iter::once("").chain(last).collect()
        }
    }
}

/// Data files, and folders, whose path begins so; files end in the closing quote.
fn files(prefix: &str, quote: char) -> BTreeSet<String> {
    listed(prefix, &is_data)
        .map(|it| if it.ends_with('/') { it } else { it + &quote.to_string() })
        .collect()
}

/// Files and folders whose path begins so.
fn any_files(prefix: &str) -> BTreeSet<String> {
    listed(prefix, &|_| true).collect()
}

fn listed<'l>(
    prefix: &'l str,
    is_wanted: &'l dyn Fn(&Path) -> bool,
) -> impl Iterator<Item = String> + 'l {
    let (folder, name) = prefix.rsplit_once('/').map_or(("", prefix), |(folder, name)| {
        // The root keeps its slash.
        (&prefix[..folder.len() + 1], name)
    });
    let path = if folder.is_empty() { Path::new(".") } else { Path::new(folder) };
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.filter_map(move |entry| {
        let entry_name = entry.file_name().into_string().ok()?;
        let is_hidden = entry_name.starts_with('.') && !name.starts_with('.');
        if !entry_name.starts_with(name) || is_hidden {
            return None;
        }
        match entry.path() {
            it if it.is_dir() => Some(format!("{folder}{entry_name}/")),
            it if is_wanted(&it) => Some(format!("{folder}{entry_name}")),
            _ => None,
        }
    })
}

impl Completer for SqlCompleter {
    fn complete(&mut self, text: &str, cursor: usize) -> CompletionResult {
        let before = text.get(..cursor).unwrap_or(text);
        let Candidates { start, names } = self.candidates(before, text);
        let suggestion = |(value, what): (String, &'static str)| Suggestion {
            append_whitespace: !value.ends_with(['/', '\'']),
            value,
            description: Some(what.to_owned()).filter(|it| !it.is_empty()),
            span: Span { start, end: before.len() },
            ..Suggestion::default()
        };
        CompletionResult::fresh(ranked(names).into_iter().map(suggestion).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests;
