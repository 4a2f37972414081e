//! Temporary tables and views: they are in the schema `temp`, which each session has for itself,
//! and are found before others of the same name.
//!
//! ```text
//! as written      temp.x; or x, where the session has a temporary x
//! key             "temp 7.x", of the session with the number 7
//! ```

use crate::catalog::{Entry, Names, key};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    sync::{Arc, PoisonError, RwLock},
};
use volley_connector::OnCommit;
use volley_connector_memory::MemoryTable;
use volley_sql::TEMPORARY_SCHEMA;

/// The schema `temp` of one session.
#[derive(Clone, Debug)]
pub(crate) struct TemporarySchema {
    /// What the keys of its tables and views begin with.
    prefix: Arc<str>,
}

/// How many there were.
static SCHEMAS: AtomicU64 = AtomicU64::new(0);

impl TemporarySchema {
    /// A new one, without tables.
    pub(crate) fn new() -> TemporarySchema {
        let number = SCHEMAS.fetch_add(1, Ordering::Relaxed);
        TemporarySchema { prefix: format!("{TEMPORARY_SCHEMA} {number}.").into() }
    }

    /// The key of a new table or view of this name.
    pub(crate) fn key_of_new(&self, name: &str) -> String {
        let key = key(name);
        match key.split_once('.') {
            Some((TEMPORARY_SCHEMA, rest)) => format!("{}{rest}", self.prefix),
            _ => key,
        }
    }

    /// The key of what this name stands for, if it stands for something.
    pub(crate) fn key_of(&self, names: &Names, name: &str) -> String {
        let key = self.key_of_new(name);
        let own = format!("{}{key}", self.prefix);
        if !name.contains('.') && names.entries.contains_key(&own) { own } else { key }
    }

    /// Whether the session sees what has this key: not what is temporary in others.
    pub(crate) fn sees(&self, key: &str) -> bool {
        let rest = key.strip_prefix(TEMPORARY_SCHEMA);
        !rest.is_some_and(|it| it.starts_with(' ')) || key.starts_with(&*self.prefix)
    }

    /// Whether COMMIT changes one of the session's tables.
    pub(crate) fn has_to_commit(&self, names: &Names) -> bool {
        self.own(names).any(|(_, table)| match table.definition().on_commit {
            OnCommit::PreserveRows => false,
            OnCommit::DeleteRows => table.rows() > 0,
            OnCommit::Drop => true,
        })
    }

    /// Deletes the rows of the session's tables, or drops them, as ON COMMIT says.
    pub(crate) fn commit(&self, names: &mut Names) {
        let mut changed = Vec::new();
        for (key, table) in self.own(names) {
            match table.definition().on_commit {
                OnCommit::DeleteRows if table.rows() > 0 => {
                    changed.push((key.clone(), Some(Arc::new(table.without_rows()))));
                }
                OnCommit::PreserveRows | OnCommit::DeleteRows => {}
                OnCommit::Drop => changed.push((key.clone(), None)),
            }
        }
        for (key, table) in changed {
            match (table, names.entries.get_mut(&key)) {
                (Some(table), Some(entry)) => entry.1 = Entry::Memory(table),
                _ => drop(names.entries.remove(&key)),
            }
        }
    }

    /// The session's tables, by key.
    fn own<'n>(
        &self,
        names: &'n Names,
    ) -> impl Iterator<Item = (&'n String, &'n Arc<MemoryTable>)> {
        let behind = names.entries.range(self.prefix.to_string()..);
        let own = behind.take_while(|it| it.0.starts_with(&*self.prefix));
        own.filter_map(|(key, (_, entry))| match entry {
            Entry::Memory(table) => Some((key, table)),
            _ => None,
        })
    }

    /// The session ends, and with it what is temporary.
    pub(crate) fn forget(&self, shared: &RwLock<Arc<Names>>) {
        let is_own = |key: &String| key.starts_with(&*self.prefix);
        let has_own = |names: &Names| names.entries.keys().any(is_own);
        if has_own(&shared.read().unwrap_or_else(PoisonError::into_inner)) {
            let mut names = shared.write().unwrap_or_else(PoisonError::into_inner);
            Arc::make_mut(&mut names).entries.retain(|key, _| !is_own(key));
        }
    }
}

/// The name without the schema `temp`.
pub(crate) fn plain_name(name: &str) -> &str {
    match name.split_once('.') {
        Some((schema, rest)) if schema.eq_ignore_ascii_case(TEMPORARY_SCHEMA) => rest,
        _ => name,
    }
}
