//! Avro object container files.
//!
//! ```text
//! file: "Obj" 1, metadata (schema, codec), marker; blocks: rows, bytes, compressed rows, marker
//! open(file) ──> header ──> splits of about 4 MiB ── read ──> batches
//! ```
//!
//! Read [`AvroFormat`] first. The crate `arrow-avro` decodes and encodes rows. Blocks are found and
//! decompressed here (`container.rs`, `codec.rs`): a split begins at the first marker in its bytes,
//! and what a block has decompressed is reserved while it grows. Lists of values without bytes are
//! refused: few bytes could state any number of them.

mod codec;
mod container;
mod file;
mod keys;
mod read;
mod write;
#[cfg(test)]
mod tests;

use file::AvroFile;
use std::{io::Write, sync::Arc};
use volley_connector::{FormatExtension, FormatFile, FormatWriter};
use volley_error::{Error, Result};
use volley_io::RandomAccessFile;
use volley_memory::Pool;
use volley_types::Schema;
use write::RowWriter;

/// Avro object container files.
#[derive(Clone, Copy, Debug, Default)]
pub struct AvroFormat;

impl FormatExtension for AvroFormat {
    fn name(&self) -> &'static str {
        "avro"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".avro"]
    }

    fn open(&self, file: Arc<dyn RandomAccessFile>, pool: &Pool) -> Result<Arc<dyn FormatFile>> {
        Ok(Arc::new(AvroFile::open(file, pool)?))
    }

    fn write(
        &self,
        output: Box<dyn Write + Send>,
        columns: &Schema,
        options: &[(String, String)],
    ) -> Result<Box<dyn FormatWriter>> {
        Ok(Box::new(RowWriter::new(output, columns, options)?))
    }

    fn write_bytes(&self, flat_bytes: usize) -> usize {
        // Columns in Arrow's layout, rows, and their compressed bytes.
        flat_bytes.saturating_mul(3)
    }
}

/// The error of bytes that no writer wrote.
#[cold]
fn corruption(what: &str) -> Error {
    Error::corruption(format!("damaged Avro file: {what}"))
}
