//! Writes Parquet files.

use crate::error::from_parquet;
use arrow_schema::SchemaRef;
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression as Codec, ZstdLevel},
    file::properties::WriterProperties,
};
use std::{io::Write, sync::Arc};
use volley_error::Result;
use volley_types::Schema;
use volley_vector::{
    Batch,
    arrow::{ArrowLayout, batch_to_arrow, schema_to_arrow},
};

/// How pages are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Quick.
    Snappy,
    /// Small.
    Zstd,
}

/// Writes batches to one file.
pub struct ParquetWriter<W: Write + Send> {
    schema: SchemaRef,
    writer: ArrowWriter<W>,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// A writer of columns of `schema` to `output`.
    ///
    /// # Errors
    ///
    /// Types that Parquet does not have.
    pub fn new(output: W, schema: &Schema, compression: Compression) -> Result<ParquetWriter<W>> {
        let schema = Arc::new(schema_to_arrow(schema, ArrowLayout::Portable));
        let codec = match compression {
            Compression::Snappy => Codec::SNAPPY,
            Compression::Zstd => Codec::ZSTD(ZstdLevel::default()),
        };
        let properties = WriterProperties::builder().set_compression(codec).build();
        let writer = ArrowWriter::try_new(output, Arc::clone(&schema), Some(properties));
        Ok(ParquetWriter { schema, writer: writer.map_err(from_parquet)? })
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    ///
    /// I/O; what a lazy column's loader reports.
    pub fn write(&mut self, batch: &Batch) -> Result<()> {
        let batch = batch_to_arrow(batch, &self.schema, ArrowLayout::Portable)?;
        self.writer.write(&batch).map_err(from_parquet)
    }

    /// Writes the footer and gives the output back.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn finish(self) -> Result<W> {
        self.writer.into_inner().map_err(from_parquet)
    }
}
