//! Writes files.

use crate::{PlanNode, PlanNodeId};
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
    /// Apache ORC.
    Orc,
}

/// How a file is written, beyond its format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// How Parquet pages and ORC streams are compressed.
    pub compression: FileCompression,
    /// The maximum number of rows of a row group of Parquet; `None` leaves it to the writer.
    pub row_group_rows: Option<usize>,
    /// Whether CSV begins with a line of column names.
    pub has_header: bool,
    /// The delimiter between CSV fields.
    pub delimiter: char,
    /// The quote around CSV fields that need it; doubled within them.
    pub quote: char,
    /// What CSV has for NULL.
    pub null: String,
}

/// How Parquet pages and ORC streams are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCompression {
    /// Not at all.
    None,
    /// Quick; the default.
    Snappy,
    /// Small.
    Zstd,
    /// What most systems read, slow: GZIP in Parquet, ZLIB in ORC.
    Gzip,
    /// LZ4 blocks: quicker than Snappy to read.
    Lz4,
}

impl Default for WriteOptions {
    fn default() -> WriteOptions {
        WriteOptions {
            compression: FileCompression::Snappy,
            row_group_rows: None,
            has_header: true,
            delimiter: ',',
            quote: '"',
            null: String::new(),
        }
    }
}

/// Writes all rows to one file; returns one BIGINT: the number of rows.
#[derive(Clone, Debug)]
pub struct TableWriteNode {
    /// Identity within the plan.
    pub node_id: PlanNodeId,
    /// Where rows come from.
    pub input: Arc<PlanNode>,
    /// The file; it appears whole or not at all.
    pub path: String,
    /// Its format.
    pub format: FileFormat,
    /// How it is written.
    pub options: WriteOptions,
    /// Names of the input's columns in the file.
    pub column_names: Vec<String>,
    /// The one column `rows`.
    pub schema: Schema,
}
