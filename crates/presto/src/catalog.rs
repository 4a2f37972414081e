//! Catalogs: the connectors that scans read, and the JSON of their tables, columns and splits.

mod hive;
mod tpch;

use crate::{
    config::WorkerConfig,
    json::{Json, Object},
};
pub(crate) use hive::{ExistingPartitions, HiveSinks};
use hive::{HiveCatalog, HiveTable};
use std::{collections::BTreeMap, sync::Arc};
use tpch::ScannedTpch;
use volley_connector::{Split, Table, TableProvider};
use volley_error::{Error, Result};
use volley_function::Registry;
use volley_memory::Pool;
use volley_plan::TableHandle;
use volley_types::Schema;

/// The catalogs of a worker, by name.
pub(crate) struct Catalogs {
    by_name: BTreeMap<String, Connector>,
}

/// The connectors that this worker has.
#[derive(Debug)]
enum Connector {
    Tpch,
    Hive(HiveCatalog),
}

/// A table that a plan scans.
#[derive(Clone, Debug)]
pub(crate) struct ScannedTable {
    catalog: String,
    of: TableOf,
}

#[derive(Clone, Debug)]
enum TableOf {
    Tpch(ScannedTpch),
    Hive(HiveTable),
}

/// What tables are opened with.
#[derive(Clone, Copy)]
pub(crate) struct TableContext<'c> {
    pub registry: &'c Registry,
    pub pool: &'c Pool,
}

/// The tables of one task by their names in its plan.
pub(crate) struct TaskTables(pub BTreeMap<String, Arc<ScannedTable>>);

impl Catalogs {
    /// The catalogs of the configuration.
    ///
    /// # Errors
    ///
    /// Invalid value: a connector that this worker does not have.
    pub(crate) fn new(config: &WorkerConfig) -> Result<Catalogs> {
        let mut by_name = BTreeMap::new();
        for (name, properties) in &config.catalogs {
            let connector = match properties.get("connector.name") {
                Some("tpch") => Connector::Tpch,
                Some("hive-hadoop2" | "hive") => Connector::Hive(HiveCatalog::new(properties)?),
                other => {
                    let found = other.unwrap_or("none");
                    let error = Error::invalid_value(format!("connector {found} of {name}"));
                    return Err(error.hint("this worker has the connectors tpch and hive-hadoop2"));
                }
            };
            by_name.insert(name.clone(), connector);
        }
        Ok(Catalogs { by_name })
    }

    /// The names, as the announcement lists them.
    pub(crate) fn names(&self) -> Vec<String> {
        self.by_name.keys().cloned().collect()
    }

    /// The table that a TableScan node reads: `table` is its table handle, `assignments` are the
    /// handles of its columns. What opening files takes is charged to the pool of `context`.
    ///
    /// # Errors
    ///
    /// Invalid query: no such catalog or table. Invalid value: malformed JSON.
    pub(crate) fn table(
        &self,
        table: &Object<'_>,
        assignments: &[(String, Json<'_>)],
        context: &TableContext<'_>,
    ) -> Result<ScannedTable> {
        let catalog: String = table.read("connectorId")?;
        let of = match self.by_name.get(&catalog) {
            Some(Connector::Tpch) => {
                TableOf::Tpch(ScannedTpch::of_handle(table.json("connectorHandle"))?)
            }
            Some(Connector::Hive(hive)) => {
                TableOf::Hive(HiveTable::of_scan(hive, table, assignments, context)?)
            }
            None => return Err(Error::invalid_query(format!("no such catalog: {catalog}"))),
        };
        Ok(ScannedTable { catalog, of })
    }
}

impl ScannedTable {
    pub(crate) fn catalog(&self) -> &str {
        &self.catalog
    }

    /// The name of the table, which two scans of equal rows share.
    pub(crate) fn name(&self) -> String {
        match &self.of {
            TableOf::Tpch(table) => table.table().handle().table,
            TableOf::Hive(table) => table.name().to_owned(),
        }
    }

    pub(crate) fn schema(&self) -> &Schema {
        match &self.of {
            TableOf::Tpch(table) => table.table().schema(),
            TableOf::Hive(table) => table.schema(),
        }
    }

    /// The member of a table layout that has the domain of the rows that are needed.
    pub(crate) fn domain_member(&self) -> &'static str {
        match &self.of {
            TableOf::Tpch(_) => "predicate",
            TableOf::Hive(_) => "domainPredicate",
        }
    }

    /// The position of the column of a handle.
    ///
    /// # Errors
    ///
    /// Invalid query: no such column. Invalid value: malformed JSON.
    pub(crate) fn column(&self, handle: Json<'_>) -> Result<usize> {
        match &self.of {
            TableOf::Tpch(table) => table.column(handle),
            TableOf::Hive(table) => table.column(handle),
        }
    }

    /// The split of the JSON of a connector's split.
    ///
    /// # Errors
    ///
    /// Invalid query: a split of another catalog or table. Invalid value: malformed JSON.
    pub(crate) fn split(&self, catalog: &str, split: &serde_json::Value) -> Result<Split> {
        if catalog != self.catalog {
            let message = format!("a split of {catalog} for a scan of {}", self.catalog);
            return Err(Error::invalid_query(message));
        }
        match &self.of {
            TableOf::Tpch(table) => table.split(split),
            TableOf::Hive(table) => table.split(split),
        }
    }
}

impl TableProvider for TaskTables {
    fn table(&self, handle: &TableHandle) -> Result<Arc<dyn Table>> {
        let found = self.0.get(&handle.table).ok_or_else(|| {
            Error::invalid_query(format!("no table for the plan node {}", handle.table))
        })?;
        Ok(match &found.of {
            TableOf::Tpch(table) => Arc::new(table.table().clone()),
            TableOf::Hive(table) => Arc::new(table.clone()),
        })
    }
}
