//! Writes one file, or a folder of files.

use crate::{
    FileFormat, WriteOptions,
    folder_options::FolderOptions,
    folder_sink::FolderToWrite,
    format_writer::{FormatWriter, TextEncoder, write_bytes},
};
use std::sync::Arc;
use volley_connector::{RowEncoder, RowSink, SinkFactory, TableWriter};
use volley_error::{Error, Result};
use volley_io::{FileSystems, wait};
use volley_plan::WriteTarget;
use volley_types::Schema;
use volley_vector::Batch;

/// Writes Parquet, ORC, CSV and JSON lines to files that appear whole or not at all.
#[derive(Clone, Debug)]
pub struct FileSinkFactory {
    /// Where the files are.
    pub files: FileSystems,
}

impl SinkFactory for FileSinkFactory {
    fn writer(&self, target: &WriteTarget, columns: &Schema) -> Result<Arc<dyn TableWriter>> {
        let format = FileFormat::of_name(&target.sink)?;
        let (folder, of_format) = FolderOptions::read(&target.options)?;
        let options = WriteOptions::read(format, &of_format)?;
        let (files, path) = (self.files.clone(), target.location.clone());
        let columns = columns.clone();
        let file = FileToWrite { files, path, format, options, columns };
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
    pub options: WriteOptions,
    pub columns: Schema,
}

impl TableWriter for FileToWrite {
    fn encoder(&self) -> Option<Box<dyn RowEncoder>> {
        let encoder = TextEncoder::new(self.format, &self.options, &self.columns)?;
        Some(Box::new(encoder))
    }

    fn open(&self) -> Result<Box<dyn RowSink>> {
        let FileToWrite { path, options, columns, format, .. } = self;
        let writer = FormatWriter::new(self.files.create(path)?, *format, options, columns)?;
        Ok(Box::new(FileSink { path: path.clone(), format: *format, writer: Some(writer) }))
    }
}

struct FileSink {
    path: String,
    format: FileFormat,
    /// Taken when finished.
    writer: Option<FormatWriter>,
}

impl RowSink for FileSink {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let writer = self.writer.as_mut();
        let writer = writer.ok_or_else(|| Error::internal("write after the end"))?;
        writer.write(batch).map_err(|it| it.at("file", &self.path))
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let writer = self.writer.as_mut();
        let writer = writer.ok_or_else(|| Error::internal("write after the end"))?;
        writer.append(bytes).map_err(|it| it.at("file", &self.path))
    }

    fn finish(&mut self) -> Result<()> {
        let writer = self.writer.take().ok_or_else(|| Error::internal("finished twice"))?;
        let file = writer.finish().map_err(|it| it.at("file", &self.path))?;
        wait(file.commit()).map(drop)
    }

    fn held_bytes(&self) -> usize {
        self.writer.as_ref().map_or(0, FormatWriter::held_bytes)
    }

    fn write_bytes(&self, flat_bytes: usize) -> usize {
        write_bytes(self.format, flat_bytes)
    }

    fn give_back(&mut self) -> Result<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.end_group().map_err(|it| it.at("file", &self.path))
    }
}
