//! The catalog that names in SQL text are resolved against.

use crate::{Dialect, MacroDefinition, Query};
use std::sync::Arc;
use volley_connector::{ReferencedName, Table, TableArguments};
use volley_error::{Error, Result};
use volley_logical::{NamedTable, TableRef};
use volley_types::{Type, Value};

/// The schema of temporary tables and views, which each session has for itself. What is in it is
/// found before others of its name.
pub const TEMPORARY_SCHEMA: &str = "temp";

/// The tables, views and files that a statement may name.
pub trait Catalog {
    /// The table or view called `name`, ignoring case; parts of a qualified name are joined by
    /// dots.
    ///
    /// # Errors
    ///
    /// What finding it out fails with. A missing table is `None`.
    fn table(&self, name: &str) -> Result<Option<Relation>>;

    /// The table made of the file, glob or folder `path`.
    ///
    /// # Errors
    ///
    /// I/O, corruption, an unknown format.
    fn file(&self, path: &str) -> Result<Arc<dyn Table>>;

    /// Like [`Catalog::file`], of a format whatever the name's ending is: `parquet`, `json`.
    ///
    /// # Errors
    ///
    /// As [`Catalog::file`].
    fn file_of(&self, path: &str, _format: &str) -> Result<Arc<dyn Table>> {
        self.file(path)
    }

    /// Gives a table that is in no database a name that plans of the statement can use.
    fn add_external(&self, table: Arc<dyn Table>) -> TableRef;

    /// The table that plans of the statement name so.
    ///
    /// # Errors
    ///
    /// Invalid query: no such table. I/O.
    fn resolve(&self, reference: &TableRef) -> Result<Arc<dyn Table>>;

    /// The same names as a text stored at `home` means them; `None` when that makes no difference.
    fn within<'s>(&'s self, _home: &Home) -> Option<Box<dyn Catalog + 's>> {
        None
    }

    /// The rows of a query that has to run before its statement can be bound.
    ///
    /// # Errors
    ///
    /// What it fails with; unsupported where nothing can run.
    fn rows(&self, _query: Query) -> Result<Vec<Vec<Value>>> {
        Err(Error::unsupported("a statement that runs a query before its names are known"))
    }

    /// Reserves this number of additional bytes for the statement and its plan. Called from time to
    /// time during binding.
    ///
    /// # Errors
    ///
    /// Out of memory; cancelled or timed out.
    fn take_memory(&self, _bytes: usize) -> Result<()> {
        Ok(())
    }

    /// The database, in lower case, that a new table called `name` would be in; `None` where that
    /// is not known.
    fn database_of_new(&self, _name: &str) -> Option<String> {
        None
    }

    /// The name of another table with a foreign key that references this table, if there is one.
    fn referencing(&self, _table: &TableRef) -> Option<String> {
        None
    }

    /// The tables that the foreign keys of a table reference, one per foreign key.
    fn referenced(&self, _table: &TableRef) -> Vec<ReferencedName> {
        Vec::new()
    }

    /// The names of all tables and views, for hints.
    fn names(&self) -> Vec<String>;

    /// The macro called `name`, ignoring case.
    fn macro_called(&self, _name: &str) -> Option<Arc<MacroDefinition>> {
        None
    }

    /// The type that CREATE TYPE called `name`, ignoring case.
    fn type_called(&self, _name: &str) -> Option<Type> {
        None
    }

    /// The names of all such types, for hints.
    fn type_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// The variable of the session called `name`, ignoring case.
    fn variable(&self, _name: &str) -> Option<(Value, Type)> {
        None
    }

    /// The value of the setting called `name`, as SHOW shows it.
    ///
    /// # Errors
    ///
    /// Invalid query: no such setting.
    fn setting(&self, name: &str) -> Result<String> {
        Err(Error::invalid_query(format!("no such setting: {name}")))
    }

    /// Database and schema of the schemas in which names are looked up, the current one first.
    fn current_schemas(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// The name under which the statement finds the sequence `name` when it runs, and tables store
    /// it: with a schema, where the name alone would not do. `None` when there is none.
    fn sequence_called(&self, _name: &str) -> Option<String> {
        None
    }

    /// Where names in the definition of a table are looked up; `None` for a table of no database.
    fn home_of(&self, _table: &TableRef) -> Option<Home> {
        None
    }

    /// The format that was added for files whose names end as `path` does, if there is one.
    fn added_format(&self, _path: &str) -> Option<&'static str> {
        None
    }

    /// Whether there is a function `name` for FROM, ignoring case.
    fn has_table_function(&self, _name: &str) -> bool {
        false
    }

    /// The table that the function `name` makes of its arguments; `types` says which type a text
    /// names.
    ///
    /// # Errors
    ///
    /// Invalid query: no such function, or arguments that do not fit.
    fn table_function(
        &self,
        name: &str,
        _arguments: &TableArguments,
        _types: &dyn Fn(&str) -> Result<Type>,
    ) -> Result<Arc<dyn Table>> {
        Err(Error::invalid_query(format!("no such table function: {name}")))
    }
}

/// Where names in a stored text are looked up before those of the session's search path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Home {
    /// The name of the database that the text is stored in.
    pub database: String,
    /// Schemas of the database, in order.
    pub schemas: Vec<String>,
}

/// The meaning of a name in FROM.
#[derive(Clone, Debug)]
pub enum Relation {
    /// A table.
    Table(NamedTable),
    /// A query under a name, bound again at every use.
    View {
        /// The query's text.
        sql: String,
        /// Names that replace the query's own, from the first on; empty to keep them.
        columns: Vec<String>,
        /// What the text is written in.
        dialect: Dialect,
        /// Where names without a schema are looked up first.
        home: Home,
    },
}
