//! What statements can name besides objects of databases: files, functions in FROM, and the tables
//! of `information_schema`.

use crate::{
    catalog_tables::{functions, information_schema, views},
    readers::file_options,
    session_state::SessionState,
};
use std::{collections::BTreeMap, fmt, sync::Arc};
use volley_catalog::{Host, StatementCatalog};
use volley_connector::{FormatRegistry, Table, TableArguments, TableCall, TableFunction};
use volley_connector_hive::{FileFormat, FileOptions, FileTable};
use volley_error::{Error, Result};
use volley_function::Registry;
use volley_io::FileSystems;
use volley_memory::Pool;
use volley_sql::MacroDefinition;
use volley_types::Type;

/// Functions in FROM, by lower-case name, the registry that they make plans with, where files are
/// and which formats were added, what tables are charged to until a query reads them, and the state
/// of the session.
#[derive(Clone)]
pub(crate) struct SessionHost {
    pub(crate) by_name: Arc<BTreeMap<String, TableFunction>>,
    pub(crate) session: Arc<SessionState>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) files: FileSystems,
    pub(crate) formats: FormatRegistry,
    pub(crate) pool: Pool,
}

impl Host for SessionHost {
    fn file(&self, path: &str, format: Option<&str>) -> Result<Arc<dyn Table>> {
        let format = format.map(|it| FileFormat::of_name(it, &self.formats)).transpose()?;
        let options =
            FileOptions { format, ..file_options(&self.files, &self.formats, &self.pool) };
        Ok(Arc::new(FileTable::open(path, &options)?))
    }

    fn information(
        &self,
        catalog: &StatementCatalog,
        name: &str,
    ) -> Option<Result<Arc<dyn Table>>> {
        information_schema::table(self, catalog, name)
    }

    fn view(&self, name: &str) -> Option<&'static str> {
        views::view(name)
    }

    fn macro_called(&self, name: &str) -> Option<MacroDefinition> {
        views::macro_called(name)
    }

    fn has_table_function(&self, name: &str) -> bool {
        self.by_name.contains_key(&name.to_lowercase()) || functions::is_function(name)
    }

    fn table_function(
        &self,
        catalog: &StatementCatalog,
        name: &str,
        arguments: &TableArguments,
        types: &dyn Fn(&str) -> Result<Type>,
    ) -> Result<Arc<dyn Table>> {
        let function = self.by_name.get(&name.to_lowercase());
        if function.is_none()
            && let Some(table) = functions::table(self, catalog, (name, arguments))
        {
            return table;
        }
        let missing = || Error::invalid_query(format!("no such table function: {name}"));
        let registry = &self.registry;
        let TableArguments { arguments, options } = arguments;
        function.ok_or_else(missing)?(&TableCall { name, arguments, options, registry, types })
    }
}

impl fmt::Debug for SessionHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}
