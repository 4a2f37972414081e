//! Formats of files that other crates add.

use crate::SourceStep;
use std::{collections::BTreeMap, fmt, io::Write, sync::Arc, task::Waker};
use volley_error::{Error, Result};
use volley_io::RandomAccessFile;
use volley_memory::Pool;
use volley_types::Schema;
use volley_vector::Batch;

/// A format of files: how one is opened, and how one is written.
///
/// A file is read by splits, which drivers read at the same time. Columns that a file lacks,
/// columns of folders' names, casts and filters are added above: a reader gives the columns that it
/// is asked for.
pub trait FormatExtension: Send + Sync + fmt::Debug {
    /// What it is called in `COPY ... (FORMAT name)` and in the function `read_name`: lower-case
    /// letters and digits.
    fn name(&self) -> &'static str;

    /// How the names of its files end, in lower case, such as `.arrow`.
    fn endings(&self) -> &'static [&'static str];

    /// Opens a file. What is kept of it is charged to `pool`.
    ///
    /// # Errors
    ///
    /// I/O, corruption, types that are not supported, out of memory.
    fn open(&self, file: Arc<dyn RandomAccessFile>, pool: &Pool) -> Result<Arc<dyn FormatFile>>;

    /// Begins a file with these columns. It appears when its writer has finished.
    ///
    /// # Errors
    ///
    /// Unsupported: files of this format are not written, or not with a column's type. Invalid
    /// query or value: an option that it does not have.
    fn write(
        &self,
        _output: Box<dyn Write + Send>,
        _columns: &Schema,
        _options: &[(String, String)],
    ) -> Result<Box<dyn FormatWriter>> {
        Err(Error::unsupported(format!("files of the format {} are not written", self.name()))
            .hint("write parquet, orc, csv, json, arrow or avro"))
    }

    /// The maximum additional memory while a batch of this number of flat bytes is written.
    fn write_bytes(&self, flat_bytes: usize) -> usize {
        flat_bytes
    }
}

/// An open file.
pub trait FormatFile: Send + Sync + fmt::Debug {
    /// Its columns.
    fn schema(&self) -> &Schema;

    /// Its bytes.
    fn file(&self) -> &Arc<dyn RandomAccessFile>;

    /// The number of splits, in the order of the rows.
    fn splits(&self) -> usize;

    /// About how many bytes of the file a split takes.
    fn split_bytes(&self, split: usize) -> u64;

    /// The number of its rows, if that is known.
    fn rows(&self) -> Option<u64> {
        None
    }

    /// Begins to read columns of a split, by their positions in the file.
    ///
    /// # Errors
    ///
    /// I/O, corruption, out of memory.
    fn read(
        &self,
        split: usize,
        columns: &[usize],
        request: &FormatRequest,
    ) -> Result<Box<dyn FormatReader>>;
}

/// The columns of a request without repetition, ascending, as decoders take them, and for each
/// column of the request its place among these.
pub fn distinct_columns(columns: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let mut distinct = columns.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    let places = columns.iter().filter_map(|it| distinct.binary_search(it).ok()).collect();
    (distinct, places)
}

/// How a split is read.
#[derive(Clone, Debug)]
pub struct FormatRequest {
    /// Most rows of a batch; at least one.
    pub batch_rows: usize,
    /// What is charged with bytes that are read.
    pub pool: Pool,
}

/// Reads a split.
pub trait FormatReader: Send {
    /// The next batch, with the columns in the order in which they were asked for. When it answers
    /// [`SourceStep::Blocked`], `waker` is woken once there is progress to be made.
    ///
    /// # Errors
    ///
    /// I/O, corruption, out of memory.
    fn step(&mut self, waker: &Waker) -> Result<SourceStep>;

    /// Bytes that were read from the file so far.
    fn bytes_read(&self) -> u64;
}

/// Writes a file.
pub trait FormatWriter: Send {
    /// Appends rows.
    ///
    /// # Errors
    ///
    /// I/O; values that the format does not hold.
    fn write(&mut self, batch: &Batch) -> Result<()>;

    /// Writes the rows that it holds, if the format allows that between any two rows.
    ///
    /// # Errors
    ///
    /// I/O.
    fn flush_rows(&mut self) -> Result<()> {
        Ok(())
    }

    /// Bytes of memory that rows take which are not written.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Writes the end of the file.
    ///
    /// # Errors
    ///
    /// I/O.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// The formats that were added to an engine. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct FormatRegistry(Arc<BTreeMap<&'static str, Arc<dyn FormatExtension>>>);

impl FormatRegistry {
    /// Adds a format.
    ///
    /// # Errors
    ///
    /// Invalid value: there is one of this name, or one whose files' names end alike; a name that
    /// cannot be written in SQL.
    pub fn add(&mut self, format: Arc<dyn FormatExtension>) -> Result<()> {
        let name = format.name();
        let is_name = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit();
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(Error::invalid_value(format!("not a name of a file format: '{name}'"))
                .hint("lower-case letters and digits"));
        }
        let taken = |it: &&&str| self.of_path(it).is_some();
        if let Some(ending) = format.endings().iter().find(taken) {
            let message =
                format!("there is already a file format for names that end with {ending}");
            return Err(Error::invalid_value(message));
        }
        if self.0.contains_key(name) {
            return Err(Error::invalid_value(format!("there is already a file format {name}")));
        }
        Arc::make_mut(&mut self.0).insert(name, format);
        Ok(())
    }

    /// The format of a name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn FormatExtension>> {
        self.0.get(name)
    }

    /// The format that the end of a path, in lower case, tells.
    pub fn of_path(&self, path: &str) -> Option<&Arc<dyn FormatExtension>> {
        self.0.values().find(|it| it.endings().iter().any(|ending| path.ends_with(ending)))
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }
}
