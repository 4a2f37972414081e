//! The catalog `tpch`: its JSON.

use crate::json::Json;
use serde::Deserialize;
use volley_connector::Split;
use volley_connector_tpch::{TpchSplit, TpchTable};
use volley_error::{Error, Result};

/// A table of TPC-H that a plan scans.
#[derive(Clone, Debug)]
pub(super) struct ScannedTpch {
    table: TpchTable,
    name: String,
    scale: f64,
}

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

impl ScannedTpch {
    pub(super) fn of_handle(handle: Json<'_>) -> Result<ScannedTpch> {
        let handle: TpchTableHandle = handle.read("a table handle of tpch")?;
        let table = TpchTable::new(&handle.table_name, handle.scale_factor, 1)?;
        Ok(ScannedTpch { table, name: handle.table_name, scale: handle.scale_factor })
    }

    pub(super) fn table(&self) -> &TpchTable {
        &self.table
    }

    pub(super) fn column(&self, handle: Json<'_>) -> Result<usize> {
        let handle: TpchColumnHandle = handle.read("a column handle of tpch")?;
        let found = self.table.position(&handle.column_name);
        found.ok_or_else(|| {
            let message = format!("no such column of {}: {}", self.name, handle.column_name);
            Error::invalid_query(message)
        })
    }

    pub(super) fn split(&self, split: &serde_json::Value) -> Result<Split> {
        let malformed =
            |it| Error::invalid_value(format!("malformed JSON of a split of tpch: {it}"));
        let split = TpchSplitJson::deserialize(split).map_err(malformed)?;
        let handle = &split.table_handle;
        if handle.table_name != self.name || handle.scale_factor != self.scale {
            let message = format!("a split of {} for a scan of {}", handle.table_name, self.name);
            return Err(Error::invalid_query(message));
        }
        let (table, scale) = (self.name.clone(), self.scale);
        let split = TpchSplit { table, scale, part: split.part_number, parts: split.total_parts };
        Ok(split.to_split())
    }
}
