//! Writes ORC files.
//!
//! ```text
//! write        rows are kept flat until there are enough for a stripe
//! end_stripe   each column is encoded: its row groups, one after the other, into its streams
//!              row indexes, streams, footer of the stripe
//! finish       statistics of stripes, footer, postscript
//! ```
//!
//! Files are of version 0.12 of the format. Timestamps are written in UTC.

mod proto;
mod stream;
mod runs;
mod statistics;
mod schema;
mod values;
mod text;
mod column;

use crate::{
    compression::Codec,
    metadata::stream::ROW_INDEX,
    writer::{
        column::{EncodedColumn, StoredRows, StripeColumns, flat, flat_bytes},
        proto::MessageBuilder,
        schema::{Tree, trees_of, type_messages},
        statistics::Statistics,
        stream::{BlockFormat, compress_section},
    },
};
use std::io::Write;
use volley_error::{Error, Result};
use volley_memory::check_cancelled;
use volley_types::{Schema, Type};
use volley_vector::{Batch, Vector};

/// Rows of a row group.
const ROW_INDEX_STRIDE: usize = 10_000;

/// Bytes of rows, flat, after which a stripe ends.
const STRIPE_BYTES: usize = 64 << 20;

/// The most rows of a stripe.
const STRIPE_ROWS_MAX: usize = 8 << 20;

/// Bytes of a block before compression.
const BLOCK_BYTES: usize = 256 << 10;

/// What encoding takes for each byte of a batch: the rows of a column once more, and its streams.
const WRITE_FACTOR: usize = 3;

const MAGIC: &[u8] = b"ORC";

/// The number of the latest change that writers are told apart by (ORC-14).
const WRITER_VERSION: u64 = 9;

/// How a file is written.
#[derive(Clone, Copy, Debug)]
pub struct OrcWriteOptions {
    /// How streams are compressed; `None`: not at all.
    pub codec: Option<Codec>,
    /// Bytes of rows, flat, after which a stripe ends.
    pub stripe_bytes: usize,
    /// Rows of a row group.
    pub row_index_stride: usize,
    /// Bytes of a block before compression, at most 8 MiB.
    pub block_bytes: usize,
}

impl Default for OrcWriteOptions {
    fn default() -> OrcWriteOptions {
        OrcWriteOptions {
            codec: Some(Codec::Zstd),
            stripe_bytes: STRIPE_BYTES,
            row_index_stride: ROW_INDEX_STRIDE,
            block_bytes: BLOCK_BYTES,
        }
    }
}

/// Writes batches to one file.
pub struct OrcWriter<W: Write> {
    output: W,
    options: OrcWriteOptions,
    schema: Schema,
    trees: Vec<Tree>,
    /// Rows of the stripe that is not complete, column by column, flat.
    columns: Vec<Vec<Vector>>,
    rows: usize,
    held_bytes: usize,
    /// Where the next stripe begins.
    offset: u64,
    stripes: Vec<WrittenStripe>,
}

/// A stripe that was written.
struct WrittenStripe {
    message: MessageBuilder,
    rows: u64,
    /// By column; the root's first.
    statistics: Vec<Statistics>,
}

impl<W: Write> OrcWriter<W> {
    /// A writer of columns of `schema` to `output`.
    ///
    /// # Errors
    ///
    /// I/O; types that ORC does not have; a codec that is not written.
    pub fn new(mut output: W, schema: &Schema, options: OrcWriteOptions) -> Result<OrcWriter<W>> {
        if options.codec == Some(Codec::Brotli) {
            return Err(Error::unsupported("writing ORC files with Brotli"));
        }
        let trees = trees_of(schema)?;
        output.write_all(MAGIC).map_err(failed)?;
        Ok(OrcWriter {
            output,
            options,
            schema: schema.clone(),
            columns: trees.iter().map(|_| Vec::new()).collect(),
            trees,
            rows: 0,
            held_bytes: 0,
            offset: MAGIC.len() as u64,
            stripes: Vec::new(),
        })
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    ///
    /// I/O; what a lazy column's loader reports; a timestamp that ORC does not hold.
    pub fn write(&mut self, batch: &Batch) -> Result<()> {
        for (column, kept) in batch.columns().iter().zip(&mut self.columns) {
            let vector = flat(column.loaded()?)?;
            self.held_bytes += flat_bytes(&vector);
            kept.push(vector);
        }
        self.rows += batch.rows();
        if self.held_bytes >= self.options.stripe_bytes || self.rows >= STRIPE_ROWS_MAX {
            self.end_stripe()?;
        }
        Ok(())
    }

    /// Bytes of memory that the rows of the stripe take which is not complete.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// The most bytes of memory that writing a batch takes on top, whose flat size is `flat_bytes`.
    pub fn write_bytes(flat_bytes: usize) -> usize {
        flat_bytes.saturating_mul(WRITE_FACTOR)
    }

    /// Completes the stripe, so that no rows are held.
    ///
    /// # Errors
    ///
    /// I/O; a timestamp that ORC does not hold.
    pub fn end_stripe(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.rows);
        self.held_bytes = 0;
        let stride = self.options.row_index_stride.max(1);
        let ends: Vec<usize> =
            (1..=rows.div_ceil(stride)).map(|group| (group * stride).min(rows)).collect();
        let mut encoded = StripeColumns::default();
        encoded.columns.push(root_column(&ends));
        for (tree, kept) in self.trees.iter().zip(&mut self.columns) {
            check_cancelled()?;
            let parts = std::mem::take(kept);
            let vector = Vector::concat(&tree.data_type, &parts)?;
            drop(parts);
            let stored =
                StoredRows { vector, rows: (0..rows as u32).collect(), ends: ends.clone() };
            encoded.encode(tree, stored, format_of(&self.options))?;
        }
        self.write_stripe(&encoded.columns, rows as u64)
    }

    fn write_stripe(&mut self, columns: &[EncodedColumn], rows: u64) -> Result<()> {
        let format = format_of(&self.options);
        let mut footer = MessageBuilder::default();
        let stream = |kind: u64, column: usize, bytes: &[u8]| {
            let stream = MessageBuilder::default().integer(1, kind).integer(2, column as u64);
            stream.integer(3, bytes.len() as u64)
        };
        let (mut index_bytes, mut data_bytes) = (0, 0);
        for (column, encoded) in columns.iter().enumerate() {
            let index = compress_section(&encoded.index(), format)?;
            footer = footer.message(1, stream(ROW_INDEX, column, &index));
            index_bytes += index.len() as u64;
            self.output.write_all(&index).map_err(failed)?;
        }
        for (column, encoded) in columns.iter().enumerate() {
            for (kind, bytes) in &encoded.streams {
                footer = footer.message(1, stream(*kind, column, bytes));
                data_bytes += bytes.len() as u64;
                self.output.write_all(bytes).map_err(failed)?;
            }
        }
        for encoded in columns {
            let mut encoding = MessageBuilder::default().integer(1, encoded.encoding);
            if encoded.dictionary_size > 0 {
                encoding = encoding.integer(2, encoded.dictionary_size);
            }
            footer = footer.message(2, encoding);
        }
        let footer = compress_section(&footer.bytes(3, b"UTC").finish(), format)?;
        self.output.write_all(&footer).map_err(failed)?;
        let message = MessageBuilder::default()
            .integer(1, self.offset)
            .integer(2, index_bytes)
            .integer(3, data_bytes)
            .integer(4, footer.len() as u64)
            .integer(5, rows);
        self.offset += index_bytes + data_bytes + footer.len() as u64;
        let statistics = columns.iter().map(EncodedColumn::statistics).collect();
        self.stripes.push(WrittenStripe { message, rows, statistics });
        Ok(())
    }

    /// Writes the footer; the output.
    ///
    /// # Errors
    ///
    /// As [`OrcWriter::end_stripe`].
    pub fn finish(mut self) -> Result<W> {
        self.end_stripe()?;
        let format = format_of(&self.options);
        let mut metadata = MessageBuilder::default();
        for stripe in &self.stripes {
            let columns = stripe.statistics.iter();
            let columns =
                columns.fold(MessageBuilder::default(), |it, one| it.message(1, one.message()));
            metadata = metadata.message(1, columns);
        }
        let metadata = compress_section(&metadata.finish(), format)?;
        self.output.write_all(&metadata).map_err(failed)?;
        let footer = compress_section(&self.footer()?.finish(), format)?;
        self.output.write_all(&footer).map_err(failed)?;
        let postscript = self.postscript(footer.len(), metadata.len()).finish();
        self.output.write_all(&postscript).map_err(failed)?;
        self.output.write_all(&[postscript.len() as u8]).map_err(failed)?;
        Ok(self.output)
    }

    fn footer(&self) -> Result<MessageBuilder> {
        let mut footer =
            MessageBuilder::default().integer(1, MAGIC.len() as u64).integer(2, self.offset);
        for stripe in &self.stripes {
            footer = footer.message(3, stripe.message.clone());
        }
        for message in type_messages(&self.schema, &self.trees)? {
            footer = footer.message(4, message);
        }
        footer = footer.integer(6, self.stripes.iter().map(|it| it.rows).sum());
        for statistics in self.file_statistics() {
            footer = footer.message(7, statistics.message());
        }
        let stride = self.options.row_index_stride.max(1) as u64;
        // The calendar is the proleptic Gregorian one.
        Ok(footer.integer(8, stride).integer(11, 2))
    }

    /// Statistics of all rows, by column.
    fn file_statistics(&self) -> Vec<Statistics> {
        let mut all = vec![Statistics::default()];
        self.trees.iter().for_each(|it| push_empty(it, &mut all));
        for stripe in &self.stripes {
            all.iter_mut().zip(&stripe.statistics).for_each(|(all, one)| all.merge(one));
        }
        all
    }

    fn postscript(&self, footer_bytes: usize, metadata_bytes: usize) -> MessageBuilder {
        let codec = match self.options.codec {
            None => 0,
            Some(Codec::Zlib) => 1,
            Some(Codec::Snappy) => 2,
            Some(Codec::Lz4) => 4,
            Some(Codec::Zstd) => 5,
            Some(Codec::Brotli) => 6,
        };
        MessageBuilder::default()
            .integer(1, footer_bytes as u64)
            .integer(2, codec)
            .integer(3, self.options.block_bytes as u64)
            .packed(4, &[0, 12])
            .integer(5, metadata_bytes as u64)
            .integer(6, WRITER_VERSION)
            .bytes(8000, MAGIC)
    }
}

fn push_empty(tree: &Tree, all: &mut Vec<Statistics>) {
    all.push(Statistics::of_type(&tree.data_type));
    tree.children.iter().for_each(|it| push_empty(it, all));
}

/// The root: a struct that is never null.
fn root_column(ends: &[usize]) -> EncodedColumn {
    let mut start = 0;
    let group = |end: &usize| {
        let mut statistics = Statistics::of_type(&Type::row([]));
        statistics.values = (end - start) as u64;
        start = *end;
        (Vec::new(), statistics)
    };
    EncodedColumn {
        streams: Vec::new(),
        encoding: crate::metadata::encoding::DIRECT,
        dictionary_size: 0,
        groups: ends.iter().map(group).collect(),
    }
}

fn format_of(options: &OrcWriteOptions) -> BlockFormat {
    BlockFormat { codec: options.codec, block_bytes: options.block_bytes.clamp(1, (1 << 23) - 1) }
}

#[cold]
fn failed(error: std::io::Error) -> Error {
    Error::io("ORC file", error)
}
