//! Writing.

use volley_error::Result;
use volley_plan::TableWriteNode;
use volley_types::Type;
use volley_vector::Batch;

/// Writes batches to one place. Who gives it batches charges its memory.
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

    /// Bytes of memory that it holds between batches.
    fn held_bytes(&self) -> usize {
        0
    }

    /// The maximum additional memory while it writes a batch of this number of flat bytes.
    fn write_bytes(&self, _flat_bytes: usize) -> usize {
        0
    }

    /// Writes what it holds, as far as the format lets it, to hold less.
    ///
    /// # Errors
    ///
    /// I/O.
    fn give_back(&mut self) -> Result<()> {
        Ok(())
    }
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
