//! Catalogs: the connectors that scans read, and the JSON of their tables, columns and splits.

use crate::{config::WorkerConfig, json::Json};
use serde::Deserialize;
use std::{collections::BTreeMap, sync::Arc};
use volley_connector::{Split, Table, TableProvider};
use volley_connector_tpch::{TpchSplit, TpchTable};
use volley_error::{Error, Result};
use volley_plan::TableHandle;

/// The catalogs of a worker, by name.
pub(crate) struct Catalogs {
    by_name: BTreeMap<String, Connector>,
}

/// The connectors that this worker has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Connector {
    Tpch,
}

/// A table that a plan scans.
#[derive(Clone, Debug)]
pub(crate) struct ScannedTable {
    catalog: String,
    table: TpchTable,
    name: String,
    scale: f64,
}

/// The tables of one task by their names in its plan.
pub(crate) struct TaskTables(pub BTreeMap<String, Arc<ScannedTable>>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TpchTableHandle {
    table_name: String,
    scale_factor: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TpchColumnHandle {
    column_name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TpchSplitJson {
    table_handle: TpchTableHandle,
    part_number: u32,
    total_parts: u32,
}

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
                other => {
                    let found = other.unwrap_or("none");
                    let error = Error::invalid_value(format!("connector {found} of {name}"));
                    return Err(error.hint("this worker has the connector tpch"));
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

    /// The table of a handle of a catalog.
    ///
    /// # Errors
    ///
    /// Invalid query: no such catalog or table. Invalid value: malformed JSON.
    pub(crate) fn table(&self, catalog: &str, handle: Json<'_>) -> Result<ScannedTable> {
        match self.by_name.get(catalog) {
            Some(Connector::Tpch) => {
                let handle: TpchTableHandle = handle.read("a table handle of tpch")?;
                let table = TpchTable::new(&handle.table_name, handle.scale_factor, 1)?;
                let (name, scale) = (handle.table_name, handle.scale_factor);
                Ok(ScannedTable { catalog: catalog.to_owned(), table, name, scale })
            }
            None => Err(Error::invalid_query(format!("no such catalog: {catalog}"))),
        }
    }
}

impl ScannedTable {
    /// The table.
    pub(crate) fn table(&self) -> &TpchTable {
        &self.table
    }

    /// The position of the column of a handle.
    ///
    /// # Errors
    ///
    /// Invalid query: no such column. Invalid value: malformed JSON.
    pub(crate) fn column(&self, handle: Json<'_>) -> Result<usize> {
        let handle: TpchColumnHandle = handle.read("a column handle of tpch")?;
        let found = self.table.position(&handle.column_name);
        found.ok_or_else(|| {
            let message = format!("no such column of {}: {}", self.name, handle.column_name);
            Error::invalid_query(message)
        })
    }

    /// The split of the JSON of a connector's split.
    ///
    /// # Errors
    ///
    /// Invalid query: a split of another catalog or table. Invalid value: malformed JSON.
    pub(crate) fn split(&self, catalog: &str, split: &serde_json::Value) -> Result<Split> {
        let malformed =
            |it| Error::invalid_value(format!("malformed JSON of a split of tpch: {it}"));
        let split = TpchSplitJson::deserialize(split).map_err(malformed)?;
        let handle = &split.table_handle;
        if catalog != self.catalog
            || handle.table_name != self.name
            || handle.scale_factor != self.scale
        {
            let message = format!("a split of {catalog}.{}", handle.table_name);
            let of = format!("for a scan of {}.{}", self.catalog, self.name);
            return Err(Error::invalid_query(format!("{message} {of}")));
        }
        let (table, scale) = (self.name.clone(), self.scale);
        let split = TpchSplit { table, scale, part: split.part_number, parts: split.total_parts };
        Ok(split.to_split())
    }
}

impl TableProvider for TaskTables {
    fn table(&self, handle: &TableHandle) -> Result<Arc<dyn Table>> {
        let found = self.0.get(&handle.table).map(|it| it.table.clone());
        let found = found.ok_or_else(|| {
            Error::invalid_query(format!("no table for the plan node {}", handle.table))
        })?;
        Ok(Arc::new(found))
    }
}
