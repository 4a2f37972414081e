//! Opens a file.

use crate::{
    check::{block_range, check_message},
    corruption,
    read::ArrowReader,
};
use arrow_buffer::Buffer;
use arrow_ipc::{
    Block, Endianness, convert::try_fb_to_schema, reader::FileDecoder, root_as_footer,
};
use arrow_schema::{ArrowError, SchemaRef};
use bytes::Bytes;
use std::{
    collections::BTreeMap,
    fmt,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
};
use volley_connector::{FormatFile, FormatReader, FormatRequest, distinct_columns};
use volley_error::{Error, Result};
use volley_io::RandomAccessFile;
use volley_memory::{Pool, Reservation};
use volley_types::Schema;
use volley_vector::arrow::schema_from_arrow;

/// What a file begins and ends with.
const MAGIC: &[u8; 6] = b"ARROW1";

/// What stands behind the footer: its length and the magic bytes.
const END_BYTES: u64 = 10;

/// Record batches that are read together have about this many bytes.
const SPLIT_BYTES: u64 = 4 << 20;

/// Decoders that are kept, each with other columns.
const DECODERS_MAX: usize = 8;

/// An open file.
pub(crate) struct ArrowFile {
    file: Arc<dyn RandomAccessFile>,
    schema: Schema,
    arrow_schema: SchemaRef,
    footer: Footer,
    splits: Vec<Range<usize>>,
    dictionaries: Vec<Bytes>,
    decoders: Mutex<BTreeMap<Vec<usize>, Arc<FileDecoder>>>,
    /// What is kept of it.
    _kept: Reservation,
}

/// What the footer says.
struct Footer {
    version: arrow_ipc::MetadataVersion,
    dictionaries: Vec<(Block, Range<u64>)>,
    batches: Vec<(Block, Range<u64>)>,
}

impl ArrowFile {
    /// Reads footer and dictionaries.
    ///
    /// # Errors
    ///
    /// I/O, corruption, out of memory. Unsupported: streams, old Feather files, types.
    pub fn open(file: Arc<dyn RandomAccessFile>, pool: &Pool) -> Result<ArrowFile> {
        let at = |it: Error| it.at("file", file.path());
        let mut kept = pool.reservation();
        let bytes = footer_bytes(&*file, &mut kept).map_err(at)?;
        let start = file.size_bytes() - END_BYTES - bytes.len() as u64;
        let (footer, arrow_schema) = caught(|| read_footer(&bytes, start)).map_err(at)?;
        let schema = schema_from_arrow(&arrow_schema).map_err(at)?;
        let mut dictionaries = Vec::with_capacity(footer.dictionaries.len());
        for (block, range) in &footer.dictionaries {
            kept.grow((range.end - range.start) as usize)?;
            let bytes = file.read(range.clone())?;
            kept.grow(check_message(block, &bytes).map_err(at)? as usize)?;
            dictionaries.push(bytes);
        }
        let splits = splits_of(&footer.batches);
        let decoders = Mutex::default();
        let _kept = kept;
        Ok(ArrowFile { file, schema, arrow_schema, footer, splits, dictionaries, decoders, _kept })
    }

    /// Where the record batches of a split are.
    pub fn blocks(&self, split: Range<usize>) -> &[(Block, Range<u64>)] {
        self.footer.batches.get(split).unwrap_or_default()
    }

    /// A decoder of these columns, ascending.
    ///
    /// # Errors
    ///
    /// Corruption of a dictionary.
    pub fn decoder(&self, columns: &[usize]) -> Result<Arc<FileDecoder>> {
        let mut decoders = self.decoders.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(decoder) = decoders.get(columns) {
            return Ok(Arc::clone(decoder));
        }
        let schema = Arc::clone(&self.arrow_schema);
        let mut decoder = FileDecoder::new(schema, self.footer.version);
        for ((block, _), bytes) in self.footer.dictionaries.iter().zip(&self.dictionaries) {
            let bytes = Buffer::from(bytes.clone());
            caught(|| decoder.read_dictionary(block, &bytes).map_err(refused))
                .map_err(|it| it.at("file", self.file.path()))?;
        }
        let decoder = Arc::new(decoder.with_projection(columns.to_vec()));
        if decoders.len() >= DECODERS_MAX {
            decoders.clear();
        }
        decoders.insert(columns.to_vec(), Arc::clone(&decoder));
        Ok(decoder)
    }
}

/// The footer without the length behind it.
fn footer_bytes(file: &dyn RandomAccessFile, kept: &mut Reservation) -> Result<Bytes> {
    let size = file.size_bytes();
    let not_arrow = || {
        Error::corruption("not an Arrow IPC file: it does not end with ARROW1")
            .hint("streams and Feather files of version 1 are not read; write an IPC file")
    };
    let end_start = size.checked_sub(END_BYTES).ok_or_else(not_arrow)?;
    let end = file.read(end_start..size)?;
    let (length, magic) = end.split_first_chunk().ok_or_else(not_arrow)?;
    if magic != MAGIC {
        return Err(not_arrow());
    }
    let length = u64::try_from(i32::from_le_bytes(*length)).ok();
    let start = length.and_then(|it| end_start.checked_sub(it)).filter(|it| *it >= 8);
    let start = start.ok_or_else(|| corruption("the length of the footer"))?;
    // The schema and the places of messages take some times as much.
    kept.grow((end_start - start) as usize * 4)?;
    file.read(start..end_start)
}

fn read_footer(bytes: &[u8], footer_start: u64) -> Result<(Footer, SchemaRef)> {
    let footer =
        root_as_footer(bytes).map_err(|it| corruption("the footer").at("flatbuffer", it))?;
    let schema = footer.schema().ok_or_else(|| corruption("a footer without a schema"))?;
    if schema.endianness() != Endianness::Little {
        return Err(Error::unsupported("Arrow files in big-endian byte order"));
    }
    let placed = |it: &Block| Ok((*it, block_range(it, footer_start)?));
    let batches = footer.recordBatches().into_iter().flatten().map(placed);
    let dictionaries = footer.dictionaries().into_iter().flatten().map(placed);
    let parts = Footer {
        version: footer.version(),
        batches: batches.collect::<Result<_>>()?,
        dictionaries: dictionaries.collect::<Result<_>>()?,
    };
    Ok((parts, Arc::new(try_fb_to_schema(schema).map_err(refused)?)))
}

/// Neighboring record batches that are read together.
fn splits_of(batches: &[(Block, Range<u64>)]) -> Vec<Range<usize>> {
    let mut splits: Vec<Range<usize>> = Vec::new();
    let mut bytes = 0..0;
    for (index, (_, range)) in batches.iter().enumerate() {
        let is_next = range.start >= bytes.end && range.start - bytes.end < 64;
        let fits = is_next && range.end - bytes.start <= SPLIT_BYTES;
        match splits.last_mut().filter(|_| fits) {
            Some(split) => {
                split.end = index + 1;
                bytes.end = range.end;
            }
            None => {
                splits.push(index..index + 1);
                bytes = range.clone();
            }
        }
    }
    splits
}

/// Runs what may panic for damaged bytes.
pub(crate) fn caught<T>(decode: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err(corruption("lengths that contradict each other")))
}

pub(crate) fn refused(error: ArrowError) -> Error {
    corruption("bytes that the decoder refuses").caused_by(error)
}

impl fmt::Debug for ArrowFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArrowFile({}, {} batches)", self.file.path(), self.footer.batches.len())
    }
}

impl FormatFile for ArrowFile {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn file(&self) -> &Arc<dyn RandomAccessFile> {
        &self.file
    }

    fn splits(&self) -> usize {
        self.splits.len()
    }

    fn split_bytes(&self, split: usize) -> u64 {
        let blocks = self.splits.get(split).map(|it| self.blocks(it.clone()));
        blocks.into_iter().flatten().map(|(_, range)| range.end - range.start).sum()
    }

    fn read(
        &self,
        split: usize,
        columns: &[usize],
        request: &FormatRequest,
    ) -> Result<Box<dyn FormatReader>> {
        let split = self.splits.get(split).ok_or_else(|| Error::internal("no such split"))?;
        let blocks = self.blocks(split.clone()).to_vec();
        let (distinct, places) = distinct_columns(columns);
        let decoder = self.decoder(&distinct)?;
        let file = Arc::clone(&self.file);
        Ok(Box::new(ArrowReader::new(file, blocks, decoder, places, request)))
    }
}
