//! ATTACH, DETACH, USE and the search path.

use crate::{Session, planning::StatementContext};
use std::{collections::BTreeMap, sync::Arc};
use volley_catalog::{Attached, MAIN, MEMORY, SchemaPlace, SearchPath, TEMPORARY};
use volley_connector::{Database, DatabaseOpener, DatabaseSource, TableOption, WriteAccess};
use volley_connector_memory::MemoryDatabase;
use volley_connector_native::NativeDatabase;
use volley_error::{Error, Result, Span};
use volley_types::nearest_name;

/// The path of a database in memory.
const IN_MEMORY: &str = ":memory:";

/// The type of databases in memory.
const MEMORY_TYPE: &str = "memory";

/// The type of databases at other paths, unless TYPE says another one.
const DEFAULT_TYPE: &str = "native";

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
        source.expect_options(&[])?;
        let types = Arc::new(source.types.clone());
        Ok(Arc::new(NativeDatabase::open(source.path, source.pool, types)?))
    };
    let memory: DatabaseOpener = Arc::new(memory);
    let native: DatabaseOpener = Arc::new(native);
    BTreeMap::from([(MEMORY_TYPE.to_owned(), memory), (DEFAULT_TYPE.to_owned(), native)])
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
    if path != IN_MEMORY {
        session.files.gate().check(&path).map_err(|it| it.span(span))?;
    }
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
    databases.detach(name).map(drop)
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
