//! Completion of keywords, tables, columns and functions.

use super::scan::{KEYWORDS, Kind, scan};
use reedline::{Completer, CompletionResult, Span, Suggestion};
use std::{collections::BTreeSet, sync::Arc};
use volley::Session;

pub(super) struct SqlCompleter {
    session: Arc<Session>,
}

impl SqlCompleter {
    pub(super) fn new(session: Arc<Session>) -> SqlCompleter {
        SqlCompleter { session }
    }

    /// What can stand at the end of `text` (which ends at the cursor), and where it begins.
    fn candidates(&self, text: &str, whole: &str) -> (usize, BTreeSet<String>) {
        let pieces = scan(text);
        let Some(last) = pieces.last().filter(|it| it.kind == Kind::Word) else {
            return (text.len(), BTreeSet::new());
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
        registry.scalars().keys().chain(registry.aggregates().keys()).for_each(|it| offer(it));
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

impl Completer for SqlCompleter {
    fn complete(&mut self, text: &str, cursor: usize) -> CompletionResult {
        let before = text.get(..cursor).unwrap_or(text);
        let (start, names) = self.candidates(before, text);
        let suggestion = |value: String| Suggestion {
            value,
            span: Span { start, end: before.len() },
            append_whitespace: true,
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
    }
}
