//! Writes one file.

use crate::{FileCompression, FileFormat, WriteOptions, output::PacedOutput};
use std::sync::Arc;
use volley_connector::{RowSink, SinkFactory, TableWriter};
use volley_error::{Error, Result};
use volley_io::{FileSystems, wait};
use volley_orc::{Codec, OrcWriteOptions, OrcWriter};
use volley_parquet::{Compression, ParquetWriter};
use volley_plan::WriteTarget;
use volley_text::{CsvWriter, JsonWriter};
use volley_types::Schema;
use volley_vector::Batch;

/// Writes Parquet, ORC, CSV and JSON lines to files that appear whole or not at all.
#[derive(Clone, Debug)]
pub struct FileSinkFactory {
    /// Where the files are.
    pub files: FileSystems,
}

/// The file that a sink writes.
type Output = PacedOutput;

impl SinkFactory for FileSinkFactory {
    fn writer(&self, target: &WriteTarget, columns: &Schema) -> Result<Arc<dyn TableWriter>> {
        let format = FileFormat::of_name(&target.sink)?;
        let options = WriteOptions::read(format, &target.options)?;
        let (files, path) = (self.files.clone(), target.location.clone());
        Ok(Arc::new(FileToWrite { files, path, format, options, columns: columns.clone() }))
    }
}

/// A file that is not opened yet.
struct FileToWrite {
    files: FileSystems,
    path: String,
    format: FileFormat,
    options: WriteOptions,
    columns: Schema,
}

impl TableWriter for FileToWrite {
    fn open(&self) -> Result<Box<dyn RowSink>> {
        let FileToWrite { path, options, columns, .. } = self;
        let output = PacedOutput { writer: self.files.create(path)? };
        let writer = match self.format {
            FileFormat::Parquet => {
                let compression = compression_of(options.compression);
                let rows = options.row_group_rows;
                Writer::Parquet(ParquetWriter::with_row_groups(output, columns, compression, rows)?)
            }
            FileFormat::Orc => {
                let codec = codec_of(options.compression);
                let options = OrcWriteOptions { codec, ..OrcWriteOptions::default() };
                Writer::Orc(Box::new(OrcWriter::new(output, columns, options)?))
            }
            FileFormat::Csv => Writer::Csv(csv_writer(output, columns, options)?),
            FileFormat::Json => Writer::Json(JsonWriter::new(output, columns)?),
        };
        Ok(Box::new(FileSink { path: path.clone(), writer: Some(writer) }))
    }
}

fn csv_writer(
    output: Output,
    schema: &Schema,
    options: &WriteOptions,
) -> Result<CsvWriter<Output>> {
    let mut writer = CsvWriter::new(output, schema, options.delimiter)
        .with_texts(options.quote, options.null.clone());
    if options.has_header {
        writer.write_header()?;
    }
    Ok(writer)
}

fn compression_of(compression: FileCompression) -> Compression {
    match compression {
        FileCompression::None => Compression::None,
        FileCompression::Snappy => Compression::Snappy,
        FileCompression::Zstd => Compression::Zstd,
        FileCompression::Gzip => Compression::Gzip,
        FileCompression::Lz4 => Compression::Lz4,
    }
}

fn codec_of(compression: FileCompression) -> Option<Codec> {
    match compression {
        FileCompression::None => None,
        FileCompression::Snappy => Some(Codec::Snappy),
        FileCompression::Zstd => Some(Codec::Zstd),
        FileCompression::Gzip => Some(Codec::Zlib),
        FileCompression::Lz4 => Some(Codec::Lz4),
    }
}

struct FileSink {
    path: String,
    /// Taken when finished.
    writer: Option<Writer>,
}

enum Writer {
    Parquet(ParquetWriter<Output>),
    Orc(Box<OrcWriter<Output>>),
    Csv(CsvWriter<Output>),
    Json(JsonWriter<Output>),
}

impl RowSink for FileSink {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let result = match &mut self.writer {
            Some(Writer::Parquet(writer)) => writer.write(batch),
            Some(Writer::Orc(writer)) => writer.write(batch),
            Some(Writer::Csv(writer)) => writer.write(batch),
            Some(Writer::Json(writer)) => writer.write(batch),
            None => Err(Error::internal("write after the end")),
        };
        result.map_err(|it| it.at("file", &self.path))
    }

    fn finish(&mut self) -> Result<()> {
        let output = match self.writer.take() {
            Some(Writer::Parquet(writer)) => writer.finish(),
            Some(Writer::Orc(writer)) => writer.finish(),
            Some(Writer::Csv(writer)) => writer.finish(),
            Some(Writer::Json(writer)) => writer.finish(),
            None => Err(Error::internal("finished twice")),
        };
        let output = output.map_err(|it| it.at("file", &self.path))?;
        wait(output.writer.commit()).map(drop)
    }

    fn held_bytes(&self) -> usize {
        match &self.writer {
            Some(Writer::Parquet(writer)) => writer.held_bytes(),
            Some(Writer::Orc(writer)) => writer.held_bytes(),
            _ => 0,
        }
    }

    fn write_bytes(&self, flat_bytes: usize) -> usize {
        match &self.writer {
            Some(Writer::Parquet(_)) => ParquetWriter::<Output>::write_bytes(flat_bytes),
            Some(Writer::Orc(_)) => OrcWriter::<Output>::write_bytes(flat_bytes),
            // Text is written in pieces.
            _ => 0,
        }
    }

    fn give_back(&mut self) -> Result<()> {
        match &mut self.writer {
            Some(Writer::Parquet(writer)) => {
                writer.end_row_group().map_err(|it| it.at("file", &self.path))
            }
            Some(Writer::Orc(writer)) => {
                writer.end_stripe().map_err(|it| it.at("file", &self.path))
            }
            _ => Ok(()),
        }
    }
}
