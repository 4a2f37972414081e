//! Completion of keywords, tables, columns, functions and data files.

use super::scan::{KEYWORDS, Kind, Piece, scan};
use crate::session::is_data;
use reedline::{Completer, CompletionResult, Span, Suggestion};
use std::{collections::BTreeSet, fs, path::Path, sync::Arc};
use volley::Session;

pub(super) struct SqlCompleter {
    session: Arc<Session>,
}

impl SqlCompleter {
    pub(super) fn new(session: Arc<Session>) -> SqlCompleter {
        SqlCompleter { session }
    }

    /// The completions at the end of `text` (which ends at the cursor), and where the completed
    /// word begins.
    fn candidates(&self, text: &str, whole: &str) -> (usize, BTreeSet<String>) {
        let pieces = scan(text);
        let last = match pieces.last() {
            Some(last) if last.kind == Kind::Word => last,
            Some(last) if last.kind == Kind::Text && !last.closed => {
                let start = last.range.start + 1;
                return (start, files(&text[start..]));
            }
            _ if wants_table(text, &pieces) => {
                return (text.len(), self.session.tables().into_iter().map(|it| it.0).collect());
            }
            _ => return (text.len(), BTreeSet::new()),
        };
        let start = last.range.start;
        let prefix = text[start..].to_lowercase();
        let mut names = BTreeSet::new();
        let mut offer = |name: &str| {
            if name.to_lowercase().starts_with(&prefix) {
                names.insert(name.to_owned());
            }
        };
        KEYWORDS.iter().for_each(|it| offer(it));
        let registry = self.session.registry();
        registry.package_docs().iter().for_each(|it| offer(it.name));
        let words: BTreeSet<String> = scan(whole)
            .iter()
            .filter(|it| matches!(it.kind, Kind::Word | Kind::QuotedName))
            .map(|it| whole[it.range.clone()].trim_matches('"').to_lowercase())
            .collect();
        for (table, _) in self.session.tables() {
            offer(&table);
            // Columns of the tables that the statement names.
            if words.contains(&table.to_lowercase())
                && let Ok(Some(schema)) = self.session.columns(&table)
            {
                schema.fields.iter().for_each(|it| offer(&it.name));
            }
        }
        (start, names)
    }
}

/// Whether the last word before a blank is one that a table follows.
fn wants_table(text: &str, pieces: &[Piece]) -> bool {
    let mut words = pieces.iter().rev().map(|it| text[it.range.clone()].trim());
    let before = words.find(|it| !it.is_empty()).unwrap_or_default();
    ["FROM", "JOIN", "DESCRIBE", "INTO", "TABLE"].iter().any(|it| before.eq_ignore_ascii_case(it))
}

/// Data files, and folders, whose path begins so; files end in the closing quote.
fn files(prefix: &str) -> BTreeSet<String> {
    let (folder, name) = prefix.rsplit_once('/').map_or(("", prefix), |(folder, name)| {
        // The root keeps its slash.
        (&prefix[..folder.len() + 1], name)
    });
    let path = if folder.is_empty() { Path::new(".") } else { Path::new(folder) };
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let entry_name = entry.file_name().into_string().ok()?;
            let is_hidden = entry_name.starts_with('.') && !name.starts_with('.');
            if !entry_name.starts_with(name) || is_hidden {
                return None;
            }
            match entry.path() {
                it if it.is_dir() => Some(format!("{folder}{entry_name}/")),
                it if is_data(&it) => Some(format!("{folder}{entry_name}'")),
                _ => None,
            }
        })
        .collect()
}

impl Completer for SqlCompleter {
    fn complete(&mut self, text: &str, cursor: usize) -> CompletionResult {
        let before = text.get(..cursor).unwrap_or(text);
        let (start, names) = self.candidates(before, text);
        let suggestion = |value: String| Suggestion {
            append_whitespace: !value.ends_with(['/', '\'']),
            value,
            span: Span { start, end: before.len() },
            ..Suggestion::default()
        };
        CompletionResult::fresh(names.into_iter().map(suggestion).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_tables_and_columns_of_named_tables_are_offered() {
        let session = Arc::new(Session::new().unwrap());
        session.sql("CREATE TABLE lines AS SELECT 1 AS quantity_of_lines").unwrap();
        let completer = SqlCompleter::new(session);
        let offered = |text: &str, whole: &str| completer.candidates(text, whole).1;
        assert!(offered("SEL", "SEL").contains("SELECT"));
        assert!(offered("SELECT * FROM li", "SELECT * FROM li").contains("lines"));
        assert!(offered("SELECT quan", "SELECT quan FROM lines").contains("quantity_of_lines"));
        assert!(!offered("SELECT quan", "SELECT quan").contains("quantity_of_lines"));
        assert!(offered("SELECT 'quan", "SELECT 'quan").is_empty());
        assert!(offered("SELECT * FROM ", "SELECT * FROM ").contains("lines"));
    }

    #[test]
    fn data_files_and_folders_are_offered_inside_quotes() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
        fs::write(at("logs.csv"), "a\n1\n").unwrap();
        fs::write(at("logs.txt"), "").unwrap();
        fs::create_dir(at("logs_of_may")).unwrap();
        let expected = BTreeSet::from([at("logs.csv'"), at("logs_of_may/")]);
        assert_eq!(files(&at("lo")), expected);
        assert!(files("/no/such/folder/x").is_empty());
    }
}
