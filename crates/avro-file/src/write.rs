//! Writes a file.

use crate::keys::{array_with_text_keys, with_text_keys};
use arrow_array::RecordBatch;
use arrow_avro::{
    compression::CompressionCodec,
    errors::AvroError,
    writer::{AvroWriter, WriterBuilder, format::AvroOcfFormat},
};
use arrow_schema::SchemaRef;
use std::{
    io::{self, Write},
    sync::Arc,
};
use volley_connector::FormatWriter;
use volley_error::{Error, Result};
use volley_types::Schema;
use volley_vector::{
    Batch,
    arrow::{ArrowLayout, batch_to_arrow, schema_to_arrow},
};

/// Writes rows to a file, a block per batch.
pub(crate) struct RowWriter {
    writer: AvroWriter<Box<dyn Write + Send>>,
    schema: SchemaRef,
    /// What the encoder gets.
    written: SchemaRef,
}

impl RowWriter {
    /// Begins a file.
    ///
    /// # Errors
    ///
    /// I/O. Unsupported: a type that Avro has not, an option.
    pub fn new(
        output: Box<dyn Write + Send>,
        columns: &Schema,
        options: &[(String, String)],
    ) -> Result<RowWriter> {
        let schema = schema_to_arrow(columns, ArrowLayout::Portable);
        let written = with_text_keys(&schema)?;
        let builder = WriterBuilder::new(written.clone()).with_compression(codec_of(options)?);
        let writer = builder.build::<_, AvroOcfFormat>(output).map_err(unwritten)?;
        Ok(RowWriter { writer, schema: Arc::new(schema), written: Arc::new(written) })
    }
}

fn codec_of(options: &[(String, String)]) -> Result<Option<CompressionCodec>> {
    let mut codec = None;
    for (name, value) in options {
        if name != "compression" {
            let message = format!("COPY option {name} does not go with avro");
            return Err(Error::invalid_query(message).hint("avro takes compression"));
        }
        codec = match value.to_ascii_lowercase().as_str() {
            "none" | "uncompressed" => None,
            "zstd" => Some(CompressionCodec::ZStandard),
            _ => {
                let message = format!("unsupported compression of Avro files: '{value}'");
                return Err(Error::unsupported(message).hint("write none or zstd"));
            }
        };
    }
    Ok(codec)
}

/// The error of a write: of the file's own, if it is inside.
fn unwritten(error: AvroError) -> Error {
    match error {
        AvroError::IoError(_, source) => match source.downcast::<Error>() {
            Ok(own) => own,
            Err(source) => Error::io("Avro file", source),
        },
        AvroError::NYI(what) => Error::unsupported(format!("unsupported in Avro files: {what}")),
        other => Error::io("Avro file", io::Error::other(other)),
    }
}

impl FormatWriter for RowWriter {
    fn write(&mut self, batch: &Batch) -> Result<()> {
        let batch = batch.clone().loaded()?;
        let batch = batch_to_arrow(&batch, &self.schema, ArrowLayout::Portable)?;
        let columns = batch.columns().iter().zip(self.written.fields());
        let columns = columns.map(|(it, field)| array_with_text_keys(it, field.data_type()));
        let batch = columns
            .collect::<std::result::Result<_, _>>()
            .and_then(|it| RecordBatch::try_new(Arc::clone(&self.written), it))
            .map_err(|it| Error::internal("columns for an Avro file").caused_by(it))?;
        self.writer.write(&batch).map_err(unwritten)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.writer.finish().map_err(unwritten)
    }
}
