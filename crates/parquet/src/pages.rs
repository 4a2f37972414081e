//! The pages of a column chunk: decompressed on demand, or skipped.

use crate::{
    chunk::ChunkBytes,
    decompress::Decompressor,
    dictionary::read_dictionary,
    error::corrupt,
    header::{LevelLayout, PageHeader, PageKind, read_page_header},
    leaf::{Conversion, Leaf},
    levels::Levels,
    page_index::PageLocations,
};
use bytes::Bytes;
use parquet::{
    basic::{Compression, Encoding},
    file::metadata::ColumnChunkMetaData,
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_io::{BufferPool, PooledBuffer};
use volley_kernels::snappy;
use volley_memory::{Reservation, check_cancelled};
use volley_vector::Vector;

/// What an entry of a nested column takes while its page is read: its levels.
const ENTRY_BYTES: usize = 2 * 4;

/// What it takes while rows are put together: its levels, its place in lists, its code.
const ASSEMBLED_ENTRY_BYTES: usize = 2 * 4 + 8 + 4;

/// What a text or a value of another layout takes in a vector.
const VALUE_BYTES: usize = 16;

/// Bytes that most headers fit in.
const HEADER_BYTES: usize = 256;

/// Dictionaries from this size on are decompressed in pairs.
const LARGE_DICTIONARY_BYTES: usize = 32 << 10;

/// The pages of one column chunk, forward only.
pub(crate) struct Pages {
    pub leaf: Leaf,
    chunk: ChunkBytes,
    compression: Compression,
    decompressor: Decompressor,
    /// Memory for pages.
    buffers: BufferPool,
    /// Where the header after the next page begins in the chunk.
    at: usize,
    /// The next page, a data page, when it was looked at.
    next: Option<StoredPage>,
    /// Where data pages are, if that is needed because some are left out.
    index: Option<Arc<PageLocations>>,
    /// Data pages passed or read: the next one's place in the index.
    page: usize,
    /// Where the page of the dictionary is.
    dictionary_at: Option<StoredPage>,
    /// The page of the dictionary, until a data page needs it.
    dictionary_page: Option<DictionaryPage>,
    /// Its size as stored, as the footer has it.
    dictionary_bytes: usize,
    dictionary: Option<Arc<Vector>>,
    /// Whether pages with and without codes alternate.
    keeps_dictionary: bool,
    /// Rows of the row group, to choose between dictionary and flat vectors.
    pub rows: usize,
    /// Values of the chunk, nulls included, as the footer has it.
    values: usize,
    /// Bytes of all pages without compression, as the footer has it.
    bytes: usize,
    /// What values took in the page that was decompressed last; 0 for codes.
    value_bytes: usize,
    /// The dictionary, and what pages took since [`Pages::release`].
    reservation: Reservation,
    /// Of that, what the last page took.
    page_bytes: usize,
    pub pages_read: u64,
    pub pages_skipped: u64,
}

/// A page as it is in the file.
#[derive(Clone, Copy)]
struct StoredPage {
    header: PageHeader,
    /// Where it begins in the chunk, after its header.
    begin: usize,
}

/// The page of a dictionary.
struct DictionaryPage {
    header: PageHeader,
    bytes: Bytes,
    /// Otherwise the bytes are as stored.
    is_decompressed: bool,
    /// What is charged for the bytes.
    charged: usize,
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

/// Decompresses the dictionaries of two chunks, whose codec is Snappy. Skips a dictionary that is
/// damaged or too large; the reader that needs it reports the error.
pub(crate) fn decompress_dictionaries(a: &mut Pages, b: &mut Pages) {
    let (Some(stored_a), Some(stored_b)) = (a.stored_dictionary(), b.stored_dictionary()) else {
        return;
    };
    let (mut buffer_a, mut buffer_b) = (a.dictionary_buffer(), b.dictionary_buffer());
    let done = match (&mut buffer_a, &mut buffer_b) {
        (Some(out_a), Some(out_b)) => {
            snappy::decompress_two([&stored_a, &stored_b], [out_a, out_b]).is_some()
        }
        _ => false,
    };
    a.set_dictionary_page(buffer_a.filter(|_| done));
    b.set_dictionary_page(buffer_b.filter(|_| done));
}

/// The stored size of a chunk's dictionary according to the metadata; 0 without one.
fn dictionary_bytes(chunk: &ColumnChunkMetaData) -> usize {
    let start = chunk.dictionary_page_offset().filter(|it| *it > 0);
    let bytes = start.and_then(|it| chunk.data_page_offset().checked_sub(it));
    bytes.and_then(|it| usize::try_from(it).ok()).unwrap_or_default()
}

/// What a value takes in a page; 0 for codes.
fn value_bytes_of(header: &PageHeader) -> usize {
    if has_codes(header.encoding) { 0 } else { header.uncompressed_bytes / header.values.max(1) }
}

/// Whether values are codes of the chunk's dictionary.
fn has_codes(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY)
}

impl Pages {
    /// The pages in `chunk`, which are the bytes that `metadata` names. `reservation` is for what
    /// is made of them, in memory of `buffers`.
    pub fn new(
        leaf: Leaf,
        metadata: &ColumnChunkMetaData,
        chunk: ChunkBytes,
        rows: usize,
        buffers: BufferPool,
        reservation: Reservation,
    ) -> Pages {
        let compression = metadata.compression();
        Pages {
            leaf,
            chunk,
            compression,
            decompressor: Decompressor::new(compression),
            buffers,
            at: 0,
            next: None,
            index: None,
            page: 0,
            dictionary_at: None,
            dictionary_page: None,
            dictionary_bytes: dictionary_bytes(metadata),
            dictionary: None,
            keeps_dictionary: false,
            rows,
            values: usize::try_from(metadata.num_values()).unwrap_or_default(),
            bytes: usize::try_from(metadata.uncompressed_size()).unwrap_or_default(),
            value_bytes: 0,
            reservation,
            page_bytes: 0,
            pages_read: 0,
            pages_skipped: 0,
        }
    }

    /// The estimated bytes of a row: the maximum of the average, of the current page (with
    /// `rows_left` remaining rows), of the next page if it has some of the next `rows` rows, and of
    /// the size in a vector.
    pub fn row_bytes(&mut self, rows_left: usize, rows: usize) -> usize {
        let mut value_bytes = self.value_bytes;
        if rows_left < rows
            && let Ok(Some(next)) = self.look()
        {
            value_bytes = value_bytes.max(value_bytes_of(&next));
        }
        let value_bytes = value_bytes.max(self.leaf.fixed_bytes().unwrap_or(VALUE_BYTES));
        let here = value_bytes.saturating_mul(self.values);
        here.max(self.bytes) / self.rows.max(1)
    }

    /// Whether these bytes are not all of the chunk, so that the size of rows may vary.
    pub fn may_have_wide_rows(&self, bytes: usize) -> bool {
        self.bytes > bytes && self.leaf.fixed_bytes().is_none()
    }

    /// The next data page's header.
    ///
    /// # Errors
    ///
    /// Corruption, also when there is no further page.
    pub fn peek(&mut self) -> Result<PageHeader> {
        match self.look()? {
            Some(header) => Ok(header),
            None => Err(corrupt("column has fewer values than its row group has rows")),
        }
    }

    /// Whether no further value follows.
    pub fn is_at_end(&mut self) -> Result<bool> {
        while let Some(header) = self.look()? {
            if header.values > 0 {
                return Ok(false);
            }
            self.take_next();
        }
        Ok(true)
    }

    /// Finds pages by `index` from here on. Called before any page is inspected.
    pub fn use_index(&mut self, index: Option<Arc<PageLocations>>) {
        self.index = index;
    }

    /// Whether pages are found by an index: then they begin with rows.
    pub fn is_indexed(&self) -> bool {
        self.index.is_some()
    }

    /// Passes over the next pages that have together at most `rows` rows, without looking at them;
    /// how many rows they have. 0 without an index.
    pub fn jump(&mut self, rows: usize) -> usize {
        let Some(index) = &self.index else { return 0 };
        let page = index.after(self.page, rows);
        let passed = index.first_row(page) - index.first_row(self.page);
        if page > self.page {
            self.pages_skipped += (page - self.page) as u64;
            (self.next, self.page) = (None, page);
        }
        passed
    }

    /// The rows of the last page, if an index has them.
    pub fn indexed_rows(&self) -> Option<usize> {
        let page = self.page.checked_sub(1)?;
        Some(self.index.as_ref()?.rows(page).len())
    }

    fn take_next(&mut self) -> Option<StoredPage> {
        self.page += usize::from(self.next.is_some());
        self.next.take()
    }

    /// The next data page's header, if there is one. Keeps the dictionary until a page needs it.
    fn look(&mut self) -> Result<Option<PageHeader>> {
        while self.next.is_none() {
            check_cancelled()?;
            self.find_page();
            if self.at >= self.chunk.len() {
                return Ok(None);
            }
            self.look_at_page()?;
        }
        Ok(self.next.map(|it| it.header))
    }

    /// Goes to the next page by the index, once the dictionary is passed.
    fn find_page(&mut self) {
        if let Some(index) = self.index.as_ref().filter(|it| self.at >= it.start()) {
            self.at = index.bytes(self.page).map_or(self.chunk.len(), |it| it.start);
        }
    }

    /// Reads the header at `at`, and the page if it is a dictionary.
    fn look_at_page(&mut self) -> Result<()> {
        let header = self.read_header()?;
        if let Some(index) = &self.index {
            let is_data = header.kind == PageKind::Data;
            let has_rows = !is_data || index.rows(self.page).len() == header.values;
            // The values of repeated fields are not rows.
            if is_data != (self.at >= index.start()) || !has_rows && self.leaf.rep_max == 0 {
                return Err(corrupt("page index that does not fit the pages"));
            }
        }
        let begin = self.at + header.header_bytes;
        let end = begin.saturating_add(header.compressed_bytes);
        if end > self.chunk.len() {
            return Err(corrupt("page ends after its column"));
        }
        let page = StoredPage { header, begin };
        match header.kind {
            PageKind::Data => self.next = Some(page),
            PageKind::Dictionary => {
                self.dictionary_page = Some(self.read_dictionary_page(&page)?);
                self.dictionary_at = Some(page);
            }
            PageKind::Other => {}
        }
        self.at = end;
        Ok(())
    }

    fn read_dictionary_page(&mut self, page: &StoredPage) -> Result<DictionaryPage> {
        let bytes = self.stored(page)?;
        let charged = bytes.len();
        self.reservation.grow(charged)?;
        Ok(DictionaryPage { header: page.header, bytes, is_decompressed: false, charged })
    }

    /// The header at `at`.
    fn read_header(&mut self) -> Result<PageHeader> {
        // With an index, bytes after the page may have to be fetched.
        let end = self.index.as_ref().map(|it| match it.bytes(self.page) {
            Some(page) if self.at >= it.start() => page.end,
            _ => it.start(),
        });
        let page_bytes = end.map_or(usize::MAX, |it| it.saturating_sub(self.at));
        let mut len = HEADER_BYTES.min(page_bytes).max(1);
        loop {
            let bytes = self.chunk.at(self.at, len)?;
            match read_page_header(&bytes) {
                Ok(header) => return Ok(header),
                // It may be longer; texts in its statistics have any length.
                Err(_) if bytes.len() < self.chunk.len() - self.at => len = bytes.len() * 8,
                Err(error) => return Err(error.at("part", "page header")),
            }
        }
    }

    /// The bytes of a page, as stored.
    fn stored(&mut self, page: &StoredPage) -> Result<Bytes> {
        let len = page.header.compressed_bytes;
        let bytes = self.chunk.at(page.begin, len)?.split_to(len);
        match page.header.checksum {
            Some(checksum) if crc32fast::hash(&bytes) != checksum => {
                Err(corrupt("page whose checksum is not that of its header"))
            }
            _ => Ok(bytes),
        }
    }

    /// Passes over the next data page.
    pub fn skip(&mut self) -> Result<()> {
        self.peek()?;
        self.take_next();
        self.pages_skipped += 1;
        Ok(())
    }

    /// Decompresses the next data page.
    pub fn next(&mut self) -> Result<DataPage> {
        let header = self.peek()?;
        self.check_size(&header)?;
        if header.values > self.values {
            return Err(corrupt("page with more values than its column"));
        }
        self.pages_read += 1;
        self.page_bytes = 0;
        self.value_bytes = value_bytes_of(&header);
        if !has_codes(header.encoding) && !self.keeps_dictionary {
            // Writers that have left off a dictionary rarely come back to it.
            self.dictionary = None;
        }
        self.charge_decoded(header.uncompressed_bytes)?;
        if self.leaf.rep_max > 0 || self.leaf.def_max > 1 {
            self.charge_decoded(header.values.saturating_mul(ENTRY_BYTES))?;
        }
        let page = self.take_next().ok_or_else(|| Error::internal("page was not looked at"))?;
        let bytes = self.stored(&page)?;
        self.split(&header, bytes)
    }

    /// Bytes read from the file so far, by this.
    pub fn bytes_read(&self) -> u64 {
        self.chunk.bytes_read
    }

    /// Charges what the values of the current page take when decoded, before they are.
    pub fn charge_decoded(&mut self, bytes: usize) -> Result<()> {
        self.reservation.grow(bytes)?;
        self.page_bytes += bytes;
        Ok(())
    }

    /// Reserves the memory for assembling rows with this number of entries, until
    /// [`Pages::release`].
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn charge_entries(&mut self, entries: usize) -> Result<()> {
        self.reservation.grow(entries.saturating_mul(ASSEMBLED_ENTRY_BYTES))
    }

    /// Releases the memory of pages before the current one, once no data of them is held here.
    pub fn release(&mut self) {
        let dictionary = self.dictionary.as_ref().map_or(0, |it| it.retained_bytes())
            + self.dictionary_page.as_ref().map_or(0, |it| it.charged);
        let held = self.reservation.bytes();
        self.reservation.shrink(held.saturating_sub(dictionary + self.page_bytes));
    }

    /// The dictionary of the chunk; read again if pages without codes came in between.
    pub fn dictionary(&mut self) -> Result<Arc<Vector>> {
        if let Some(dictionary) = &self.dictionary {
            return Ok(Arc::clone(dictionary));
        }
        let page = match (self.dictionary_page.take(), self.dictionary_at) {
            (Some(page), _) => page,
            (None, Some(page)) => {
                self.keeps_dictionary = true;
                self.read_dictionary_page(&page)?
            }
            (None, None) => return Err(corrupt("dictionary codes without a dictionary")),
        };
        let header = page.header;
        self.check_size(&header)?;
        let per_value = match self.leaf.conversion {
            // A view, and a text of more than it holds.
            Conversion::FixedUuid => 16 + 36,
            // At most: a view, or a wide integer.
            _ => 16,
        };
        // The page, and its values.
        let values = header.values.saturating_mul(per_value);
        let bytes = values.saturating_add(header.uncompressed_bytes);
        self.reservation.grow(bytes)?;
        self.reservation.shrink(page.charged);
        let page = if page.is_decompressed {
            page.bytes
        } else {
            self.decompress(page.bytes, header.uncompressed_bytes)?
        };
        let dictionary = Arc::new(read_dictionary(&self.leaf, page, header.values)?);
        self.reservation.shrink(bytes);
        self.reservation.grow(dictionary.retained_bytes())?;
        self.dictionary = Some(Arc::clone(&dictionary));
        Ok(dictionary)
    }

    /// Refuses sizes that no page can have, before anything is allocated for them.
    fn check_size(&self, header: &PageHeader) -> Result<()> {
        let (from, to) = (header.compressed_bytes as u64, header.uncompressed_bytes as u64);
        // The maximum expansion of one byte in each codec.
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

    fn decompress(&mut self, bytes: Bytes, len: usize) -> Result<Bytes> {
        if self.compression == Compression::UNCOMPRESSED {
            return Ok(bytes);
        }
        let mut out = self.buffers.take(len);
        self.decompressor.decompress(&bytes, &mut out)?;
        Ok(out.freeze())
    }

    /// Decompresses a page of codes, which is not kept after reading: uncompressed parts are not
    /// copied.
    fn decompress_codes(&mut self, bytes: Bytes, len: usize) -> Result<Bytes> {
        if self.compression == Compression::SNAPPY
            && let Some(literal) = snappy::only_literal(&bytes).filter(|it| it.len() == len)
        {
            return Ok(bytes.slice(literal));
        }
        self.decompress(bytes, len)
    }

    /// The stored size of a later dictionary that is worth decompressing together with another; or
    /// 0.
    pub fn large_dictionary_bytes(&self) -> usize {
        let was_used = self.dictionary_at.is_some() && self.dictionary_page.is_none();
        let is_ahead = !was_used && self.compression == Compression::SNAPPY;
        let is_large = self.dictionary_bytes >= LARGE_DICTIONARY_BYTES;
        if is_ahead && is_large { self.dictionary_bytes } else { 0 }
    }

    /// Whether the dictionary's page waits to be used.
    #[cfg(test)]
    pub fn has_decompressed_dictionary(&self) -> bool {
        self.dictionary_page.as_ref().is_some_and(|it| it.is_decompressed)
    }

    /// The dictionary as stored, if it comes before all data pages.
    fn stored_dictionary(&mut self) -> Option<Bytes> {
        // The reader that needs it tries again and gets the error.
        match self.index.as_ref().map(|it| it.start()) {
            None => drop(self.look().ok()?),
            // The next data page may be one that is left out.
            Some(end) => {
                while self.at < end {
                    self.look_at_page().ok()?;
                }
            }
        }
        let page = self.dictionary_page.as_ref().filter(|it| !it.is_decompressed)?;
        self.check_size(&page.header).ok()?;
        Some(page.bytes.clone())
    }

    /// Memory for the dictionary's page, charged; `None` if there is not enough.
    fn dictionary_buffer(&mut self) -> Option<PooledBuffer> {
        let page = self.dictionary_page.as_mut()?;
        let len = page.header.uncompressed_bytes;
        self.reservation.grow(len).ok()?;
        page.charged += len;
        Some(self.buffers.take(len))
    }

    /// Takes the decompressed page of the dictionary, or releases its reservation.
    fn set_dictionary_page(&mut self, decompressed: Option<PooledBuffer>) {
        let Some(page) = &mut self.dictionary_page else { return };
        let stored = page.header.compressed_bytes;
        let freed = match decompressed {
            Some(bytes) => {
                (page.bytes, page.is_decompressed) = (bytes.freeze(), true);
                stored
            }
            None => page.charged.saturating_sub(stored),
        };
        page.charged -= freed;
        self.reservation.shrink(freed);
    }

    /// Decompresses a page and takes its parts asunder.
    fn split(&mut self, header: &PageHeader, mut bytes: Bytes) -> Result<DataPage> {
        let (def_max, rep_max) = (self.leaf.def_max, self.leaf.rep_max);
        let (values, encoding) = (header.values, header.encoding);
        let (reps, defs) = match header.levels {
            LevelLayout::Inside { definition, repetition } => {
                bytes = match has_codes(encoding) {
                    true => self.decompress_codes(bytes, header.uncompressed_bytes)?,
                    false => self.decompress(bytes, header.uncompressed_bytes)?,
                };
                let mut levels = |max: u16, encoding| {
                    let levels = || Levels::split_off(&mut bytes, encoding, max, values);
                    (max > 0).then(levels).transpose()
                };
                (levels(rep_max, repetition)?, levels(def_max, definition)?)
            }
            LevelLayout::Before { definition_bytes, repetition_bytes, is_compressed } => {
                let mut levels = |max, len| {
                    let levels = Levels::split_off_v2(&mut bytes, len, max);
                    // Some writers omit levels that are all the same.
                    levels.map(|it| if max > 0 && len > 0 { Some(it) } else { None })
                };
                let levels =
                    (levels(rep_max, repetition_bytes)?, levels(def_max, definition_bytes)?);
                if is_compressed {
                    let len = header.uncompressed_bytes - definition_bytes - repetition_bytes;
                    bytes = self.decompress(bytes, len)?;
                }
                levels
            }
        };
        Ok(DataPage { values, encoding, reps, defs, bytes })
    }
}
