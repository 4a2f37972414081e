//! Writes files.

use crate::PlanNode;
use std::sync::Arc;
use volley_types::Schema;

/// The formats that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileFormat {
    /// Apache Parquet.
    Parquet,
    /// Comma-separated values with a header line.
    Csv,
    /// One JSON object per line.
    Json,
}

/// Writes all rows to one file; puts out one BIGINT: the number of rows.
#[derive(Clone, Debug)]
pub struct TableWriteNode {
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// The file; it appears whole or not at all.
    pub path: String,
    /// Its format.
    pub format: FileFormat,
    /// Names of the input's columns in the file.
    pub column_names: Vec<String>,
    /// The one column `rows`.
    pub schema: Schema,
}
