//! The catalog that names in SQL text are resolved against.

use crate::{Dialect, MacroDefinition, Query};
use std::sync::Arc;
use volley_connector::{Table, TableArguments};
use volley_error::{Error, Result};
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

    /// Whether there is a sequence `name`, ignoring case.
    fn has_sequence(&self, _name: &str) -> bool {
        false
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

/// The meaning of a name in FROM.
#[derive(Clone, Debug)]
pub enum Relation {
    /// A table.
    Table(Arc<dyn Table>),
    /// A query under a name, bound again at every use.
    View {
        /// The query's text.
        sql: String,
        /// Names that replace the query's own, from the first on; empty to keep them.
        columns: Vec<String>,
        /// What the text is written in.
        dialect: Dialect,
    },
}
