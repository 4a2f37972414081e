//! ATTACH, DETACH, USE and the search path.

use crate::{Session, planning::StatementContext};
use std::{collections::BTreeMap, path::Path, sync::Arc};
use volley_catalog::{Attached, MAIN, MEMORY, SchemaPlace, SearchPath, TEMPORARY};
use volley_connector::{Database, DatabaseOpener, DatabaseSource, TableOption, WriteAccess};
use volley_connector_memory::MemoryDatabase;
use volley_connector_native::{NativeDatabase, NativeOptions};
use volley_error::{Error, Result, Span};
use volley_types::{Type, Value, nearest_name};

/// The path of a database in memory.
const IN_MEMORY: &str = ":memory:";

/// The type of databases in memory.
const MEMORY_TYPE: &str = "memory";

/// The type of databases at other paths, unless TYPE says another one.
const DEFAULT_TYPE: &str = "native";

/// The option of native databases that says how many rows of an insert are stored on their own.
const BULK_ROWS: &str = "bulk_rows";

/// What opens the databases of ATTACH, by lower-case type.
pub(crate) type Openers = BTreeMap<String, DatabaseOpener>;

/// The openers that every session has.
pub(crate) fn openers() -> Openers {
    let memory = |source: &DatabaseSource<'_>| -> Result<Arc<dyn Database>> {
        if source.path != IN_MEMORY {
            let message = format!("a database in memory has the path {IN_MEMORY}");
            return Err(Error::invalid_query(message));
        }
        source.expect_options(&[])?;
        Ok(Arc::new(MemoryDatabase::named(source.name, source.pool)))
    };
    let native = |source: &DatabaseSource<'_>| -> Result<Arc<dyn Database>> {
        source.expect_options(&[BULK_ROWS])?;
        let types = Arc::new(source.types.clone());
        let mut options = NativeOptions::new(source.pool, types);
        options.access = source.access;
        if let Some(bulk_rows) = source.options.iter().find(|it| it.name == BULK_ROWS) {
            options.bulk_rows = rows_of(bulk_rows)?;
        }
        Ok(Arc::new(NativeDatabase::open_with(source.path, options)?))
    };
    let memory: DatabaseOpener = Arc::new(memory);
    let native: DatabaseOpener = Arc::new(native);
    BTreeMap::from([(MEMORY_TYPE.to_owned(), memory), (DEFAULT_TYPE.to_owned(), native)])
}

impl Session {
    /// Opens the database in a folder of the local file system, or makes it, and makes it the one
    /// that names without a database mean. Returns its name, which comes from the folder's.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sales");
    /// # let path = path.to_string_lossy();
    /// use volley::{Session, connector::WriteAccess};
    ///
    /// let session = Session::new()?;
    /// assert_eq!(session.open_database(&path, WriteAccess::ReadWrite)?, "sales");
    /// session.sql("CREATE TABLE items AS SELECT 'bolt' AS name")?;
    /// session.close()?;
    /// drop(session);
    ///
    /// let session = Session::new()?;
    /// session.open_database(&path, WriteAccess::ReadOnly)?;
    /// let rows = session.sql("FROM sales.items")?.collect_values()?;
    /// assert_eq!(rows, [[volley::Value::text("bolt")]]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// I/O: another process writes the database; opened for reading, there is none. Corruption.
    pub fn open_database(&self, path: &str, access: WriteAccess) -> Result<String> {
        open_database(self, path, access)
    }

    /// Makes the next opening of each attached database fast. Commits are durable without it.
    ///
    /// # Errors
    ///
    /// I/O, out of memory: of the first database that could not be closed.
    pub fn close(&self) -> Result<()> {
        self.catalog.databases().close()
    }

    /// Whether the session is in a transaction, which BEGIN began.
    pub fn is_in_transaction(&self) -> bool {
        self.catalog.transaction_start().is_some()
    }
}

/// What ATTACH says.
pub(crate) struct Attachment {
    pub(crate) path: String,
    pub(crate) name: String,
    pub(crate) if_not_exists: bool,
    pub(crate) options: Vec<TableOption>,
    pub(crate) span: Option<Span>,
}

/// Runs ATTACH.
pub(crate) fn attach(session: &Session, attachment: Attachment) -> Result<()> {
    let Attachment { path, name, if_not_exists, options, span } = attachment;
    let databases = session.catalog.databases();
    if databases.is_attached(&name) {
        return match if_not_exists {
            true => Ok(()),
            false => Err(taken(&name).span(span)),
        };
    }
    let (mut type_name, mut access) = (None, WriteAccess::ReadWrite);
    let mut others = Vec::new();
    for option in options {
        match option.name.as_str() {
            "type" => type_name = Some(option.text()?.to_lowercase()),
            "read_only" if option.boolean()? => access = WriteAccess::ReadOnly,
            "read_only" | "read_write" => {}
            _ => others.push(option),
        }
    }
    let type_name = type_name.unwrap_or_else(|| match path == IN_MEMORY {
        true => MEMORY_TYPE.to_owned(),
        false => DEFAULT_TYPE.to_owned(),
    });
    let opener = session.openers.get(&type_name);
    let opener = opener.ok_or_else(|| no_opener(session, &type_name, &path).span(span))?;
    let pool = session.pool.child("database");
    let (name_written, types) = (name.as_str(), session.registry.types());
    let (path_written, options) = (path.as_str(), others.as_slice());
    let source = DatabaseSource {
        name: name_written,
        path: path_written,
        access,
        options,
        pool: &pool,
        types,
    };
    let database = opener(&source).map_err(|it| it.span(span))?;
    databases.attach(Attached { name, database, access, path }).map_err(|it| it.span(span))
}

/// Runs DETACH.
pub(crate) fn detach(session: &Session, name: &str, if_exists: bool) -> Result<()> {
    let databases = session.catalog.databases();
    if if_exists && !databases.is_attached(name) {
        return Ok(());
    }
    let key = name.to_lowercase();
    let is_own = [MEMORY, TEMPORARY].contains(&key.as_str());
    if !is_own && session.catalog.path().databases().any(|it| it == key) {
        let error = Error::invalid_query(format!("the search path has the database {name}"));
        return Err(error.hint("USE memory changes it"));
    }
    let detached = databases.detach(name)?;
    // All commits are durable without it, and the database is detached whatever happens.
    let _ = detached.database.close();
    Ok(())
}

/// Opens the database in a folder, or makes it, and makes it the one that names without a database
/// mean; its name comes from the folder's.
fn open_database(session: &Session, path: &str, access: WriteAccess) -> Result<String> {
    let name = name_of(path);
    let options = match access {
        WriteAccess::ReadWrite => Vec::new(),
        WriteAccess::ReadOnly => vec![TableOption {
            name: "read_only".to_owned(),
            value: Value::text("true"),
            data_type: Type::Varchar,
            name_span: None,
            span: None,
        }],
    };
    let attachment = Attachment {
        path: path.to_owned(),
        name: name.clone(),
        if_not_exists: false,
        options,
        span: None,
    };
    attach(session, attachment)?;
    // Tables that a program registers are in `memory`.
    let places = [name.as_str(), MEMORY].map(|it| SchemaPlace::new(it, MAIN));
    session.catalog.set_path(SearchPath::new(places.to_vec())?);
    Ok(name)
}

/// The name of a database in a folder: that of the folder, as one that SQL can have.
fn name_of(path: &str) -> String {
    let path = Path::new(path);
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let stem = whole.file_stem().map(|it| it.to_string_lossy().replace([':', '.'], "_"));
    match stem.filter(|it| !it.is_empty()) {
        None => "db".to_owned(),
        Some(stem) if [MEMORY, TEMPORARY, "system"].contains(&stem.to_lowercase().as_str()) => {
            format!("{stem}_db")
        }
        Some(stem) => stem,
    }
}

/// A number of rows as the value of an option.
fn rows_of(option: &TableOption) -> Result<usize> {
    let rows = option.value.as_str().and_then(|it| it.parse().ok());
    rows.ok_or_else(|| {
        let error = Error::invalid_query(format!("{} needs a number of rows", option.name));
        error.span(option.span)
    })
}

/// Runs USE.
pub(crate) fn use_schema(session: &Session, name: &str, cx: &StatementContext) -> Result<()> {
    let place = cx.catalog.find_schema(name)?;
    let main = SchemaPlace::new(&place.database, MAIN);
    let places = if place == main { vec![place] } else { vec![place, main] };
    session.catalog.set_path(SearchPath::new(places)?);
    Ok(())
}

/// Sets the search path: names of schemas, separated by commas.
pub(crate) fn set_search_path(session: &Session, names: &str) -> Result<()> {
    let catalog = session.statement_catalog();
    let names = names.split(',').map(str::trim).filter(|it| !it.is_empty());
    let places = names.map(|it| catalog.find_schema(it)).collect::<Result<_>>()?;
    session.catalog.set_path(SearchPath::new(places)?);
    Ok(())
}

/// The search path, as [`set_search_path`] takes it.
pub(crate) fn search_path(session: &Session) -> String {
    let path = session.catalog.path();
    let names: Vec<String> =
        path.places().iter().map(|it| format!("{}.{}", it.database, it.schema)).collect();
    names.join(",")
}

fn taken(name: &str) -> Error {
    let error = Error::invalid_query(format!("there is already a database called {name}"));
    error.hint("ATTACH ... AS gives it another name")
}

fn no_opener(session: &Session, type_name: &str, path: &str) -> Error {
    let error = Error::unsupported(format!("databases of the type {type_name}: '{path}'"));
    match nearest_name(type_name, session.openers.keys().map(String::as_str)) {
        Some(nearest) => error.hint(format!("did you mean {nearest}?")),
        None => error.hint("SessionBuilder::add_database_opener adds a type"),
    }
}
