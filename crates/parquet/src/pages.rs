//! The pages of a column chunk: decompressed on demand, or passed over.

use crate::{
    dictionary::read_dictionary,
    error::{corrupt, from_parquet},
    file::chunk_range,
    header::{PageHeader, PageKind, read_page_header},
    leaf::Leaf,
    levels::Levels,
};
use bytes::{Buf, Bytes, buf::Reader};
use parquet::{
    basic::{Compression, Encoding},
    column::page::{Page, PageReader},
    errors::{ParquetError, Result as ParquetResult},
    file::{
        metadata::ColumnChunkMetaData,
        reader::{ChunkReader, Length, SerializedPageReader},
    },
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_memory::Reservation;
use volley_vector::Vector;

/// The pages of one column chunk, forward only.
pub(crate) struct Pages {
    pub leaf: Leaf,
    reader: SerializedPageReader<ChunkBytes>,
    chunk: ChunkBytes,
    compression: Compression,
    /// Where the next page's header begins in the chunk.
    at: usize,
    /// The next page, a data page, when it was looked at.
    header: Option<PageHeader>,
    dictionary: Option<Arc<Vector>>,
    /// Rows of the row group, to choose between dictionary and flat vectors.
    pub rows: usize,
    /// Values of the chunk, nulls included, as the footer has it.
    values: usize,
    reservation: Reservation,
    pub pages_read: u64,
    pub pages_skipped: u64,
}

/// A decompressed data page.
pub(crate) struct DataPage {
    /// Values, nulls included.
    pub values: usize,
    pub encoding: Encoding,
    /// Absent when all are 0.
    pub reps: Option<Levels>,
    /// Absent when all are the highest.
    pub defs: Option<Levels>,
    /// The encoded values.
    pub bytes: Bytes,
}

impl Pages {
    /// The pages in `chunk`, which are the bytes that `metadata` names; its ranges were checked.
    /// Whoever read them has charged them; `reservation` is for what is made of them.
    pub fn new(
        leaf: Leaf,
        metadata: &ColumnChunkMetaData,
        chunk: Bytes,
        rows: usize,
        reservation: Reservation,
    ) -> Result<Pages> {
        let start = chunk_range(metadata).start;
        let chunk = ChunkBytes { start, bytes: chunk };
        let input = Arc::new(chunk.clone());
        let reader = if metadata.byte_range().0 == start {
            SerializedPageReader::new(input, metadata, rows, None)
        } else {
            let metadata = metadata.clone().into_builder().set_dictionary_page_offset(None).build();
            SerializedPageReader::new(input, &metadata.map_err(from_parquet)?, rows, None)
        };
        Ok(Pages {
            leaf,
            reader: reader.map_err(from_parquet)?,
            chunk,
            compression: metadata.compression(),
            at: 0,
            header: None,
            dictionary: None,
            rows,
            values: usize::try_from(metadata.num_values()).unwrap_or_default(),
            reservation,
            pages_read: 0,
            pages_skipped: 0,
        })
    }

    /// The next data page's header.
    ///
    /// # Errors
    ///
    /// Corruption, also when there is no further page.
    pub fn peek(&mut self) -> Result<PageHeader> {
        if let Some(header) = self.header {
            return Ok(header);
        }
        loop {
            let rest = self.chunk.bytes.get(self.at..).unwrap_or_default();
            if rest.is_empty() {
                return Err(corrupt("column has fewer values than its row group has rows"));
            }
            let header = read_page_header(rest)?;
            let end = header.header_bytes.saturating_add(header.compressed_bytes);
            if end > rest.len() {
                return Err(corrupt("page ends after its column"));
            }
            self.at += end;
            if header.kind == PageKind::Data {
                self.header = Some(header);
                return Ok(header);
            }
            if header.kind == PageKind::Dictionary {
                self.check_size(&header)?;
            }
            // A dictionary is kept by the reader until a page needs it.
            self.reader.skip_next_page().map_err(from_parquet)?;
        }
    }

    /// Whether no further page follows.
    pub fn is_at_end(&self) -> bool {
        self.header.is_none() && self.at >= self.chunk.bytes.len()
    }

    /// Passes over the next data page.
    pub fn skip(&mut self) -> Result<()> {
        self.peek()?;
        self.header = None;
        self.pages_skipped += 1;
        self.reader.skip_next_page().map_err(from_parquet)
    }

    /// Decompresses the next data page.
    pub fn next(&mut self) -> Result<DataPage> {
        let header = self.peek()?;
        self.check_size(&header)?;
        self.header = None;
        self.pages_read += 1;
        if header.values > self.values {
            return Err(corrupt("page with more values than its column"));
        }
        let dictionary = self.dictionary.as_ref().map_or(0, |it| it.retained_bytes());
        // Levels of nested columns are decoded, into two words each.
        let levels = if self.leaf.rep_max > 0 { header.values * 8 } else { 0 };
        self.reservation.resize(dictionary + header.uncompressed_bytes + levels)?;
        let page = self.reader.get_next_page().map_err(from_parquet)?;
        let page = page.ok_or_else(|| corrupt("column ends early"))?;
        self.split(page)
    }

    /// Charges what the values of the current page take when decoded, before they are.
    pub fn charge_decoded(&mut self, bytes: usize) -> Result<()> {
        self.reservation.grow(bytes)
    }

    /// The dictionary of the chunk.
    pub fn dictionary(&mut self) -> Result<Arc<Vector>> {
        if let Some(dictionary) = &self.dictionary {
            return Ok(Arc::clone(dictionary));
        }
        let page = self.reader.take_deferred_dictionary().map_err(from_parquet)?;
        let Some(Page::DictionaryPage { buf, num_values, .. }) = page else {
            return Err(corrupt("dictionary codes without a dictionary"));
        };
        // The page, and at most 16 bytes per value: a view, or a wide integer.
        let bytes = buf.len() + (num_values as usize).saturating_mul(16);
        self.reservation.grow(bytes)?;
        let dictionary = Arc::new(read_dictionary(&self.leaf, buf, num_values as usize)?);
        self.reservation.shrink(bytes);
        self.reservation.grow(dictionary.retained_bytes())?;
        self.dictionary = Some(Arc::clone(&dictionary));
        Ok(dictionary)
    }

    /// Refuses sizes that no page can have, before anything is allocated for them.
    fn check_size(&self, header: &PageHeader) -> Result<()> {
        let (from, to) = (header.compressed_bytes as u64, header.uncompressed_bytes as u64);
        // The most that one byte can stand for in each codec.
        let factor = match self.compression {
            Compression::UNCOMPRESSED => 1,
            Compression::SNAPPY => 64,
            Compression::LZ4 | Compression::LZ4_RAW => 256,
            Compression::GZIP(_) => 1040,
            _ => u64::from(u32::MAX),
        };
        if to > (from + 64).saturating_mul(factor) {
            return Err(corrupt(format!("page of {from} bytes claims to hold {to}")));
        }
        Ok(())
    }

    fn split(&self, page: Page) -> Result<DataPage> {
        let (def_max, rep_max) = (self.leaf.def_max, self.leaf.rep_max);
        match page {
            Page::DataPage {
                mut buf,
                num_values,
                encoding,
                def_level_encoding,
                rep_level_encoding,
                ..
            } => {
                let values = num_values as usize;
                let mut levels = |max: u16, encoding| {
                    (max > 0)
                        .then(|| Levels::split_off(&mut buf, encoding, max, values))
                        .transpose()
                };
                let reps = levels(rep_max, rep_level_encoding)?;
                let defs = levels(def_max, def_level_encoding)?;
                Ok(DataPage { values, encoding, reps, defs, bytes: buf })
            }
            Page::DataPageV2 {
                mut buf,
                num_values,
                encoding,
                num_nulls,
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => {
                let mut levels = |max, len| {
                    let levels = Levels::split_off_v2(&mut buf, len, max);
                    if max > 0 { levels.map(Some) } else { levels.map(|_| None) }
                };
                let reps = levels(rep_max, rep_levels_byte_len)?;
                let defs = levels(def_max, def_levels_byte_len)?;
                // Without nulls and nesting all definition levels are the highest.
                let defs = defs.filter(|_| num_nulls > 0 || def_max > 1 || rep_max > 0);
                Ok(DataPage { values: num_values as usize, encoding, reps, defs, bytes: buf })
            }
            Page::DictionaryPage { .. } => Err(Error::internal("a data page was announced")),
        }
    }
}

/// A column chunk in memory, addressed as in its file.
#[derive(Clone, Debug)]
struct ChunkBytes {
    start: u64,
    bytes: Bytes,
}

impl Length for ChunkBytes {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for ChunkBytes {
    type T = Reader<Bytes>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        let len = self.len().saturating_sub(start);
        Ok(self.get_bytes(start, len as usize)?.reader())
    }

    fn get_bytes(&self, start: u64, len: usize) -> ParquetResult<Bytes> {
        let start = start.checked_sub(self.start).map(|it| it as usize);
        let end = start.and_then(|it| it.checked_add(len)).filter(|it| *it <= self.bytes.len());
        match (start, end) {
            (Some(start), Some(end)) => Ok(self.bytes.slice(start..end)),
            _ => Err(ParquetError::EOF("page beyond its column chunk".to_owned())),
        }
    }
}
