//! The writer of a file of any format.

use crate::{
    FileCompression, FileFormat, WriteOptions,
    output::{PacedOutput, SharedOutput, WrittenBytes},
};
use std::io::Write;
use volley_connector::{FormatExtension, FormatWriter as AddedWriter, RowEncoder};
use volley_error::{Error, Result};
use volley_io::FileWriter;
use volley_orc::{Codec, OrcWriteOptions, OrcWriter};
use volley_parquet::{Compression, ParquetWriter};
use volley_text::{CsvWriter, JsonWriter};
use volley_types::{Schema, Type};
use volley_vector::Batch;

/// Writes rows to one file.
pub(crate) struct FormatWriter {
    format: Format,
    written: WrittenBytes,
}

enum Format {
    Parquet(ParquetWriter<PacedOutput>),
    Orc(Box<OrcWriter<PacedOutput>>),
    Csv(CsvWriter<PacedOutput>),
    Json(JsonWriter<PacedOutput>),
    Added { writer: Box<dyn AddedWriter>, output: SharedOutput },
}

impl FormatWriter {
    /// Begins a file with these columns.
    ///
    /// # Errors
    ///
    /// I/O. Unsupported: a type that the format does not hold.
    pub fn new(
        file: Box<dyn FileWriter>,
        format: FileFormat,
        options: &WriteOptions,
        columns: &Schema,
    ) -> Result<FormatWriter> {
        let written = WrittenBytes::default();
        let output = PacedOutput::new(file, written.clone());
        let format = match format {
            FileFormat::Parquet => {
                let compression = compression_of(options.compression);
                let rows = options.row_group_rows;
                let writer = ParquetWriter::with_row_groups(output, columns, compression, rows)?;
                Format::Parquet(writer)
            }
            FileFormat::Orc => {
                let codec = codec_of(options.compression);
                let options = OrcWriteOptions { codec, ..OrcWriteOptions::default() };
                Format::Orc(Box::new(OrcWriter::new(output, columns, options)?))
            }
            FileFormat::Csv => Format::Csv(csv_writer(output, columns, options)?),
            FileFormat::Json => Format::Json(JsonWriter::new(output, columns)?),
            FileFormat::Added(_) => return Err(Error::internal("a format without a writer")),
        };
        Ok(FormatWriter { format, written })
    }

    /// As [`FormatWriter::new`], of a format that was added.
    ///
    /// # Errors
    ///
    /// As [`FormatWriter::new`].
    pub fn of_added(
        file: Box<dyn FileWriter>,
        format: &dyn FormatExtension,
        options: &WriteOptions,
        columns: &Schema,
    ) -> Result<FormatWriter> {
        let written = WrittenBytes::default();
        let output = SharedOutput::new(PacedOutput::new(file, written.clone()));
        let writer = format.write(Box::new(output.clone()), columns, &options.added)?;
        Ok(FormatWriter { format: Format::Added { writer, output }, written })
    }

    /// The bytes of the file so far.
    pub fn written_bytes(&self) -> u64 {
        self.written.get()
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    ///
    /// I/O; values that the format does not hold.
    pub fn write(&mut self, batch: &Batch) -> Result<()> {
        match &mut self.format {
            Format::Parquet(writer) => writer.write(batch),
            Format::Orc(writer) => writer.write(batch),
            Format::Csv(writer) => writer.write(batch),
            Format::Json(writer) => writer.write(batch),
            Format::Added { writer, .. } => writer.write(batch),
        }
    }

    /// Appends rows that a [`TextEncoder`] of the same columns and options encoded.
    ///
    /// # Errors
    ///
    /// I/O. Internal: a format whose rows depend on each other.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.format {
            Format::Csv(writer) => writer.append(bytes),
            Format::Json(writer) => writer.append(bytes),
            Format::Parquet(_) | Format::Orc(_) | Format::Added { .. } => {
                Err(Error::internal("encoded rows of a format with row groups"))
            }
        }
    }

    /// Writes the end of the file, which is not committed yet.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn finish(self) -> Result<Box<dyn FileWriter>> {
        let output = match self.format {
            Format::Parquet(writer) => writer.finish(),
            Format::Orc(writer) => writer.finish(),
            Format::Csv(writer) => writer.finish(),
            Format::Json(writer) => writer.finish(),
            Format::Added { writer, output } => {
                writer.finish()?;
                output.take()
            }
        };
        output.map(PacedOutput::into_file)
    }

    /// Bytes of memory that rows take which are not written.
    pub fn held_bytes(&self) -> usize {
        match &self.format {
            Format::Parquet(writer) => writer.held_bytes(),
            Format::Orc(writer) => writer.held_bytes(),
            Format::Csv(_) | Format::Json(_) => 0,
            Format::Added { writer, .. } => writer.held_bytes(),
        }
    }

    /// Writes the rows that it holds as a row group or stripe.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn end_group(&mut self) -> Result<()> {
        match &mut self.format {
            Format::Parquet(writer) => writer.end_row_group(),
            Format::Orc(writer) => writer.end_stripe(),
            Format::Csv(_) | Format::Json(_) => Ok(()),
            Format::Added { writer, .. } => writer.flush_rows(),
        }
    }
}

/// The maximum additional memory while a batch of this number of flat bytes is written.
pub(crate) fn write_bytes(format: FileFormat, flat_bytes: usize) -> usize {
    match format {
        FileFormat::Parquet => ParquetWriter::<PacedOutput>::write_bytes(flat_bytes),
        FileFormat::Orc => OrcWriter::<PacedOutput>::write_bytes(flat_bytes),
        // Text is written in pieces.
        FileFormat::Csv | FileFormat::Json | FileFormat::Added(_) => 0,
    }
}

/// Encodes rows as lines of text.
pub(crate) enum TextEncoder {
    Csv(CsvWriter<Vec<u8>>),
    Json(JsonWriter<Vec<u8>>),
}

impl TextEncoder {
    /// An encoder of rows with these columns. `None` for formats whose rows depend on each other,
    /// and for nested columns: their texts may be much larger than their values, and are written
    /// in pieces.
    pub fn new(
        format: FileFormat,
        options: &WriteOptions,
        columns: &Schema,
    ) -> Option<TextEncoder> {
        let is_simple =
            |it: &Type| !it.is_nested() && !matches!(it, Type::Custom(_) | Type::Unknown);
        if !columns.types().all(is_simple) {
            return None;
        }
        match format {
            FileFormat::Csv => {
                let writer = without_header(Vec::new(), columns, options);
                Some(TextEncoder::Csv(writer))
            }
            FileFormat::Json => JsonWriter::new(Vec::new(), columns).ok().map(TextEncoder::Json),
            FileFormat::Parquet | FileFormat::Orc | FileFormat::Added(_) => None,
        }
    }
}

impl RowEncoder for TextEncoder {
    fn encode(&mut self, batch: &Batch) -> Result<Vec<u8>> {
        match self {
            TextEncoder::Csv(writer) => {
                writer.write(batch)?;
                Ok(writer.take_written())
            }
            TextEncoder::Json(writer) => {
                writer.write(batch)?;
                Ok(writer.take_written())
            }
        }
    }
}

fn without_header<W: Write + Send>(
    output: W,
    schema: &Schema,
    options: &WriteOptions,
) -> CsvWriter<W> {
    CsvWriter::new(output, schema, options.delimiter)
        .with_texts(options.quote, options.null.clone())
}

fn csv_writer(
    output: PacedOutput,
    schema: &Schema,
    options: &WriteOptions,
) -> Result<CsvWriter<PacedOutput>> {
    let mut writer = without_header(output, schema, options);
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
