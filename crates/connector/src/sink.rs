//! Writing.

use volley_error::Result;
use volley_plan::TableWriteNode;
use volley_types::Type;
use volley_vector::Batch;

/// Writes batches to one place.
pub trait RowSink: Send {
    /// Appends the rows of a batch.
    ///
    /// # Errors
    ///
    /// I/O.
    fn write(&mut self, batch: &Batch) -> Result<()>;

    /// Completes the output and makes it visible. Without this call nothing appears.
    ///
    /// # Errors
    ///
    /// I/O.
    fn finish(&mut self) -> Result<()>;
}

/// Opens sinks.
pub trait SinkFactory: Send + Sync {
    /// Opens the sink that `node` describes; `types` are its input's columns.
    ///
    /// # Errors
    ///
    /// I/O; unsupported types.
    fn open(&self, node: &TableWriteNode, types: &[Type]) -> Result<Box<dyn RowSink>>;
}
