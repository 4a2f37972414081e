//! Where objects are: databases, schemas, the search path.

use volley_error::{Error, Result};

/// The database that every session has.
pub const MEMORY: &str = "memory";

/// The database of temporary objects, which each session has for itself.
pub const TEMPORARY: &str = volley_sql::TEMPORARY_SCHEMA;

/// The schema that every database has.
pub const MAIN: &str = "main";

/// The schema of tables that describe the databases. Every database seems to have it.
pub const INFORMATION_SCHEMA: &str = "information_schema";

/// The schema of views that tools for PostgreSQL read. Every database seems to have it.
pub const PG_CATALOG: &str = "pg_catalog";

/// A schema of a database. Names are in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaPlace {
    /// The name that the database is attached under.
    pub database: String,
    /// The schema.
    pub schema: String,
}

/// An object of a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectPlace {
    /// Where it is.
    pub place: SchemaPlace,
    /// Its name as written.
    pub name: String,
}

/// The schemas that names without a schema are looked up in, after the temporary database. The
/// first is the current one: new objects are made there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPath(Vec<SchemaPlace>);

impl SchemaPlace {
    /// The schema of a database; names ignore case.
    pub fn new(database: &str, schema: &str) -> SchemaPlace {
        SchemaPlace { database: database.to_lowercase(), schema: schema.to_lowercase() }
    }
}

impl ObjectPlace {
    /// Database, schema and name, joined by dots; without what need not be written in `memory`.
    pub fn shown(&self) -> String {
        let SchemaPlace { database, schema } = &self.place;
        match (database.as_str(), schema.as_str()) {
            (MEMORY, MAIN) => self.name.clone(),
            (TEMPORARY, MAIN) => format!("{TEMPORARY}.{}", self.name),
            (MEMORY, _) => format!("{schema}.{}", self.name),
            _ => format!("{database}.{schema}.{}", self.name),
        }
    }
}

impl Default for SearchPath {
    /// The schema `main` of the database `memory`.
    fn default() -> SearchPath {
        SearchPath(vec![SchemaPlace::new(MEMORY, MAIN)])
    }
}

impl SearchPath {
    /// These schemas.
    ///
    /// # Errors
    ///
    /// Invalid value: none at all.
    pub fn new(places: Vec<SchemaPlace>) -> Result<SearchPath> {
        match places.is_empty() {
            true => Err(Error::invalid_value("a search path without schemas")),
            false => Ok(SearchPath(places)),
        }
    }

    /// The schema that new objects are made in.
    pub fn current(&self) -> &SchemaPlace {
        self.0.first().expect("a search path has a schema")
    }

    /// The schemas in the order in which they are looked up in.
    pub fn places(&self) -> &[SchemaPlace] {
        &self.0
    }

    /// The databases of the schemas, each once.
    pub fn databases(&self) -> impl Iterator<Item = &str> {
        let is_first =
            |at: &usize| self.0[..*at].iter().all(|it| it.database != self.0[*at].database);
        (0..self.0.len()).filter(is_first).map(|it| self.0[it].database.as_str())
    }

    /// These schemas first, then those of the path.
    pub fn after(&self, first: Vec<SchemaPlace>) -> SearchPath {
        let mut places = first;
        for place in &self.0 {
            if !places.contains(place) {
                places.push(place.clone());
            }
        }
        SearchPath(places)
    }
}

/// The parts of a name: at most a database, a schema and an object.
pub(crate) fn parts(name: &str) -> Vec<&str> {
    name.split('.').collect()
}
