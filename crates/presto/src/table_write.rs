//! Writing tables: what the coordinator says of the target, and what it is told of the files.
//!
//! ```text
//! TableWriteInfo ── handle ──> HiveSinks ── one file per driver that has rows ──> WrittenTable
//! counts of rows ── PageWriter ──> rows (count, fragment, commit context) ──> TableFinish
//! ```
//!
//! The coordinator commits: it moves the files to the table, or removes them.

#[cfg(test)]
mod tests;

use crate::{
    catalog::{ExistingPartitions, HiveSinks},
    json::Json,
};
use serde_json::{Value as JsonValue, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use volley_connector::SinkFactory;
use volley_error::{Error, Result};
use volley_types::{Type, Value};
use volley_vector::{Batch, Vector};

/// Where a fragment that writes a table has the columns of a TableWriter node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WriteColumns {
    pub rows: usize,
    pub fragment: usize,
    pub commit_context: usize,
}

/// What the drivers of a task have written.
#[derive(Debug)]
pub(crate) struct WrittenTable {
    /// The JSON of a `PartitionUpdate` for each file that was not reported yet.
    fragments: Mutex<Vec<String>>,
    /// The JSON of a `TableCommitContext`.
    commit_context: String,
}

/// A task that writes a table.
pub(crate) struct TableWrite {
    pub sinks: Arc<dyn SinkFactory>,
    pub written: Arc<WrittenTable>,
}

impl WrittenTable {
    /// Of the task `task`.
    pub(crate) fn new(task: &str) -> WrittenTable {
        let context = json!({
            "lifespan": "TaskWide",
            "taskId": task,
            "pageSinkCommitStrategy": "NO_COMMIT",
            "lastPage": true,
        });
        WrittenTable { fragments: Mutex::default(), commit_context: context.to_string() }
    }

    /// Notes a file, before the driver that wrote it returns its count of rows.
    pub(crate) fn add(&self, fragment: String) {
        self.lock().push(fragment);
    }

    /// The rows that the coordinator gets for the counts of some drivers: their sum, and a row for
    /// each new file.
    ///
    /// # Errors
    ///
    /// Internal: other columns than those of a TableWriter node.
    pub(crate) fn report(&self, counts: &Batch, columns: WriteColumns) -> Result<Batch> {
        let no_counts = || Error::internal("a table writer without counts of rows");
        let counted = counts.columns().get(columns.rows).ok_or_else(no_counts)?.to_values()?;
        let sum: i128 = counted.iter().filter_map(|it| it.as_i128()).sum();
        let fragments = std::mem::take(&mut *self.lock());
        let rows = 1 + fragments.len();
        let nulls = std::iter::repeat_n(Value::Null, fragments.len());
        let sum: Vec<Value> = [Value::BigInt(sum as i64)].into_iter().chain(nulls).collect();
        let binary = |it: &str| Value::Varbinary(it.as_bytes().into());
        let fragments = fragments.iter().map(|it| binary(it));
        let fragments: Vec<Value> = [Value::Null].into_iter().chain(fragments).collect();
        let mut found = Vec::new();
        for position in 0..counts.columns().len() {
            found.push(match position {
                it if it == columns.rows => Vector::from_values(Type::BigInt, &sum),
                it if it == columns.fragment => Vector::from_values(Type::Varbinary, &fragments),
                it if it == columns.commit_context => {
                    Vector::constant(Type::Varbinary, &binary(&self.commit_context), rows)
                }
                _ => {
                    return Err(Error::unsupported(
                        "statistics of columns while a table is written",
                    ));
                }
            });
        }
        Ok(Batch::new(found, rows))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.fragments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TableWrite {
    /// What `info` (a `TableWriteInfo`) says for the task `task`; the session has set
    /// `catalog_properties`, by catalog.
    ///
    /// # Errors
    ///
    /// Unsupported: another statement than CTAS and INSERT, a bucketed table, a file format.
    /// Invalid value: malformed JSON.
    pub(crate) fn new(
        info: Option<&JsonValue>,
        task: &str,
        catalog_properties: &BTreeMap<String, BTreeMap<String, String>>,
    ) -> Result<TableWrite> {
        let target = info.and_then(|it| it.get("writerTarget")).filter(|it| !it.is_null());
        let target =
            target.ok_or_else(|| Error::invalid_value("a table writer without a target"))?;
        let class = target.get("@type").and_then(JsonValue::as_str).unwrap_or_default();
        if !matches!(class, "CreateHandle" | "InsertHandle") {
            return Err(Error::unsupported(format!("writing to a target {class}")));
        }
        let handle = target.pointer("/handle/connectorHandle");
        let handle = handle.ok_or_else(|| Error::invalid_value("a target without a handle"))?;
        let written = Arc::new(WrittenTable::new(task));
        let text = handle.to_string();
        let query = task.split('.').next().unwrap_or(task);
        let catalog = target.pointer("/handle/connectorId").and_then(JsonValue::as_str);
        let properties = catalog.and_then(|it| catalog_properties.get(it));
        let behavior = properties.and_then(|it| it.get("insert_existing_partitions_behavior"));
        let existing = ExistingPartitions::named(behavior.map(String::as_str))?;
        let sinks = HiveSinks::of_handle(Json::new(&text), query, existing, &written)?;
        Ok(TableWrite { sinks: Arc::new(sinks), written })
    }
}
