//! Writing.

use std::{any::Any, collections::BTreeMap, sync::Arc};
use volley_error::{Error, Result};
use volley_plan::WriteTarget;
use volley_types::{Schema, nearest_name};
use volley_vector::Batch;

/// Where batches are in the order of the source that they come from. Batches of one index come from
/// one driver, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct BatchIndex(pub u64);

/// Writes batches to one place. Who gives it batches charges its memory.
pub trait RowSink: Send {
    /// Appends the rows of a batch.
    ///
    /// # Errors
    ///
    /// I/O.
    fn write(&mut self, batch: &Batch) -> Result<()>;

    /// The batches from now on are at this index, which is above the one before. A sink of rows
    /// whose order does not count ignores it.
    ///
    /// # Errors
    ///
    /// As [`RowSink::write`].
    fn begin(&mut self, _index: BatchIndex) -> Result<()> {
        Ok(())
    }

    /// Appends rows that an encoder of the same writer made bytes of.
    ///
    /// # Errors
    ///
    /// I/O. Internal: the writer has no encoders.
    fn append(&mut self, _bytes: &[u8]) -> Result<()> {
        Err(Error::internal("encoded rows for a sink that encodes rows itself"))
    }

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
    fn reclaim(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Makes bytes of rows that can be appended to a target in the order of the rows, so that several
/// drivers encode and one appends.
pub trait RowEncoder: Send {
    /// The bytes of the rows of a batch.
    ///
    /// # Errors
    ///
    /// Values that the format does not hold; cancelled.
    fn encode(&mut self, batch: &Batch) -> Result<Vec<u8>>;
}

/// Rows on their way to one target: opens the sinks of the drivers that write them.
pub trait TableWriter: Any + Send + Sync {
    /// The most sinks that may be open at once.
    fn sinks_max(&self) -> usize {
        1
    }

    /// An encoder for a driver, if rows are encoded independently of each other, in at most a few
    /// times the bytes of their values; then all sinks support [`RowSink::append`].
    fn encoder(&self) -> Option<Box<dyn RowEncoder>> {
        None
    }

    /// Opens a sink for a driver. Rows are ordered by [`RowSink::begin`]; at the same index, those
    /// of a sink that is opened earlier come first.
    ///
    /// # Errors
    ///
    /// I/O; unsupported types.
    fn open(&self) -> Result<Box<dyn RowSink>>;
}

/// Makes the writers of targets.
pub trait SinkFactory: Send + Sync {
    /// The writer of rows with these columns to a target.
    ///
    /// # Errors
    ///
    /// Invalid query or value: an unknown option, or one that does not fit. Unsupported: no such
    /// sink.
    fn writer(&self, target: &WriteTarget, columns: &Schema) -> Result<Arc<dyn TableWriter>>;
}

/// The sinks that a session knows, by name.
#[derive(Clone, Default)]
pub struct SinkRegistry {
    by_name: BTreeMap<String, Arc<dyn SinkFactory>>,
}

impl SinkRegistry {
    /// Adds a sink under a name in lower case.
    ///
    /// # Errors
    ///
    /// Invalid value: the name is taken.
    pub fn add(&mut self, name: &str, factory: Arc<dyn SinkFactory>) -> Result<()> {
        match self.by_name.insert(name.to_lowercase(), factory) {
            None => Ok(()),
            Some(_) => Err(Error::invalid_value(format!("there is already a sink called {name}"))),
        }
    }
}

impl SinkFactory for SinkRegistry {
    fn writer(&self, target: &WriteTarget, columns: &Schema) -> Result<Arc<dyn TableWriter>> {
        let WriteTarget { sink, .. } = target;
        match self.by_name.get(sink) {
            Some(factory) => factory.writer(target, columns),
            None => {
                let error = Error::unsupported(format!("unsupported file format: '{sink}'"));
                Err(match nearest_name(sink, self.by_name.keys().map(String::as_str)) {
                    Some(nearest) => error.hint(format!("did you mean {nearest}?")),
                    None => error,
                })
            }
        }
    }
}
