//! Writes one file, or a folder of files.

use crate::{
    FileFormat, WriteOptions,
    folder_options::FolderOptions,
    folder_sink::FolderToWrite,
    format_writer::{FormatWriter, TextEncoder, write_bytes},
};
use std::sync::Arc;
use volley_connector::{
    FormatExtension, FormatRegistry, RowEncoder, RowSink, SinkFactory, TableWriter,
};
use volley_error::{Error, ErrorKind, Result};
use volley_io::{FileSystems, FileWriter, wait};
use volley_plan::WriteTarget;
use volley_types::Schema;
use volley_vector::Batch;

/// Writes Parquet, ORC, CSV and JSON lines to files that appear whole or not at all.
#[derive(Clone, Debug)]
pub struct FileSinkFactory {
    /// Where the files are.
    pub files: FileSystems,
    /// Formats that were added to the engine.
    pub formats: FormatRegistry,
}

impl SinkFactory for FileSinkFactory {
    fn writer(&self, target: &WriteTarget, columns: &Schema) -> Result<Arc<dyn TableWriter>> {
        let format = FileFormat::of_name(&target.sink, &self.formats)?;
        let (folder, of_format) = FolderOptions::read(&target.options)?;
        let options = WriteOptions::read(format, &of_format)?;
        let (files, path) = (self.files.clone(), target.location.clone());
        let (columns, added) = (columns.clone(), self.formats.get(format.sink_name()).cloned());
        if let Some(added) = &added {
            // What is wrong with the options is known before the query runs.
            added.write(Box::new(std::io::sink()), &columns, &options.added)?;
        }
        let file = FileToWrite { files, path, format, added, options, columns };
        Ok(match folder {
            Some(folder) => Arc::new(FolderToWrite::new(file, folder)?),
            None => Arc::new(file),
        })
    }
}

/// A file that is not opened yet.
pub(crate) struct FileToWrite {
    pub files: FileSystems,
    pub path: String,
    pub format: FileFormat,
    /// The format, if it was added to the engine.
    pub added: Option<Arc<dyn FormatExtension>>,
    pub options: WriteOptions,
    pub columns: Schema,
}

impl TableWriter for FileToWrite {
    fn encoder(&self) -> Option<Box<dyn RowEncoder>> {
        let encoder = TextEncoder::new(self.format, &self.options, &self.columns)?;
        Some(Box::new(encoder))
    }

    fn open(&self) -> Result<Box<dyn RowSink>> {
        let writer = self.begin(self.files.create(&self.path)?, &self.columns)?;
        let write_bytes = self.write_bytes();
        Ok(Box::new(FileSink { path: self.path.clone(), write_bytes, writer: Some(writer) }))
    }
}

/// The maximum additional memory while a batch of a number of flat bytes is written.
pub(crate) type WriteBytes = Arc<dyn Fn(usize) -> usize + Send + Sync>;

impl FileToWrite {
    /// Begins a file with these columns.
    pub fn begin(&self, file: Box<dyn FileWriter>, columns: &Schema) -> Result<FormatWriter> {
        match &self.added {
            Some(added) => FormatWriter::of_added(file, &**added, &self.options, columns),
            None => FormatWriter::new(file, self.format, &self.options, columns),
        }
    }

    pub fn write_bytes(&self) -> WriteBytes {
        match (&self.added, self.format) {
            (Some(added), _) => {
                let added = Arc::clone(added);
                Arc::new(move |flat_bytes| added.write_bytes(flat_bytes))
            }
            (None, format) => Arc::new(move |flat_bytes| write_bytes(format, flat_bytes)),
        }
    }
}

struct FileSink {
    path: String,
    write_bytes: WriteBytes,
    /// Taken when finished.
    writer: Option<FormatWriter>,
}

/// Names the file, unless the statement was to stop: that is not about the file.
fn at_file(error: Error, path: &str) -> Error {
    match error.kind() {
        ErrorKind::Cancelled | ErrorKind::TimedOut => error,
        _ => error.at("file", path),
    }
}

impl RowSink for FileSink {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let writer = self.writer.as_mut();
        let writer = writer.ok_or_else(|| Error::internal("write after the end"))?;
        writer.write(batch).map_err(|it| at_file(it, &self.path))
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let writer = self.writer.as_mut();
        let writer = writer.ok_or_else(|| Error::internal("write after the end"))?;
        writer.append(bytes).map_err(|it| at_file(it, &self.path))
    }

    fn finish(&mut self) -> Result<()> {
        let writer = self.writer.take().ok_or_else(|| Error::internal("finished twice"))?;
        let file = writer.finish().map_err(|it| at_file(it, &self.path))?;
        wait(file.commit()).map(drop)
    }

    fn held_bytes(&self) -> usize {
        self.writer.as_ref().map_or(0, FormatWriter::held_bytes)
    }

    fn write_bytes(&self, flat_bytes: usize) -> usize {
        (self.write_bytes)(flat_bytes)
    }

    fn reclaim(&mut self) -> Result<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.end_group().map_err(|it| at_file(it, &self.path))
    }
}
