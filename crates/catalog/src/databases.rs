//! The databases that all sessions share.

use crate::place::{MAIN, MEMORY, SchemaPlace, TEMPORARY};
use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};
use volley_connector::{Database, Table, WriteAccess};
use volley_error::{Error, Result};
use volley_types::nearest_name;

/// A database under a name.
#[derive(Debug)]
pub struct Attached {
    /// The name as written.
    pub name: String,
    /// The database.
    pub database: Arc<dyn Database>,
    /// Whether statements may change it.
    pub access: WriteAccess,
    /// What it was opened from; `:memory:` for one in memory.
    pub path: String,
}

/// A table that a program registered. It is in the database `memory`.
#[derive(Clone, Debug)]
pub struct Registered {
    /// The name of its schema as written.
    pub schema: String,
    /// Its name as written.
    pub name: String,
    /// The table.
    pub table: Arc<dyn Table>,
}

/// Registered tables, by schema and name in lower case.
pub(crate) type RegisteredTables = BTreeMap<(String, String), Registered>;

/// Attached databases, by lower-case name.
pub(crate) type AttachedDatabases = BTreeMap<String, Arc<Attached>>;

/// The databases and registered tables that all sessions share.
#[derive(Debug)]
pub struct Databases {
    attached: RwLock<Arc<AttachedDatabases>>,
    pub(crate) registered: RwLock<Arc<RegisteredTables>>,
}

impl Databases {
    /// The database `memory`.
    pub fn new(memory: Arc<dyn Database>) -> Databases {
        let (name, access) = (MEMORY.to_owned(), WriteAccess::ReadWrite);
        let path = ":memory:".to_owned();
        let memory = Arc::new(Attached { name, database: memory, access, path });
        let attached = BTreeMap::from([(MEMORY.to_owned(), memory)]);
        Databases { attached: RwLock::new(Arc::new(attached)), registered: RwLock::default() }
    }

    /// Those that are attached now.
    pub(crate) fn attached(&self) -> Arc<AttachedDatabases> {
        Arc::clone(&self.attached.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn registered(&self) -> Arc<RegisteredTables> {
        Arc::clone(&self.registered.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a database has this name.
    pub fn is_attached(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        name == TEMPORARY || self.attached().contains_key(&name)
    }

    /// Adds a database under its name.
    ///
    /// # Errors
    ///
    /// Invalid query: the name is taken, or cannot be one.
    pub fn attach(&self, database: Attached) -> Result<()> {
        let key = database.name.to_lowercase();
        if key.is_empty() || key.contains('.') {
            let message = format!("a database cannot be called '{}'", database.name);
            return Err(Error::invalid_query(message).hint("ATTACH ... AS gives it a name"));
        }
        let mut attached = self.attached.write().unwrap_or_else(PoisonError::into_inner);
        if key == TEMPORARY || attached.contains_key(&key) {
            let message = format!("there is already a database called {}", database.name);
            return Err(Error::invalid_query(message).hint("ATTACH ... AS gives it another name"));
        }
        Arc::make_mut(&mut attached).insert(key, Arc::new(database));
        Ok(())
    }

    /// Makes the next opening of each database fast.
    ///
    /// # Errors
    ///
    /// I/O, out of memory: of the first one that could not be closed.
    pub fn close(&self) -> Result<()> {
        let attached = self.attached();
        let closed = attached
            .values()
            .map(|it| it.database.close().map_err(|error| error.at("database", &it.name)));
        closed.fold(Ok(()), Result::and)
    }

    /// Takes a database away. Statements and transactions that began before go on.
    ///
    /// # Errors
    ///
    /// Invalid query: no such database, or one that cannot be detached.
    pub fn detach(&self, name: &str) -> Result<Arc<Attached>> {
        let key = name.to_lowercase();
        if key == MEMORY || key == TEMPORARY {
            let message = format!("the database {name} cannot be detached");
            return Err(Error::invalid_query(message));
        }
        let mut attached = self.attached.write().unwrap_or_else(PoisonError::into_inner);
        match attached.contains_key(&key) {
            true => Arc::make_mut(&mut attached)
                .remove(&key)
                .ok_or_else(|| no_database(name, &attached)),
            false => Err(no_database(name, &attached)),
        }
    }
}

pub(crate) fn no_database(name: &str, attached: &AttachedDatabases) -> Error {
    let error = Error::invalid_query(format!("no such database: {name}"));
    match nearest_name(name, attached.values().map(|it| it.name.as_str())) {
        Some(nearest) => error.hint(format!("did you mean {nearest}?")),
        None => error.hint("ATTACH adds one"),
    }
}

/// The key of a registered table in a schema; `None` where there are none.
pub(crate) fn registered_key(place: &SchemaPlace, name: &str) -> Option<(String, String)> {
    let is_possible = place.database == MEMORY;
    is_possible.then(|| (place.schema.clone(), name.to_lowercase()))
}

impl Registered {
    /// Whether this is the very same table.
    pub(crate) fn is_same(&self, other: &Registered) -> bool {
        Arc::ptr_eq(&self.table, &other.table)
    }

    /// The schema that it is in.
    pub fn place(&self) -> SchemaPlace {
        SchemaPlace::new(MEMORY, if self.schema.is_empty() { MAIN } else { &self.schema })
    }
}
