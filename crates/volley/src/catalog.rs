//! The catalog: tables and views by name.

use crate::information_schema;
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};
use volley_connector::{Table, TableArgument, TableCall, TableFunction};
use volley_connector_hive::{FileOptions, FileTable};
use volley_connector_memory::{MemoryTable, WriteGuard};
use volley_error::{Error, Result};
use volley_function::Registry;
use volley_sql::{Dialect, DropKind, Relation};
use volley_types::nearest_name;

/// What a name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    /// A table that somebody registered.
    Table(Arc<dyn Table>),
    /// A table that CREATE TABLE made: rows can be added.
    Memory(Arc<MemoryTable>),
    /// A view.
    View { sql: String, columns: Vec<String>, dialect: Dialect },
}

/// Tables and views of a session. Names ignore case.
#[derive(Debug)]
pub(crate) struct Catalog {
    functions: Arc<TableFunctions>,
    names: RwLock<Arc<Names>>,
}

/// What names stand for at one moment.
#[derive(Clone, Debug, Default)]
struct Names {
    /// By [`key`]: the name as written, and what it stands for.
    entries: BTreeMap<String, (String, Entry)>,
    /// Schemas besides `main`, by lower-case name.
    schemas: BTreeMap<String, String>,
}

/// The catalog as it was at one moment: what a statement sees.
#[derive(Clone, Debug)]
pub(crate) struct CatalogSnapshot {
    functions: Arc<TableFunctions>,
    names: Arc<Names>,
    /// The session's, for the texts of views.
    dialect: Dialect,
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

/// The schema of names without one.
pub(crate) const MAIN: &str = "main";

/// What a name is found by: in lower case, without the schema `main`.
fn key(name: &str) -> String {
    let lower = name.to_lowercase();
    match lower.split_once('.') {
        Some((MAIN, rest)) => rest.to_owned(),
        _ => lower,
    }
}

/// The schema of a name, and the name in it.
pub(crate) fn schema_and_name(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or((MAIN, name))
}

impl Catalog {
    pub(crate) fn new(functions: TableFunctions) -> Catalog {
        Catalog { functions: Arc::new(functions), names: RwLock::default() }
    }

    fn read(&self) -> RwLockReadGuard<'_, Arc<Names>> {
        self.names.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Arc<Names>> {
        self.names.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The catalog as it is now.
    pub(crate) fn snapshot(&self, dialect: Dialect) -> CatalogSnapshot {
        let (functions, names) = (Arc::clone(&self.functions), Arc::clone(&self.read()));
        CatalogSnapshot { functions, names, dialect }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Entry> {
        self.read().get(name).cloned()
    }

    /// Waits for the right to change the rows of a table; `None` when it is none that can be
    /// changed. `check` is asked meanwhile whether to go on waiting.
    pub(crate) fn lock(
        &self,
        name: &str,
        check: impl Fn() -> Result<()>,
    ) -> Result<Option<WriteGuard>> {
        loop {
            let Some(Entry::Memory(table)) = self.get(name) else { return Ok(None) };
            let guard = table.lock().acquire(&check)?;
            match self.get(name) {
                // Another table may have its name by now.
                Some(Entry::Memory(table)) if !guard.is_of(table.lock()) => {}
                _ => return Ok(Some(guard)),
            }
        }
    }

    /// Adds or replaces.
    pub(crate) fn put(&self, name: &str, entry: Entry) {
        let mut names = self.write();
        Arc::make_mut(&mut names).entries.insert(key(name), (name.to_owned(), entry));
    }

    /// Takes the name away; false when it was free.
    pub(crate) fn remove(&self, name: &str) -> bool {
        let mut names = self.write();
        Arc::make_mut(&mut names).entries.remove(&key(name)).is_some()
    }

    /// Adds; an error when the name is taken by something that `entry` may not replace, or is one
    /// of no schema.
    pub(crate) fn create(&self, name: &str, entry: Entry, or_replace: bool) -> Result<()> {
        let mut names = self.write();
        names.check_schema(name)?;
        if let Some(old) = names.get(name)
            && (!or_replace || old.is_view() != entry.is_view())
        {
            return Err(taken(name, old));
        }
        Arc::make_mut(&mut names).entries.insert(key(name), (name.to_owned(), entry));
        Ok(())
    }

    /// Puts `new` in the place of the version `old` of a table.
    pub(crate) fn replace(
        &self,
        name: &str,
        old: &Arc<MemoryTable>,
        new: MemoryTable,
    ) -> Result<()> {
        let mut names = self.write();
        match Arc::make_mut(&mut names).entries.get_mut(&key(name)) {
            Some((_, Entry::Memory(current))) if Arc::ptr_eq(current, old) => {
                *current = Arc::new(new);
                Ok(())
            }
            _ => Err(replaced(name)),
        }
    }

    /// Gives the version `old` of a table another name, in its schema unless the name has one.
    pub(crate) fn rename(&self, name: &str, old: &Arc<MemoryTable>, new: &str) -> Result<()> {
        let schema = schema_and_name(name).0;
        let new = match (new.contains('.'), schema) {
            (false, schema) if schema != MAIN => format!("{schema}.{new}"),
            _ => new.to_owned(),
        };
        let mut names = self.write();
        names.check_schema(&new)?;
        if let Some(entry) = names.get(&new) {
            return Err(taken(&new, entry));
        }
        match names.get(name) {
            Some(Entry::Memory(current)) if Arc::ptr_eq(current, old) => {}
            _ => return Err(replaced(name)),
        }
        let entries = &mut Arc::make_mut(&mut names).entries;
        entries.remove(&key(name));
        let renamed = Entry::Memory(Arc::new(old.renamed(&new)));
        entries.insert(key(&new), (new, renamed));
        Ok(())
    }

    pub(crate) fn create_schema(&self, name: &str, if_not_exists: bool) -> Result<()> {
        let mut names = self.write();
        if names.has_schema(name) {
            return match if_not_exists {
                true => Ok(()),
                false => Err(Error::invalid_query(format!("there is already a schema {name}"))),
            };
        }
        if name.contains('.') {
            return Err(Error::unsupported(format!("a schema in another one: {name}")));
        }
        Arc::make_mut(&mut names).schemas.insert(name.to_lowercase(), name.to_owned());
        Ok(())
    }

    pub(crate) fn drop(&self, kind: DropKind, name: &str, if_exists: bool) -> Result<()> {
        let mut names = self.write();
        if matches!(kind, DropKind::Schema | DropKind::SchemaAndAll) {
            return Arc::make_mut(&mut names).drop_schema(name, kind, if_exists);
        }
        let wanted = kind == DropKind::View;
        match names.get(name) {
            Some(entry) if entry.is_view() == wanted => {
                Arc::make_mut(&mut names).entries.remove(&key(name));
                Ok(())
            }
            Some(entry) => {
                let (is, command) =
                    if entry.is_view() { ("view", "VIEW") } else { ("table", "TABLE") };
                Err(Error::invalid_query(format!("{name} is a {is}"))
                    .hint(format!("write DROP {command} {name}")))
            }
            None if if_exists => Ok(()),
            None => {
                let what = if wanted { "view" } else { "table" };
                let error = Error::invalid_query(format!("no such {what}: {name}"));
                let all = names.entries.values().map(|it| it.0.as_str());
                Err(match nearest_name(name, all) {
                    Some(nearest) => error.hint(format!("did you mean {nearest}?")),
                    None => error,
                })
            }
        }
    }

    /// Name and kind of everything, by name.
    pub(crate) fn list(&self) -> Vec<(String, &'static str)> {
        let kind = |entry: &Entry| if entry.is_view() { "view" } else { "table" };
        let names = self.read();
        names.entries.values().map(|(name, entry)| (name.clone(), kind(entry))).collect()
    }
}

impl Names {
    fn get(&self, name: &str) -> Option<&Entry> {
        self.entries.get(&key(name)).map(|it| &it.1)
    }

    fn has_schema(&self, name: &str) -> bool {
        let lower = name.to_lowercase();
        lower == MAIN || lower == information_schema::SCHEMA || self.schemas.contains_key(&lower)
    }

    /// Refuses the name of a new table or view in a schema that is not there.
    fn check_schema(&self, name: &str) -> Result<()> {
        let (schema, _) = schema_and_name(name);
        if schema.eq_ignore_ascii_case(information_schema::SCHEMA) {
            return Err(Error::invalid_query(format!("{schema} cannot be changed")));
        }
        if self.has_schema(schema) {
            return Ok(());
        }
        let error = Error::invalid_query(format!("no such schema: {schema}"));
        Err(error.hint(format!("CREATE SCHEMA {schema} makes it")))
    }

    fn drop_schema(&mut self, name: &str, kind: DropKind, if_exists: bool) -> Result<()> {
        let lower = name.to_lowercase();
        if !self.schemas.contains_key(&lower) {
            return match (if_exists, self.has_schema(name)) {
                (_, true) => {
                    Err(Error::invalid_query(format!("the schema {name} cannot be dropped")))
                }
                (true, false) => Ok(()),
                (false, false) => Err(Error::invalid_query(format!("no such schema: {name}"))),
            };
        }
        let prefix = format!("{lower}.");
        if kind == DropKind::Schema && self.entries.keys().any(|it| it.starts_with(&prefix)) {
            let error = Error::invalid_query(format!("the schema {name} is not empty"));
            return Err(error.hint("DROP SCHEMA ... CASCADE drops what is in it, too"));
        }
        self.entries.retain(|name, _| !name.starts_with(&prefix));
        self.schemas.remove(&lower);
        Ok(())
    }
}

fn taken(name: &str, entry: &Entry) -> Error {
    let kind = if entry.is_view() { "view" } else { "table" };
    Error::invalid_query(format!("there is already a {kind} called {name}"))
}

fn replaced(name: &str) -> Error {
    let error = Error::invalid_query(format!("table was changed by another statement: {name}"));
    error.hint("run the statement again")
}

impl CatalogSnapshot {
    pub(crate) fn get(&self, name: &str) -> Option<&Entry> {
        self.names.get(name)
    }

    /// All names, as written, and what they stand for.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.names.entries.values().map(|it| (it.0.as_str(), &it.1))
    }

    /// The schemas besides `main`.
    pub(crate) fn schemas(&self) -> impl Iterator<Item = &str> {
        self.names.schemas.values().map(String::as_str)
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.functions.registry
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }
}

impl Entry {
    pub(crate) fn is_view(&self) -> bool {
        matches!(self, Entry::View { .. })
    }
}

impl volley_sql::Catalog for CatalogSnapshot {
    fn table(&self, name: &str) -> Result<Option<Relation>> {
        if let Some(table) = information_schema::table(self, name) {
            return table.map(|it| Some(Relation::Table(it)));
        }
        Ok(self.get(name).map(|it| match it.clone() {
            Entry::Table(table) => Relation::Table(table),
            Entry::Memory(table) => Relation::Table(table),
            Entry::View { sql, columns, dialect } => Relation::View { sql, columns, dialect },
        }))
    }

    fn file(&self, path: &str) -> Result<Arc<dyn Table>> {
        Ok(Arc::new(FileTable::open(path, &FileOptions::default())?))
    }

    fn file_of(&self, path: &str, format: &str) -> Result<Arc<dyn Table>> {
        let format = Some(crate::copy::file_format(format)?);
        Ok(Arc::new(FileTable::open(path, &FileOptions { format, ..FileOptions::default() })?))
    }

    fn names(&self) -> Vec<String> {
        self.names.entries.values().map(|it| it.0.clone()).collect()
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
