//! Arrow IPC files, which are Feather files of version 2, too.
//!
//! ```text
//! file: ARROW1, dictionaries, record batches, footer (schema, places of both), its length, ARROW1
//! open(file) ──> footer ──> splits: neighboring record batches ── read ──> batches
//! write(batches) ──> record batches of about 65,536 rows
//! ```
//!
//! Read [`ArrowFormat`] first. The crate `arrow-ipc` decodes messages. It slices buffers by lengths
//! that it does not check, and allocates what compressed buffers say that they have: `check.rs`
//! compares both with the bytes that are there, and with what the pool has, before. Streams, which
//! have no footer, are refused.

mod check;
mod file;
mod read;
mod write;
#[cfg(test)]
mod tests;

use file::ArrowFile;
use std::{io::Write, sync::Arc};
use volley_connector::{FormatExtension, FormatFile, FormatWriter};
use volley_error::{Error, Result};
use volley_io::RandomAccessFile;
use volley_memory::Pool;
use volley_types::Schema;
use write::ArrowWriter;

/// Arrow IPC files.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArrowFormat;

impl FormatExtension for ArrowFormat {
    fn name(&self) -> &'static str {
        "arrow"
    }

    fn endings(&self) -> &'static [&'static str] {
        &[".arrow", ".feather", ".ipc"]
    }

    fn open(&self, file: Arc<dyn RandomAccessFile>, pool: &Pool) -> Result<Arc<dyn FormatFile>> {
        Ok(Arc::new(ArrowFile::open(file, pool)?))
    }

    fn write(
        &self,
        output: Box<dyn Write + Send>,
        columns: &Schema,
        options: &[(String, String)],
    ) -> Result<Box<dyn FormatWriter>> {
        Ok(Box::new(ArrowWriter::new(output, columns, options)?))
    }

    fn write_bytes(&self, flat_bytes: usize) -> usize {
        // Columns in Arrow's layout, and their compressed bytes.
        flat_bytes.saturating_mul(2)
    }
}

/// The error of bytes that no writer wrote.
#[cold]
fn corruption(what: &str) -> Error {
    Error::corruption(format!("damaged Arrow file: {what}"))
}
