//! The catalog `hive`: tables of Parquet and ORC files.
//!
//! ```text
//! TableScan node ── handles of columns ──> HiveTable
//! split of Presto: file, bytes, values of partition keys ──> HiveSplit ──> HiveSource
//!     └── a table of the row groups that begin in these bytes ── its own splits ── batches
//! ```

mod partition_sink;
mod sink;
mod source;
mod split;
#[cfg(test)]
mod tests;

use super::TableContext;
use crate::{
    config::Properties,
    json::{Json, Object},
    type_signature::parse_type,
};
use serde::Deserialize;
pub(crate) use sink::{ExistingPartitions, HiveSinks};
use source::HiveScan;
use split::HiveSplit;
use std::sync::Arc;
use volley_connector::{Scan, ScanRequest, Split, Table, TableStatistics};
use volley_error::{Error, Result};
use volley_function::Registry;
use volley_io::FileSystems;
use volley_memory::Pool;
use volley_plan::TableHandle;
use volley_types::{Field, Schema, Type};

/// What the files of a catalog say.
#[derive(Clone, Debug)]
pub(super) struct HiveCatalog {
    /// Whether columns of Parquet files are found by name, and not by their place
    /// (`hive.parquet.use-column-names`); the same for ORC (`hive.orc.use-column-names`).
    finds_parquet_by_name: bool,
    finds_orc_by_name: bool,
}

/// A table that a plan scans.
#[derive(Clone, Debug)]
pub(super) struct HiveTable {
    catalog: HiveCatalog,
    schema_name: String,
    table_name: String,
    /// `schema.table`.
    name: String,
    columns: Arc<[HiveColumn]>,
    schema: Arc<Schema>,
    files: FileSystems,
    pool: Pool,
}

/// A column that a scan reads.
#[derive(Clone, Debug, PartialEq)]
struct HiveColumn {
    name: String,
    data_type: Type,
    kind: HiveColumnKind,
}

#[derive(Clone, Debug, PartialEq)]
enum HiveColumnKind {
    /// A column at this place of the files.
    Regular(usize),
    /// All rows of a partition have the same value.
    PartitionKey,
    /// The path of the file.
    Path,
    /// Its bytes.
    FileSize,
    /// When it was changed, in milliseconds since 1970.
    FileModifiedTime,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HiveTableHandle {
    schema_name: String,
    table_name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HiveColumnHandle {
    name: String,
    type_signature: String,
    hive_column_index: i64,
    column_type: String,
}

impl HiveCatalog {
    pub(super) fn new(properties: &Properties) -> Result<HiveCatalog> {
        let flag = |name: &str| Ok::<_, Error>(properties.flag(name)?.unwrap_or(false));
        Ok(HiveCatalog {
            finds_parquet_by_name: flag("hive.parquet.use-column-names")?,
            finds_orc_by_name: flag("hive.orc.use-column-names")?,
        })
    }
}

impl HiveTable {
    /// The table of a TableScan node: the columns that it reads or filters by.
    ///
    /// # Errors
    ///
    /// Unsupported: a type or a kind of column. Invalid value: malformed JSON.
    pub(super) fn of_scan(
        catalog: &HiveCatalog,
        table: &Object<'_>,
        assignments: &[(String, Json<'_>)],
        context: &TableContext<'_>,
    ) -> Result<HiveTable> {
        let handle: HiveTableHandle = table.read("connectorHandle")?;
        let mut handles: Vec<Json<'_>> = assignments.iter().map(|it| it.1).collect();
        let layout = table.optional("connectorTableLayout");
        let layout = layout.map(|it| it.object("a table layout of hive")).transpose()?;
        let predicate_columns = match &layout {
            Some(layout) if layout.optional("predicateColumns").is_some() => {
                layout.members("predicateColumns")?
            }
            _ => Vec::new(),
        };
        handles.extend(predicate_columns.iter().map(|it| it.1));
        let mut columns: Vec<HiveColumn> = Vec::new();
        for handle in handles {
            let column =
                HiveColumn::of_handle(&handle.read("a column handle of hive")?, context.registry)?;
            if !columns.iter().any(|it| it.name == column.name) {
                columns.push(column);
            }
        }
        let fields = columns.iter().map(|it| Field::new(it.name.clone(), it.data_type.clone()));
        let schema = Arc::new(fields.collect());
        Ok(HiveTable {
            catalog: catalog.clone(),
            name: format!("{}.{}", handle.schema_name, handle.table_name),
            schema_name: handle.schema_name,
            table_name: handle.table_name,
            columns: columns.into(),
            schema,
            files: FileSystems::default(),
            pool: context.pool.clone(),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The position of a column: by its handle, or by its name in a domain.
    pub(super) fn column(&self, handle: Json<'_>) -> Result<usize> {
        let name = match handle.read::<HiveColumnHandle>("a column handle of hive") {
            Ok(handle) => handle.name,
            Err(_) => handle.read("a column of a domain")?,
        };
        let found = self.columns.iter().position(|it| it.name == name);
        found
            .ok_or_else(|| Error::invalid_query(format!("no such column of {}: {name}", self.name)))
    }

    pub(super) fn split(&self, split: &serde_json::Value) -> Result<Split> {
        let (schema, table, split) = HiveSplit::of_json(split)?;
        if (schema.as_str(), table.as_str()) != (&self.schema_name, &self.table_name) {
            let message = format!("a split of {schema}.{table} for a scan of {}", self.name);
            return Err(Error::invalid_query(message));
        }
        Ok(split.to_split())
    }
}

impl HiveColumn {
    fn of_handle(handle: &HiveColumnHandle, registry: &Registry) -> Result<HiveColumn> {
        let kind = match handle.column_type.as_str() {
            "REGULAR" => {
                let place = usize::try_from(handle.hive_column_index);
                let place = place.map_err(|_| Error::invalid_value("a column without a place"))?;
                HiveColumnKind::Regular(place)
            }
            "PARTITION_KEY" => HiveColumnKind::PartitionKey,
            "SYNTHESIZED" if handle.name == "$path" => HiveColumnKind::Path,
            "SYNTHESIZED" if handle.name == "$file_size" => HiveColumnKind::FileSize,
            "SYNTHESIZED" if handle.name == "$file_modified_time" => {
                HiveColumnKind::FileModifiedTime
            }
            other => {
                let message = format!("the column {} of the kind {other} of hive", handle.name);
                return Err(Error::unsupported(message));
            }
        };
        let data_type = parse_type(&handle.type_signature, registry)?;
        Ok(HiveColumn { name: handle.name.clone(), data_type, kind })
    }
}

impl Table for HiveTable {
    fn handle(&self) -> TableHandle {
        TableHandle { connector: "hive".to_owned(), table: self.name.clone() }
    }

    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statistics(&self) -> Result<Arc<TableStatistics>> {
        Ok(Arc::default())
    }

    fn scan(&self, request: ScanRequest) -> Result<Box<dyn Scan>> {
        Ok(Box::new(HiveScan::new(self.clone(), request)))
    }
}
