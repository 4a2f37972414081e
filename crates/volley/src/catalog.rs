//! The catalog: tables and views by name.

use crate::{
    comment::ViewComments,
    information_schema,
    named_type::NamedType,
    readers::file_options,
    sequence::{LastNumbers, Sequence, SessionSequences, no_sequence},
    temporary::{TemporarySchema, plain_name},
    transaction::Transaction,
};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
};
use volley_connector::{Table, TableArguments, TableCall, TableFunction};
use volley_connector_hive::{FileOptions, FileTable};
use volley_connector_memory::{MemoryTable, WriteGuard};
use volley_error::{Error, Result};
use volley_function::Registry;
use volley_io::FileSystems;
use volley_memory::Pool;
use volley_sql::{
    Dialect, DropKind, MacroDefinition, Relation, SequenceDefinition, TEMPORARY_SCHEMA,
};
use volley_types::{Type, nearest_name};

/// What a name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    /// A table that a program registered.
    Table(Arc<dyn Table>),
    /// A table that CREATE TABLE made: rows can be added.
    Memory(Arc<MemoryTable>),
    /// A view.
    View { sql: String, columns: Vec<String>, dialect: Dialect, comments: ViewComments },
}

/// Tables and views as a session sees them. Names ignore case.
#[derive(Debug)]
pub(crate) struct Catalog {
    functions: Arc<TableFunctions>,
    /// What all sessions see that share the tables.
    pub(crate) shared: Arc<RwLock<Arc<Names>>>,
    /// What this session sees instead while it is in a transaction. Locked before `shared`.
    transaction: Mutex<Option<Transaction>>,
    /// What sequences gave this session.
    last_numbers: Arc<LastNumbers>,
    pub(crate) temporary: TemporarySchema,
}

/// What names stand for at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// By [`key`]: the name as written, and what it stands for.
    pub(crate) entries: BTreeMap<String, (String, Entry)>,
    /// Schemas besides `main`, by lower-case name.
    pub(crate) schemas: BTreeMap<String, String>,
    /// Sequences, by [`key`].
    pub(crate) sequences: BTreeMap<String, Arc<Sequence>>,
    /// Types made by CREATE TYPE, by [`key`].
    pub(crate) types: BTreeMap<String, Arc<NamedType>>,
    /// Macros, by [`key`].
    pub(crate) macros: BTreeMap<String, Arc<MacroDefinition>>,
}

/// The catalog as it was at one moment: what a statement sees.
#[derive(Clone, Debug)]
pub(crate) struct CatalogSnapshot {
    functions: Arc<TableFunctions>,
    names: Arc<Names>,
    temporary: TemporarySchema,
    /// The session's, for the texts of views.
    dialect: Dialect,
}

/// Functions in FROM, by lower-case name, the registry that they make plans with, where files are,
/// and what tables are charged to until a query reads them.
pub(crate) struct TableFunctions {
    pub(crate) by_name: BTreeMap<String, TableFunction>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) files: FileSystems,
    pub(crate) pool: Pool,
}

impl fmt::Debug for TableFunctions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}

/// The only database.
pub(crate) const DATABASE: &str = "memory";

/// The schema of names without one.
pub(crate) const MAIN: &str = "main";

/// What a name is found by: in lower case, without the database `memory` and the schema `main`.
pub(crate) fn key(name: &str) -> String {
    let lower = without_database(name).to_lowercase();
    match lower.split_once('.') {
        Some((MAIN, rest)) => rest.to_owned(),
        _ => lower,
    }
}

/// The schema of a name, and the name in it.
pub(crate) fn schema_and_name(name: &str) -> (&str, &str) {
    without_database(name).rsplit_once('.').unwrap_or((MAIN, name))
}

/// A new name for what is called `name`: in its schema, unless it has one.
fn beside(name: &str, new: &str) -> String {
    match (new.contains('.'), schema_and_name(name).0) {
        (false, schema) if schema != MAIN => format!("{schema}.{new}"),
        _ => new.to_owned(),
    }
}

/// `memory.schema.name` as `schema.name`.
fn without_database(name: &str) -> &str {
    match name.split_once('.') {
        Some((first, rest)) if first.eq_ignore_ascii_case(DATABASE) && rest.contains('.') => rest,
        _ => name,
    }
}

impl Catalog {
    pub(crate) fn new(functions: TableFunctions) -> Catalog {
        Catalog {
            functions: Arc::new(functions),
            shared: Arc::default(),
            transaction: Mutex::default(),
            last_numbers: Arc::default(),
            temporary: TemporarySchema::new(),
        }
    }

    /// The same tables and views for another session.
    pub(crate) fn share(&self) -> Catalog {
        let (functions, shared) = (Arc::clone(&self.functions), Arc::clone(&self.shared));
        let (transaction, last_numbers) = (Mutex::default(), Arc::default());
        let temporary = TemporarySchema::new();
        Catalog { functions, shared, transaction, last_numbers, temporary }
    }

    pub(crate) fn transaction(&self) -> MutexGuard<'_, Option<Transaction>> {
        self.transaction.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What names stand for now.
    pub(crate) fn names(&self) -> Arc<Names> {
        match &*self.transaction() {
            Some(transaction) => Arc::clone(transaction.names()),
            None => Arc::clone(&self.shared.read().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Changes what names stand for; `change` leaves all as it was when it fails.
    fn change<T>(&self, change: impl FnOnce(&mut Names) -> Result<T>) -> Result<T> {
        match &mut *self.transaction() {
            Some(transaction) => change(transaction.names_mut()),
            None => {
                let mut shared = self.shared.write().unwrap_or_else(PoisonError::into_inner);
                change(Arc::make_mut(&mut shared))
            }
        }
    }

    /// Begins a transaction, at `start_micros`: from now on this session sees its own changes and
    /// no others.
    pub(crate) fn begin(&self, start_micros: i64) -> Result<()> {
        let mut transaction = self.transaction();
        if transaction.is_some() {
            let error = Error::invalid_query("there is a transaction already");
            return Err(error.hint("COMMIT or ROLLBACK ends it"));
        }
        let shared = self.shared.read().unwrap_or_else(PoisonError::into_inner);
        *transaction = Some(Transaction::new(&shared, start_micros));
        Ok(())
    }

    /// Ends the transaction: others see its changes, all at once; none of them, after an error.
    /// `check` is asked whether to go on waiting for who changes the same tables.
    pub(crate) fn commit(&self) -> Result<()> {
        let mut transaction = self.transaction().take().ok_or_else(no_transaction)?;
        transaction.check_not_aborted("none of its changes were made; it is rolled back")?;
        if self.temporary.has_to_commit(transaction.names()) {
            self.temporary.commit(transaction.names_mut());
        }
        // A statement that changes existing rows relies on being the only one.
        let locks = transaction.locks();
        let _guards = locks.iter().map(|it| it.acquire()).collect::<Result<Vec<WriteGuard>>>()?;
        let mut shared = self.shared.write().unwrap_or_else(PoisonError::into_inner);
        transaction.publish(&mut shared)
    }

    /// Ends the transaction: its changes are gone.
    pub(crate) fn roll_back(&self) -> Result<()> {
        self.transaction().take().map(drop).ok_or_else(no_transaction)
    }

    /// Does something to the transaction.
    pub(crate) fn in_transaction<T>(
        &self,
        change: impl FnOnce(&mut Transaction) -> Result<T>,
    ) -> Result<T> {
        change(self.transaction().as_mut().ok_or_else(no_transaction)?)
    }

    /// Lets the transaction, if there is one, do nothing more than end.
    pub(crate) fn abort(&self) {
        if let Some(transaction) = &mut *self.transaction() {
            transaction.abort();
        }
    }

    /// Refuses to go on in a transaction that was aborted.
    pub(crate) fn check_not_aborted(&self) -> Result<()> {
        let check = |it: &Transaction| it.check_not_aborted("ROLLBACK ends it");
        self.transaction().as_ref().map_or(Ok(()), check)
    }

    /// The catalog as it is now.
    pub(crate) fn snapshot(&self, dialect: Dialect) -> CatalogSnapshot {
        let (functions, temporary) = (Arc::clone(&self.functions), self.temporary.clone());
        CatalogSnapshot { functions, names: self.names(), temporary, dialect }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Entry> {
        let names = self.names();
        names.get(&self.temporary.key_of(&names, name)).cloned()
    }

    /// Whether [`Catalog::create`] would find this name taken.
    pub(crate) fn is_taken(&self, name: &str) -> bool {
        self.names().get(&self.temporary.key_of_new(name)).is_some()
    }

    /// The sequences as they are now.
    pub(crate) fn sequences(&self) -> SessionSequences {
        SessionSequences { names: self.names(), last: Arc::clone(&self.last_numbers) }
    }

    /// Waits for the right to change the rows of a table; `None` when it is none that can be
    /// changed.
    ///
    /// # Errors
    ///
    /// The statement was cancelled meanwhile.
    pub(crate) fn lock(&self, name: &str) -> Result<Option<WriteGuard>> {
        loop {
            let Some(Entry::Memory(table)) = self.get(name) else { return Ok(None) };
            let guard = table.lock().acquire()?;
            match self.get(name) {
                // Another table may have its name by now.
                Some(Entry::Memory(table)) if !guard.is_of(table.lock()) => {}
                _ => return Ok(Some(guard)),
            }
        }
    }

    /// Adds or replaces.
    pub(crate) fn put(&self, name: &str, entry: Entry) {
        let put = |names: &mut Names| {
            names.entries.insert(key(name), (name.to_owned(), entry));
            Ok(())
        };
        // Cannot fail.
        let _ = self.change(put);
    }

    /// Takes the name away; false when it was free.
    pub(crate) fn remove(&self, name: &str) -> bool {
        let remove = |names: &mut Names| {
            let key = self.temporary.key_of(names, name);
            Ok(names.entries.remove(&key).is_some())
        };
        self.change(remove).unwrap_or_default()
    }

    /// Adds; an error when the name is taken by something that `entry` may not replace, or is one
    /// of no schema.
    pub(crate) fn create(&self, name: &str, entry: Entry, or_replace: bool) -> Result<()> {
        self.change(|names| {
            names.check_schema(name)?;
            let key = self.temporary.key_of_new(name);
            if let Some(old) = names.get(&key)
                && (!or_replace || old.is_view() != entry.is_view())
            {
                return Err(taken(name, old));
            }
            names.entries.insert(key, (name.to_owned(), entry));
            Ok(())
        })
    }

    /// Puts `new` in the place of the version `old` of a table.
    pub(crate) fn replace(
        &self,
        name: &str,
        old: &Arc<MemoryTable>,
        new: MemoryTable,
    ) -> Result<()> {
        self.change(|names| match names.entries.get_mut(&self.temporary.key_of(names, name)) {
            Some((_, Entry::Memory(current))) if Arc::ptr_eq(current, old) => {
                *current = Arc::new(new);
                Ok(())
            }
            _ => Err(replaced(name)),
        })
    }

    /// Gives the version `old` of a table another name, in its schema unless the name has one.
    pub(crate) fn rename(&self, name: &str, old: &Arc<MemoryTable>, new: &str) -> Result<()> {
        self.change(|names| {
            let key = self.temporary.key_of(names, name);
            match names.get(&key) {
                Some(Entry::Memory(current)) if Arc::ptr_eq(current, old) => {}
                _ => return Err(replaced(name)),
            }
            self.move_entry(names, &key, new, |new, _| Entry::Memory(Arc::new(old.renamed(new))))
        })
    }

    /// Says something about a table or view, or one of its columns.
    pub(crate) fn comment(
        &self,
        name: &str,
        column: Option<&str>,
        text: Option<String>,
    ) -> Result<()> {
        self.change(|names| match names.entries.get_mut(&self.temporary.key_of(names, name)) {
            Some((_, entry)) => entry.comment(name, column, text),
            None => Err(replaced(name)),
        })
    }

    /// Gives a view another name, in its schema unless the name has one.
    pub(crate) fn rename_view(&self, name: &str, new: &str, if_exists: bool) -> Result<()> {
        self.change(|names| {
            let key = self.temporary.key_of(names, name);
            match names.get(&key) {
                None if if_exists => return Ok(()),
                None => return Err(Error::invalid_query(format!("no such view: {name}"))),
                Some(entry) if !entry.is_view() => {
                    let error = Error::invalid_query(format!("{name} is a table"));
                    return Err(error.hint(format!("write ALTER TABLE {name} RENAME TO {new}")));
                }
                Some(_) => {}
            }
            self.move_entry(names, &key, new, |_, view| view)
        })
    }

    /// Puts what has a key under a new name, in its schema unless the name has one.
    fn move_entry(
        &self,
        names: &mut Names,
        key: &str,
        new: &str,
        renamed: impl FnOnce(&str, Entry) -> Entry,
    ) -> Result<()> {
        let old = names.entries.get(key).map_or(key, |it| it.0.as_str());
        let new = beside(old, new);
        names.check_schema(&new)?;
        let new_key = self.temporary.key_of_new(&new);
        if let Some(entry) = names.get(&new_key) {
            return Err(taken(&new, entry));
        }
        if let Some((_, entry)) = names.entries.remove(key) {
            let entry = renamed(&new, entry);
            names.entries.insert(new_key, (new, entry));
        }
        Ok(())
    }

    pub(crate) fn create_sequence(
        &self,
        name: &str,
        definition: SequenceDefinition,
        or_replace: bool,
    ) -> Result<()> {
        self.change(|names| {
            names.check_schema(name)?;
            if !or_replace && names.sequence(name).is_some() {
                let message = format!("there is already a sequence called {name}");
                return Err(Error::invalid_query(message));
            }
            names.sequences.insert(key(name), Arc::new(Sequence::new(definition)));
            Ok(())
        })
    }

    pub(crate) fn create_macro(
        &self,
        name: &str,
        definition: MacroDefinition,
        or_replace: bool,
    ) -> Result<()> {
        self.change(|names| {
            names.check_schema(name)?;
            if !or_replace && names.macros.contains_key(&key(name)) {
                let message = format!("there is already a macro called {name}");
                return Err(Error::invalid_query(message));
            }
            names.macros.insert(key(name), Arc::new(definition));
            Ok(())
        })
    }

    pub(crate) fn create_type(&self, new: NamedType, or_replace: bool) -> Result<()> {
        self.change(|names| {
            names.check_schema(&new.name)?;
            names.create_type(new, or_replace)
        })
    }

    pub(crate) fn create_schema(&self, name: &str, if_not_exists: bool) -> Result<()> {
        self.change(|names| {
            if names.has_schema(name) {
                return match if_not_exists {
                    true => Ok(()),
                    false => Err(Error::invalid_query(format!("there is already a schema {name}"))),
                };
            }
            if name.contains('.') {
                return Err(Error::unsupported(format!("a schema in another one: {name}")));
            }
            names.schemas.insert(name.to_lowercase(), name.to_owned());
            Ok(())
        })
    }

    pub(crate) fn drop(&self, kind: DropKind, name: &str, if_exists: bool) -> Result<()> {
        self.change(|names| match kind {
            DropKind::Schema | DropKind::SchemaAndAll => names.drop_schema(name, kind, if_exists),
            DropKind::Table | DropKind::View => {
                let key = self.temporary.key_of(names, name);
                names.drop_entry(&key, name, kind, if_exists)
            }
            DropKind::Type | DropKind::TypeAndUsers => names.drop_type(name, kind, if_exists),
            DropKind::Sequence => names.drop_sequence(name, if_exists),
            DropKind::Macro => match names.macros.remove(&key(name)) {
                None if !if_exists => Err(Error::invalid_query(format!("no such macro: {name}"))),
                _ => Ok(()),
            },
        })
    }

    /// Name and kind of everything, by name.
    pub(crate) fn list(&self) -> Vec<(String, &'static str)> {
        let kind = |entry: &Entry| if entry.is_view() { "view" } else { "table" };
        let names = self.names();
        let seen = names.entries.iter().filter(|it| self.temporary.sees(it.0));
        seen.map(|(_, (name, entry))| (plain_name(name).to_owned(), kind(entry))).collect()
    }
}

impl Drop for Catalog {
    fn drop(&mut self) {
        self.temporary.forget(&self.shared);
    }
}

impl Names {
    /// What has a key.
    fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.get(key).map(|it| &it.1)
    }

    pub(crate) fn sequence(&self, name: &str) -> Option<&Arc<Sequence>> {
        self.sequences.get(&key(name))
    }

    fn drop_sequence(&mut self, name: &str, if_exists: bool) -> Result<()> {
        if self.sequence(name).is_none() {
            return if if_exists { Ok(()) } else { Err(no_sequence(name)) };
        }
        let is_used = |it: &MemoryTable| {
            let defaults = it.definition().columns.iter().filter_map(|it| it.default.as_deref());
            let mut used = defaults.flat_map(volley_sql::sequences_of);
            used.any(|it| key(&it) == key(name))
        };
        let user = self
            .entries
            .values()
            .find(|(_, entry)| matches!(entry, Entry::Memory(table) if is_used(table)));
        if let Some((table, _)) = user {
            let message = format!("sequence {name} gives a column of {table} its DEFAULT");
            let error = Error::invalid_query(message);
            return Err(error.hint("ALTER TABLE ... ALTER COLUMN ... DROP DEFAULT takes it away"));
        }
        self.sequences.remove(&key(name));
        Ok(())
    }

    fn has_schema(&self, name: &str) -> bool {
        let lower = name.to_lowercase();
        let own = [MAIN, information_schema::SCHEMA, TEMPORARY_SCHEMA];
        own.contains(&lower.as_str()) || self.schemas.contains_key(&lower)
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

    /// Drops a table or view, which was called `name`.
    fn drop_entry(&mut self, key: &str, name: &str, kind: DropKind, if_exists: bool) -> Result<()> {
        let wanted = kind == DropKind::View;
        match self.get(key) {
            Some(entry) if entry.is_view() == wanted => {
                self.entries.remove(key);
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
                let all = self.entries.values().map(|it| it.0.as_str());
                Err(match nearest_name(name, all) {
                    Some(nearest) => error.hint(format!("did you mean {nearest}?")),
                    None => error,
                })
            }
        }
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
        let named = self.entries.keys().chain(self.types.keys());
        let mut inside = named.chain(self.sequences.keys()).chain(self.macros.keys());
        if kind == DropKind::Schema && inside.any(|it| it.starts_with(&prefix)) {
            let error = Error::invalid_query(format!("the schema {name} is not empty"));
            return Err(error.hint("DROP SCHEMA ... CASCADE drops what is in it, too"));
        }
        self.entries.retain(|name, _| !name.starts_with(&prefix));
        self.types.retain(|name, _| !name.starts_with(&prefix));
        self.sequences.retain(|name, _| !name.starts_with(&prefix));
        self.macros.retain(|name, _| !name.starts_with(&prefix));
        self.schemas.remove(&lower);
        Ok(())
    }
}

fn no_transaction() -> Error {
    Error::invalid_query("there is no transaction").hint("BEGIN begins one")
}

fn taken(name: &str, entry: &Entry) -> Error {
    let kind = if entry.is_view() { "view" } else { "table" };
    Error::invalid_query(format!("there is already a {kind} called {name}"))
}

pub(crate) fn replaced(name: &str) -> Error {
    let error = Error::invalid_query(format!("table was changed by another statement: {name}"));
    error.hint("run the statement again")
}

impl CatalogSnapshot {
    pub(crate) fn get(&self, name: &str) -> Option<&Entry> {
        self.names.get(&self.temporary.key_of(&self.names, name))
    }

    /// All names, as written, and what they stand for.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &Entry)> {
        let seen = self.names.entries.iter().filter(|it| self.temporary.sees(it.0));
        seen.map(|(_, it)| (it.0.as_str(), &it.1))
    }

    /// The schemas besides `main`.
    pub(crate) fn schemas(&self) -> impl Iterator<Item = &str> {
        self.names.schemas.values().map(String::as_str)
    }

    /// The types made by CREATE TYPE.
    pub(crate) fn types(&self) -> impl Iterator<Item = &NamedType> {
        self.names.types.values().map(Arc::as_ref)
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.functions.registry
    }

    /// What tables of files and of lists are charged to.
    pub(crate) fn pool(&self) -> &Pool {
        &self.functions.pool
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }
}

impl Entry {
    /// Whether this is the same table, view or version.
    pub(crate) fn is_same(&self, other: &Entry) -> bool {
        match (self, other) {
            (Entry::Table(a), Entry::Table(b)) => Arc::ptr_eq(a, b),
            (Entry::Memory(a), Entry::Memory(b)) => Arc::ptr_eq(a, b),
            (
                Entry::View { sql: a, columns: a_columns, dialect: a_dialect, comments },
                Entry::View { sql: b, columns: b_columns, dialect: b_dialect, comments: others },
            ) => a == b && a_columns == b_columns && a_dialect == b_dialect && comments == others,
            _ => false,
        }
    }

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
            Entry::View { sql, columns, dialect, .. } => Relation::View { sql, columns, dialect },
        }))
    }

    fn file(&self, path: &str) -> Result<Arc<dyn Table>> {
        Ok(Arc::new(FileTable::open(path, &file_options(&self.functions.files, self.pool()))?))
    }

    fn file_of(&self, path: &str, format: &str) -> Result<Arc<dyn Table>> {
        let format = Some(crate::copy::file_format(format)?);
        let options = FileOptions { format, ..file_options(&self.functions.files, self.pool()) };
        Ok(Arc::new(FileTable::open(path, &options)?))
    }

    fn names(&self) -> Vec<String> {
        self.entries().map(|it| plain_name(it.0).to_owned()).collect()
    }

    fn macro_called(&self, name: &str) -> Option<Arc<MacroDefinition>> {
        self.names.macros.get(&key(name)).cloned()
    }

    fn type_called(&self, name: &str) -> Option<Type> {
        self.names.types.get(&key(name)).map(|it| it.data_type.clone())
    }

    fn type_names(&self) -> Vec<String> {
        self.types().map(|it| it.name.clone()).collect()
    }

    fn has_sequence(&self, name: &str) -> bool {
        self.names.sequence(name).is_some()
    }

    fn has_table_function(&self, name: &str) -> bool {
        self.functions.by_name.contains_key(&name.to_lowercase())
    }

    fn table_function(
        &self,
        name: &str,
        arguments: &TableArguments,
        types: &dyn Fn(&str) -> Result<Type>,
    ) -> Result<Arc<dyn Table>> {
        let function = self.functions.by_name.get(&name.to_lowercase());
        let missing = || Error::invalid_query(format!("no such table function: {name}"));
        let registry = &self.functions.registry;
        let TableArguments { arguments, options } = arguments;
        function.ok_or_else(missing)?(&TableCall { name, arguments, options, registry, types })
    }
}
