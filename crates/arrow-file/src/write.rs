//! Writes a file.

use arrow_ipc::{
    CompressionType,
    writer::{FileWriter, IpcWriteOptions},
};
use arrow_schema::{ArrowError, SchemaRef};
use std::{
    io::{self, Write},
    sync::Arc,
};
use volley_connector::FormatWriter;
use volley_error::{Error, Result};
use volley_types::{Schema, Type};
use volley_vector::{
    Batch,
    arrow::{ArrowLayout, batch_to_arrow, schema_to_arrow, type_from_arrow, type_to_arrow},
};

/// Rows of a record batch, unless they take more bytes.
const BATCH_ROWS: usize = 1 << 16;

/// Bytes of rows that are held before they are a record batch.
const BATCH_BYTES: usize = 8 << 20;

/// Writes rows to a file.
pub(crate) struct ArrowWriter {
    writer: FileWriter<Box<dyn Write + Send>>,
    schema: SchemaRef,
    types: Vec<Type>,
    held: Vec<Batch>,
    held_rows: usize,
    held_bytes: usize,
}

impl ArrowWriter {
    /// Begins a file.
    ///
    /// # Errors
    ///
    /// I/O. Unsupported: a type without a counterpart in Arrow, an option. Invalid value: one of
    /// `compression`.
    pub fn new(
        output: Box<dyn Write + Send>,
        columns: &Schema,
        options: &[(String, String)],
    ) -> Result<ArrowWriter> {
        let schema = Arc::new(schema_to_arrow(columns, ArrowLayout::Portable));
        for field in &columns.fields {
            if type_from_arrow(&type_to_arrow(&field.data_type, ArrowLayout::Portable)).is_err() {
                let message = format!("{} in Arrow files", field.data_type);
                return Err(Error::unsupported(message).at("column", &field.name));
            }
        }
        let compression = compression_of(options)?;
        let options = IpcWriteOptions::default().try_with_compression(compression);
        let writer = options.and_then(|it| FileWriter::try_new_with_options(output, &schema, it));
        Ok(ArrowWriter {
            writer: writer.map_err(unwritten)?,
            schema,
            types: columns.types().cloned().collect(),
            held: Vec::new(),
            held_rows: 0,
            held_bytes: 0,
        })
    }
}

fn compression_of(options: &[(String, String)]) -> Result<Option<CompressionType>> {
    let mut compression = None;
    for (name, value) in options {
        if name != "compression" {
            let message = format!("COPY option {name} does not go with arrow");
            return Err(Error::invalid_query(message).hint("arrow takes compression"));
        }
        compression = match value.to_ascii_lowercase().as_str() {
            "none" | "uncompressed" => None,
            "lz4" => Some(CompressionType::LZ4_FRAME),
            "zstd" => Some(CompressionType::ZSTD),
            _ => {
                let message = format!("unsupported compression of Arrow files: '{value}'");
                return Err(Error::unsupported(message).hint("write none, lz4 or zstd"));
            }
        };
    }
    Ok(compression)
}

/// The error of a write: of the file's own, if it is inside.
fn unwritten(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, source) => match source.downcast::<Error>() {
            Ok(own) => own,
            Err(source) => Error::io("Arrow file", source),
        },
        other => Error::io("Arrow file", io::Error::other(other)),
    }
}

impl FormatWriter for ArrowWriter {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let batch = batch.clone().loaded()?;
        self.held_rows += batch.rows();
        self.held_bytes += batch.retained_bytes();
        self.held.push(batch);
        if self.held_rows >= BATCH_ROWS || self.held_bytes >= BATCH_BYTES {
            self.flush_rows()?;
        }
        Ok(())
    }

    fn flush_rows(&mut self) -> Result<()> {
        let held = std::mem::take(&mut self.held);
        (self.held_rows, self.held_bytes) = (0, 0);
        let batch = match held.as_slice() {
            [] => return Ok(()),
            [batch] => batch.clone(),
            several => Batch::concat(&self.types, several)?,
        };
        let batch = batch_to_arrow(&batch, &self.schema, ArrowLayout::Portable)?;
        self.writer.write(&batch).map_err(unwritten)
    }

    fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.flush_rows()?;
        self.writer.finish().map_err(unwritten)?;
        self.writer.get_mut().flush().map_err(|it| unwritten(ArrowError::from(it)))
    }
}
