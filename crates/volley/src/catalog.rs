//! The catalog: tables and views by name.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};
use volley_connector::{Table, TableArgument, TableCall, TableFunction};
use volley_connector_hive::{FileOptions, FileTable};
use volley_connector_memory::MemoryTable;
use volley_error::{Error, Result};
use volley_function::Registry;
use volley_sql::{DropKind, Relation};
use volley_types::nearest_name;

/// What a name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    /// A table that somebody registered.
    Table(Arc<dyn Table>),
    /// A table that CREATE TABLE made: rows can be added.
    Memory(Arc<MemoryTable>),
    /// A view.
    View { sql: String, columns: Vec<String> },
}

/// Tables and views of a session. Names ignore case.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    functions: TableFunctions,
    /// By lower-case name: the name as written, and what it stands for.
    entries: RwLock<BTreeMap<String, (String, Entry)>>,
}

/// Functions in FROM, by lower-case name, and the registry that they make plans with.
#[derive(Default)]
pub(crate) struct TableFunctions {
    pub(crate) by_name: BTreeMap<String, TableFunction>,
    pub(crate) registry: Arc<Registry>,
}

impl fmt::Debug for TableFunctions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}

impl Catalog {
    pub(crate) fn new(functions: TableFunctions) -> Catalog {
        Catalog { functions, entries: RwLock::default() }
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<String, (String, Entry)>> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<String, (String, Entry)>> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, name: &str) -> Option<Entry> {
        self.read().get(&name.to_lowercase()).map(|it| it.1.clone())
    }

    /// Adds or replaces.
    pub(crate) fn put(&self, name: &str, entry: Entry) {
        self.write().insert(name.to_lowercase(), (name.to_owned(), entry));
    }

    /// Takes the name away; false when it was free.
    pub(crate) fn remove(&self, name: &str) -> bool {
        self.write().remove(&name.to_lowercase()).is_some()
    }

    /// Adds; an error when the name is taken by something that `entry` may not replace.
    pub(crate) fn create(&self, name: &str, entry: Entry, or_replace: bool) -> Result<()> {
        let mut entries = self.write();
        if let Some((_, old)) = entries.get(&name.to_lowercase())
            && (!or_replace || old.is_view() != entry.is_view())
        {
            let kind = if old.is_view() { "view" } else { "table" };
            return Err(Error::invalid_query(format!("there is already a {kind} called {name}")));
        }
        entries.insert(name.to_lowercase(), (name.to_owned(), entry));
        Ok(())
    }

    /// Puts `new` in the place of the table `old`; false when that was replaced in the meantime.
    pub(crate) fn swap(&self, name: &str, old: &Arc<MemoryTable>, new: MemoryTable) -> bool {
        let mut entries = self.write();
        match entries.get_mut(&name.to_lowercase()) {
            Some((_, Entry::Memory(current))) if Arc::ptr_eq(current, old) => {
                *current = Arc::new(new);
                true
            }
            _ => false,
        }
    }

    pub(crate) fn drop(&self, kind: DropKind, name: &str, if_exists: bool) -> Result<()> {
        let mut entries = self.write();
        let wanted = kind == DropKind::View;
        match entries.get(&name.to_lowercase()) {
            Some((_, entry)) if entry.is_view() == wanted => {
                entries.remove(&name.to_lowercase());
                Ok(())
            }
            Some((_, entry)) => {
                let (is, command) =
                    if entry.is_view() { ("view", "VIEW") } else { ("table", "TABLE") };
                Err(Error::invalid_query(format!("{name} is a {is}"))
                    .hint(format!("write DROP {command} {name}")))
            }
            None if if_exists => Ok(()),
            None => {
                let what = if wanted { "view" } else { "table" };
                let error = Error::invalid_query(format!("no such {what}: {name}"));
                let names = entries.values().map(|it| it.0.as_str());
                Err(match nearest_name(name, names) {
                    Some(nearest) => error.hint(format!("did you mean {nearest}?")),
                    None => error,
                })
            }
        }
    }

    /// Name and kind of everything, by name.
    pub(crate) fn list(&self) -> Vec<(String, &'static str)> {
        let kind = |entry: &Entry| if entry.is_view() { "view" } else { "table" };
        self.read().values().map(|(name, entry)| (name.clone(), kind(entry))).collect()
    }
}

impl Entry {
    fn is_view(&self) -> bool {
        matches!(self, Entry::View { .. })
    }
}

impl volley_sql::Catalog for Catalog {
    fn table(&self, name: &str) -> Result<Option<Relation>> {
        Ok(self.get(name).map(|it| match it {
            Entry::Table(table) => Relation::Table(table),
            Entry::Memory(table) => Relation::Table(table),
            Entry::View { sql, columns } => Relation::View { sql, columns },
        }))
    }

    fn file(&self, path: &str) -> Result<Arc<dyn Table>> {
        Ok(Arc::new(FileTable::open(path, &FileOptions::default())?))
    }

    fn names(&self) -> Vec<String> {
        self.read().values().map(|it| it.0.clone()).collect()
    }

    fn has_table_function(&self, name: &str) -> bool {
        self.functions.by_name.contains_key(&name.to_lowercase())
    }

    fn table_function(&self, name: &str, arguments: &[TableArgument]) -> Result<Arc<dyn Table>> {
        let function = self.functions.by_name.get(&name.to_lowercase());
        let missing = || Error::invalid_query(format!("no such table function: {name}"));
        let registry = &self.functions.registry;
        function.ok_or_else(missing)?(&TableCall { name, arguments, registry })
    }
}
