//! Opening the databases of ATTACH.

use crate::{Database, TableOption};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_memory::Pool;
use volley_types::TypeRegistry;

/// Opens a database, or makes one where there is none yet and `access` lets it.
///
/// # Errors
///
/// Invalid query: an unknown option, no such database. I/O, corruption.
pub type DatabaseOpener =
    Arc<dyn Fn(&DatabaseSource<'_>) -> Result<Arc<dyn Database>> + Send + Sync>;

/// What ATTACH opens.
#[derive(Clone, Copy)]
pub struct DatabaseSource<'a> {
    /// The name that the database gets, as written.
    pub name: &'a str,
    /// What stands behind ATTACH.
    pub path: &'a str,
    /// Whether statements may change it.
    pub access: WriteAccess,
    /// The options besides TYPE and READ_ONLY. The values are texts.
    pub options: &'a [TableOption],
    /// What the database is charged to.
    pub pool: &'a Pool,
    /// The types that its tables may have.
    pub types: &'a TypeRegistry,
}

/// Whether statements may change a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteAccess {
    /// They may.
    ReadWrite,
    /// They may not.
    ReadOnly,
}

impl DatabaseSource<'_> {
    /// Refuses options whose names are not among these.
    ///
    /// # Errors
    ///
    /// Invalid query, at the name.
    pub fn expect_options(&self, names: &[&str]) -> Result<()> {
        match self.options.iter().find(|it| !names.contains(&it.name.as_str())) {
            None => Ok(()),
            Some(option) => {
                let message = format!("unknown option of ATTACH: {}", option.name);
                Err(Error::invalid_query(message).span(option.name_span))
            }
        }
    }
}
