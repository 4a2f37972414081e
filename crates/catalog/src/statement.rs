//! What a statement sees.

use crate::{
    databases::{Attached, AttachedDatabases, Registered, RegisteredTables, no_database},
    place::{INFORMATION_SCHEMA, MAIN, MEMORY, SchemaPlace, SearchPath, TEMPORARY, parts},
};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};
use volley_connector::{ReferencedName, Snapshot, Table, TableArguments, TableEntry, ViewEntry};
use volley_error::{Error, Result};
use volley_logical::{ExternalTables, NamedTable, RowIds, TableRef, TableResolver};
use volley_plan::TableHandle;
use volley_sql::{Dialect, Home, MacroDefinition, Relation};
use volley_types::Type;

/// What statements can name besides objects of databases: a session provides it.
pub trait Host: Send + Sync {
    /// The table made of a file, glob or folder; of `format`, if it is given.
    ///
    /// # Errors
    ///
    /// I/O, corruption, an unknown format.
    fn file(&self, path: &str, format: Option<&str>) -> Result<Arc<dyn Table>>;

    /// The table of `information_schema` with this name, if there is one.
    fn information(&self, catalog: &StatementCatalog, name: &str)
    -> Option<Result<Arc<dyn Table>>>;

    /// The query of the view of the system with this name, if there is one: `pg_catalog.pg_class`.
    /// A name without a schema means it where nothing else has this name.
    fn view(&self, _name: &str) -> Option<&'static str> {
        None
    }

    /// The macro of the system with this name, if there is one; macros of databases are found
    /// before it.
    fn macro_called(&self, _name: &str) -> Option<MacroDefinition> {
        None
    }

    /// Whether there is a function `name` for FROM, ignoring case.
    fn has_table_function(&self, name: &str) -> bool;

    /// The table that the function `name` makes of its arguments; `types` says which type a text
    /// names.
    ///
    /// # Errors
    ///
    /// Invalid query: no such function, or arguments that do not fit.
    fn table_function(
        &self,
        catalog: &StatementCatalog,
        name: &str,
        arguments: &TableArguments,
        types: &dyn Fn(&str) -> Result<Type>,
    ) -> Result<Arc<dyn Table>>;
}

/// The databases as a statement sees them. Names ignore case.
#[derive(Clone)]
pub struct StatementCatalog {
    attached: Arc<AttachedDatabases>,
    temporary: Arc<Attached>,
    /// By lower-case name; taken when they are first asked for.
    snapshots: Arc<BTreeMap<String, OnceLock<Arc<dyn Snapshot>>>>,
    pub(crate) registered: Arc<RegisteredTables>,
    pub(crate) path: SearchPath,
    host: Arc<dyn Host>,
    external: Arc<ExternalTables>,
    dialect: Dialect,
    /// Whether it is that of a stored text, whose search path is not the session's.
    is_within: bool,
}

/// What a statement catalog is made of.
pub(crate) struct Seen {
    pub attached: Arc<AttachedDatabases>,
    pub temporary: Arc<Attached>,
    /// Of the databases that the session's transaction, or the statement's turn, is in.
    pub snapshots: Vec<(String, Arc<dyn Snapshot>)>,
    pub registered: Arc<RegisteredTables>,
    pub path: SearchPath,
    pub host: Arc<dyn Host>,
    pub dialect: Dialect,
}

/// A table or view, and where it is.
#[derive(Clone, Debug)]
pub struct FoundTable {
    /// Where it is.
    pub place: SchemaPlace,
    /// What it is.
    pub object: Object,
}

/// What the name of a table can stand for.
#[derive(Clone, Debug)]
pub enum Object {
    /// A table that a program registered.
    Registered(Registered),
    /// A table of a database.
    Table(Arc<TableEntry>),
    /// A view.
    View(Arc<ViewEntry>),
}

impl Object {
    /// Its name as written.
    pub fn name(&self) -> &str {
        match self {
            Object::Registered(it) => &it.name,
            Object::Table(it) => &it.name,
            Object::View(it) => &it.name,
        }
    }

    /// Whether it is a view.
    pub fn is_view(&self) -> bool {
        matches!(self, Object::View(_))
    }
}

impl StatementCatalog {
    pub(crate) fn new(seen: Seen) -> StatementCatalog {
        let Seen { attached, temporary, snapshots, registered, path, host, dialect } = seen;
        let names = attached.keys().map(String::as_str).chain([TEMPORARY]);
        let mut all: BTreeMap<String, OnceLock<Arc<dyn Snapshot>>> =
            names.map(|it| (it.to_owned(), OnceLock::new())).collect();
        for (name, snapshot) in snapshots {
            all.insert(name, OnceLock::from(snapshot));
        }
        let external = Arc::default();
        StatementCatalog {
            attached,
            temporary,
            snapshots: Arc::new(all),
            registered,
            path,
            host,
            external,
            dialect,
            is_within: false,
        }
    }

    /// The same databases, with another host.
    pub fn with_host(&self, host: Arc<dyn Host>) -> StatementCatalog {
        let snapshots = self.snapshots.iter();
        let snapshots = snapshots.filter_map(|(name, it)| Some((name.clone(), it.get()?.clone())));
        StatementCatalog::new(Seen {
            attached: Arc::clone(&self.attached),
            temporary: Arc::clone(&self.temporary),
            snapshots: snapshots.collect(),
            registered: Arc::clone(&self.registered),
            path: self.path.clone(),
            host,
            dialect: self.dialect,
        })
    }

    /// The database under a lower-case name.
    pub fn attached(&self, database: &str) -> Result<&Arc<Attached>> {
        match database == TEMPORARY {
            true => Ok(&self.temporary),
            false => {
                self.attached.get(database).ok_or_else(|| no_database(database, &self.attached))
            }
        }
    }

    /// The databases by name, the temporary one last.
    pub fn databases(&self) -> impl Iterator<Item = (&str, &Attached)> {
        let attached = self.attached.iter().map(|(key, it)| (key.as_str(), &**it));
        attached.chain([(TEMPORARY, &*self.temporary)])
    }

    /// The database under a lower-case name, as the statement sees it.
    ///
    /// # Errors
    ///
    /// Invalid query: no such database. I/O.
    pub fn snapshot(&self, database: &str) -> Result<&Arc<dyn Snapshot>> {
        let attached = self.attached(database)?;
        let seen = self.snapshots.get(database);
        let seen = seen.ok_or_else(|| no_database(database, &self.attached))?;
        if let Some(snapshot) = seen.get() {
            return Ok(snapshot);
        }
        let snapshot = attached.database.snapshot()?;
        Ok(seen.get_or_init(|| snapshot))
    }

    /// The schemas that names without one mean.
    pub fn path(&self) -> &SearchPath {
        &self.path
    }

    /// What it can name besides objects of databases.
    pub fn host(&self) -> &Arc<dyn Host> {
        &self.host
    }

    /// The dialect of the session.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// All tables and views, by database, schema and name.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn objects(&self) -> Result<Vec<FoundTable>> {
        let mut all = Vec::new();
        for (database, _) in self.databases() {
            let catalog = self.snapshot(database)?.catalog();
            for (key, schema) in &catalog.schemas {
                let place = SchemaPlace { database: database.to_owned(), schema: key.clone() };
                let mut objects: BTreeMap<&str, Object> = BTreeMap::new();
                for (name, relation) in &schema.relations {
                    objects.insert(name, Object::of(relation));
                }
                for ((in_schema, name), table) in self.registered.iter() {
                    if table.place().database == database && in_schema == key {
                        objects.insert(name, Object::Registered(table.clone()));
                    }
                }
                all.extend(
                    objects.into_values().map(|object| FoundTable { place: place.clone(), object }),
                );
            }
        }
        Ok(all)
    }

    /// The same databases as a text stored at `home` sees them; `None` when that makes no
    /// difference.
    pub fn within(&self, home: &Home) -> Option<StatementCatalog> {
        let first = home.schemas.iter().map(|it| SchemaPlace::new(&home.database, it));
        let path = self.path.after(first.collect());
        (path != self.path).then(|| StatementCatalog { path, is_within: true, ..self.clone() })
    }

    /// How a table or view is called where its place need not be written.
    pub fn short_name(&self, found: &FoundTable) -> String {
        let SchemaPlace { database, schema } = &found.place;
        let name = found.object.name();
        let is_current = found.place == *self.path.current() || database == TEMPORARY;
        match (is_current, *database == self.path.current().database) {
            (true, _) => name.to_owned(),
            (false, true) => format!("{schema}.{name}"),
            (false, false) => format!("{database}.{schema}.{name}"),
        }
    }

    fn named(&self, found: FoundTable) -> Result<Relation> {
        match found.object {
            Object::Registered(it) => {
                let table = it.table;
                let reference = self.external.add(Arc::clone(&table));
                Ok(Relation::Table(NamedTable { reference, table }))
            }
            Object::Table(it) => {
                let (database, table) = (found.place.database, it.id);
                let reference = TableRef::Stored { database, table, row_ids: RowIds::Without };
                let table = self.resolve(&reference)?;
                Ok(Relation::Table(NamedTable { reference, table }))
            }
            Object::View(it) => Ok(Relation::View {
                sql: it.sql.clone(),
                columns: it.columns.clone(),
                dialect: it.dialect.parse()?,
                home: Home { database: found.place.database, schemas: it.search_path.clone() },
            }),
        }
    }

    /// The table of `information_schema` that a name means, if it means one.
    fn information(&self, name: &str) -> Option<Result<Arc<dyn Table>>> {
        let name = match *parts(name).as_slice() {
            [schema, name] if schema.eq_ignore_ascii_case(INFORMATION_SCHEMA) => name,
            [database, schema, name]
                if schema.eq_ignore_ascii_case(INFORMATION_SCHEMA)
                    && self.attached(&database.to_lowercase()).is_ok() =>
            {
                name
            }
            _ => return None,
        };
        self.host.information(self, name)
    }
}

impl TableResolver for StatementCatalog {
    fn resolve(&self, reference: &TableRef) -> Result<Arc<dyn Table>> {
        match reference {
            TableRef::External(number) => self.external.get(*number),
            TableRef::Stored { database, table, row_ids } => {
                let table = self.snapshot(database)?.table(*table)?;
                match row_ids {
                    RowIds::Without => Ok(table),
                    RowIds::Appended => {
                        let missing = || Error::internal("a table whose rows have no ids");
                        Ok(table.as_stored().ok_or_else(missing)?.with_row_ids)
                    }
                }
            }
        }
    }

    /// The handle of a table names it within its database, so the name of the database is put
    /// before it, but for the default one.
    fn handle(&self, reference: &TableRef) -> Result<TableHandle> {
        let mut handle = TableResolver::resolve(self, reference)?.handle();
        if let TableRef::Stored { database, .. } = reference
            && database != MEMORY
        {
            handle.table = format!("{database}.{}", handle.table);
        }
        Ok(handle)
    }
}

impl volley_sql::Catalog for StatementCatalog {
    fn table(&self, name: &str) -> Result<Option<Relation>> {
        if let Some(table) = self.information(name) {
            let table = table?;
            let reference = self.external.add(Arc::clone(&table));
            return Ok(Some(Relation::Table(NamedTable { reference, table })));
        }
        match self.find_table(name)? {
            Some(found) => self.named(found).map(Some),
            None => Ok(self.host.view(name).map(view_of_system)),
        }
    }

    fn file(&self, path: &str) -> Result<Arc<dyn Table>> {
        self.host.file(path, None)
    }

    fn file_of(&self, path: &str, format: &str) -> Result<Arc<dyn Table>> {
        self.host.file(path, Some(format))
    }

    fn add_external(&self, table: Arc<dyn Table>) -> TableRef {
        self.external.add(table)
    }

    fn resolve(&self, reference: &TableRef) -> Result<Arc<dyn Table>> {
        TableResolver::resolve(self, reference)
    }

    fn within<'s>(&'s self, home: &Home) -> Option<Box<dyn volley_sql::Catalog + 's>> {
        StatementCatalog::within(self, home).map(|it| Box::new(it) as _)
    }

    fn names(&self) -> Vec<String> {
        let all = self.objects().unwrap_or_default();
        all.iter().map(|it| self.short_name(it)).collect()
    }

    fn macro_called(&self, name: &str) -> Option<Arc<MacroDefinition>> {
        let found = self.find_macro(name).ok().flatten();
        found.or_else(|| self.host.macro_called(name).map(Arc::new))
    }

    fn type_called(&self, name: &str) -> Option<Type> {
        self.find_type(name).ok().flatten().map(|it| it.1.data_type.clone())
    }

    fn type_names(&self) -> Vec<String> {
        self.types().unwrap_or_default().into_iter().map(|it| it.1.name.clone()).collect()
    }

    fn sequence_called(&self, name: &str) -> Option<String> {
        let (place, sequence) = self.find_sequence(name).ok().flatten()?;
        let SchemaPlace { database, schema } = &place;
        let current = self.path.current();
        match (self.is_within, place == *current && schema == MAIN) {
            (false, true) => Some(name.to_owned()),
            (false, false) if *database == current.database => {
                Some(format!("{schema}.{}", sequence.name))
            }
            _ => Some(format!("{database}.{schema}.{}", sequence.name)),
        }
    }

    fn current_schemas(&self) -> Vec<(String, String)> {
        let places = self.path.places().iter();
        places.map(|it| (it.database.clone(), it.schema.clone())).collect()
    }

    fn home_of(&self, table: &TableRef) -> Option<Home> {
        let TableRef::Stored { database, .. } = table else { return None };
        Some(Home { database: database.clone(), schemas: vec![MAIN.to_owned()] })
    }

    fn database_of_new(&self, name: &str) -> Option<String> {
        self.new_place(name).ok().map(|it| it.place.database)
    }

    fn referencing(&self, table: &TableRef) -> Option<String> {
        let TableRef::Stored { database, table, .. } = table else { return None };
        let snapshot = self.snapshot(database).ok()?;
        let mut references = snapshot.catalog().references_to(*table);
        references.find(|it| it.table.id != *table).map(|it| it.table.name.clone())
    }

    fn referenced(&self, table: &TableRef) -> Vec<ReferencedName> {
        let TableRef::Stored { database, table, .. } = table else { return Vec::new() };
        let snapshot = self.snapshot(database);
        snapshot.map_or_else(|_| Vec::new(), |it| it.catalog().referenced_names(*table))
    }

    fn has_table_function(&self, name: &str) -> bool {
        self.host.has_table_function(name)
    }

    fn table_function(
        &self,
        name: &str,
        arguments: &TableArguments,
        types: &dyn Fn(&str) -> Result<Type>,
    ) -> Result<Arc<dyn Table>> {
        self.host.table_function(self, name, arguments, types)
    }
}

/// A view of the system, whose text names nothing that a session can change.
fn view_of_system(sql: &str) -> Relation {
    let home = Home { database: MEMORY.to_owned(), schemas: vec![MAIN.to_owned()] };
    Relation::View { sql: sql.to_owned(), columns: Vec::new(), dialect: Dialect::default(), home }
}

impl fmt::Debug for StatementCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.attached.keys()).finish()
    }
}
