//! Opens a file.

use crate::{
    container::{Header, has_bounded_lists, read_header},
    corruption,
    read::BlockReader,
};
use arrow_avro::{
    reader::{Decoder, DecoderMode, ReaderBuilder},
    schema::{AvroSchema, SchemaStore},
};
use arrow_schema::{DataType, Field};
use std::{
    error::Error as StdError,
    fmt,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};
use volley_connector::{FormatFile, FormatReader, FormatRequest, distinct_columns};
use volley_error::{Error, Result};
use volley_io::RandomAccessFile;
use volley_memory::{Pool, Reservation};
use volley_types::Schema;
use volley_vector::arrow::schema_from_arrow;

/// Bytes of a split.
const SPLIT_BYTES: u64 = 4 << 20;

/// Bytes that are read at first for the header, and at most.
const HEADER_BYTES: u64 = 64 << 10;
const HEADER_BYTES_MAX: u64 = 16 << 20;

/// An open file.
pub(crate) struct AvroFile {
    file: Arc<dyn RandomAccessFile>,
    header: Arc<Header>,
    schema: Schema,
    /// Of the header and what is made of it.
    _kept: Reservation,
}

impl AvroFile {
    /// Reads the header.
    ///
    /// # Errors
    ///
    /// I/O, corruption, out of memory. Unsupported: codecs, types.
    pub fn open(file: Arc<dyn RandomAccessFile>, pool: &Pool) -> Result<AvroFile> {
        let mut kept = pool.reservation();
        let at = |it: Error| it.at("file", file.path());
        let header = header_of(&*file, &mut kept).map_err(at)?;
        let json = serde_json::from_str::<serde_json::Value>(&header.schema);
        let json = json.map_err(|it| at(corruption("the schema").caused_by(it)))?;
        if !has_bounded_lists(&json) {
            return Err(at(Error::unsupported(
                "unsupported list of Avro values that may have no bytes",
            )));
        }
        let schema = decoder_of(&header, None, 1).map_err(at)?.schema();
        schema.fields().iter().try_for_each(|it| check_unions(it)).map_err(at)?;
        let schema = schema_from_arrow(&schema).map_err(at)?;
        Ok(AvroFile { file, header: Arc::new(header), schema, _kept: kept })
    }

    /// Where the marker before the first block begins.
    fn first_marker(&self) -> u64 {
        self.header.bytes - 16
    }

    /// The places where the markers before the blocks of a split begin.
    fn markers(&self, split: usize) -> Range<u64> {
        let start = self.first_marker() + split as u64 * SPLIT_BYTES;
        start..(start + SPLIT_BYTES).min(self.file.size_bytes())
    }
}

fn header_of(file: &dyn RandomAccessFile, kept: &mut Reservation) -> Result<Header> {
    let mut wanted = HEADER_BYTES;
    loop {
        let len = wanted.min(file.size_bytes());
        // Texts, JSON and decoders of it.
        kept.resize(len as usize)?;
        let bytes = file.read(0..len)?;
        if let Some(header) = read_header(&bytes)? {
            kept.resize(header.schema.len() * 16)?;
            return Ok(header);
        }
        if len == file.size_bytes() || wanted >= HEADER_BYTES_MAX {
            return Err(corruption("a header that does not end"));
        }
        wanted *= 4;
    }
}

/// A decoder of rows: of all columns, or of these.
///
/// # Errors
///
/// Unsupported: a schema that the decoder refuses.
pub(crate) fn decoder_of(
    header: &Header,
    columns: Option<&[usize]>,
    batch_rows: usize,
) -> Result<Decoder> {
    caught(|| {
        let mut store = SchemaStore::new();
        let schema = AvroSchema::new(header.schema.clone());
        let fingerprint = store.register(schema).map_err(unsupported)?;
        let mut builder = ReaderBuilder::new()
            .with_batch_size(batch_rows)
            .with_writer_schema_store(store)
            .with_active_fingerprint(fingerprint)
            .with_decoder_mode(DecoderMode::UnframedDatum);
        if let Some(columns) = columns {
            builder = builder.with_projection(columns.to_vec());
        }
        builder.build_decoder().map_err(unsupported)
    })
}

/// Runs what may panic for damaged bytes.
pub(crate) fn caught<T>(decode: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err(corruption("bytes that contradict their schema")))
}

fn unsupported(error: impl StdError + Send + Sync + 'static) -> Error {
    Error::unsupported("unsupported schema of an Avro file").caused_by(error)
}

/// Unsupported: unions of several types.
fn check_unions(field: &Field) -> Result<()> {
    match field.data_type() {
        DataType::Union(..) => {
            Err(Error::unsupported("unsupported union of several types in an Avro file")
                .at("column", field.name())
                .hint("unions of one type and null are read"))
        }
        DataType::List(items) | DataType::Map(items, _) => check_unions(items),
        DataType::Struct(fields) => fields.iter().try_for_each(|it| check_unions(it)),
        _ => Ok(()),
    }
}

pub(crate) fn refused(error: impl StdError + Send + Sync + 'static) -> Error {
    corruption("bytes that the decoder refuses").caused_by(error)
}

impl fmt::Debug for AvroFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AvroFile({})", self.file.path())
    }
}

impl FormatFile for AvroFile {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn file(&self) -> &Arc<dyn RandomAccessFile> {
        &self.file
    }

    fn splits(&self) -> usize {
        // Behind the last marker is nothing.
        let places = (self.file.size_bytes() - self.first_marker()).saturating_sub(16);
        places.div_ceil(SPLIT_BYTES) as usize
    }

    fn split_bytes(&self, split: usize) -> u64 {
        let markers = self.markers(split);
        markers.end.saturating_sub(markers.start)
    }

    fn read(
        &self,
        split: usize,
        columns: &[usize],
        request: &FormatRequest,
    ) -> Result<Box<dyn FormatReader>> {
        let (mut distinct, places) = distinct_columns(columns);
        // Rows are counted by a column of theirs.
        if distinct.is_empty() && !self.schema.is_empty() {
            distinct.push(0);
        }
        let some = (distinct.len() < self.schema.len()).then_some(distinct.as_slice());
        let decoder = decoder_of(&self.header, some, request.batch_rows.max(1))
            .map_err(|it| it.at("file", self.file.path()))?;
        let (file, header) = (Arc::clone(&self.file), Arc::clone(&self.header));
        let markers = self.markers(split);
        Ok(Box::new(BlockReader::new(file, header, markers, decoder, places, request)))
    }
}
