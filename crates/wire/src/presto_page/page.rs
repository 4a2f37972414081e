//! Pages: headers, checksums, lists of pages.

use super::{PageCompression, read::read_columns, write::write_block};
use crate::decode::{Input, corruption};
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::Batch;

const COMPRESSED: u8 = 1;
const ENCRYPTED: u8 = 2;
const CHECKSUM: u8 = 4;

/// A compressed page must save at least a fifth, as in Presto; otherwise it is sent as it is.
const COMPRESSED_PER_CENT_MAX: usize = 80;

/// How pages are written, and what is accepted when they are read.
#[derive(Clone, Copy, Debug)]
pub struct PrestoPageOptions {
    /// How pages are compressed. Uncompressed pages are always accepted.
    pub compression: PageCompression,
    /// Whether written pages have a checksum. A checksum that a page has is always verified.
    pub has_checksum: bool,
    /// The largest uncompressed size of a page that is read, in bytes.
    pub uncompressed_bytes_max: usize,
}

/// Reads pages that follow each other.
pub struct PageReader<'a> {
    rest: &'a [u8],
    types: &'a [Type],
    format: PrestoPageOptions,
}

impl Default for PrestoPageOptions {
    /// Plain pages; Presto never sends more than 2 GiB in one.
    fn default() -> PrestoPageOptions {
        PrestoPageOptions {
            compression: PageCompression::None,
            has_checksum: false,
            uncompressed_bytes_max: i32::MAX as usize,
        }
    }
}

impl<'a> PageReader<'a> {
    /// Reads pages of columns of `types` from `bytes`.
    pub fn new(bytes: &'a [u8], types: &'a [Type], format: PrestoPageOptions) -> PageReader<'a> {
        PageReader { rest: bytes, types, format }
    }
}

impl Iterator for PageReader<'_> {
    type Item = Result<Batch>;

    /// The next page; the last item is an error, if there is one.
    fn next(&mut self) -> Option<Result<Batch>> {
        if self.rest.is_empty() {
            return None;
        }
        let mut input = Input::new(self.rest);
        let page = read_page(&mut input, self.types, &self.format);
        self.rest = if page.is_ok() { input.rest() } else { &[] };
        Some(page.map_err(|it| it.at("in", "a Presto page")))
    }
}

/// Appends one page with the rows of `batch` to `out`.
///
/// # Errors
///
/// What a lazy column reports. Unsupported: a type that Presto does not have; 2 GiB in one page.
pub fn write_page(batch: &Batch, format: &PrestoPageOptions, out: &mut Vec<u8>) -> Result<()> {
    let too_large = || Error::unsupported("a Presto page of 2 GiB or more");
    let mut payload = Vec::new();
    payload.extend_from_slice(&(batch.columns().len() as i32).to_le_bytes());
    for column in batch.columns() {
        write_block(column, &mut payload)?;
    }
    let rows = i32::try_from(batch.rows()).map_err(|_| too_large())?;
    let uncompressed = i32::try_from(payload.len()).map_err(|_| too_large())?;
    let mut markers = 0;
    if let Some(compressed) = format.compression.compress(&payload)?
        && compressed.len() <= payload.len() / 100 * COMPRESSED_PER_CENT_MAX
    {
        payload = compressed;
        markers |= COMPRESSED;
    }
    if format.has_checksum {
        markers |= CHECKSUM;
    }
    let header = Header { rows, markers, uncompressed, size: payload.len() as i32 };
    let checksum = if format.has_checksum { header.checksum(&payload) } else { 0 };
    out.extend_from_slice(&rows.to_le_bytes());
    out.push(markers);
    out.extend_from_slice(&uncompressed.to_le_bytes());
    out.extend_from_slice(&header.size.to_le_bytes());
    out.extend_from_slice(&checksum.to_le_bytes());
    out.extend_from_slice(&payload);
    Ok(())
}

struct Header {
    rows: i32,
    markers: u8,
    uncompressed: i32,
    size: i32,
}

impl Header {
    fn checksum(&self, payload: &[u8]) -> i64 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(payload);
        hasher.update(&[self.markers]);
        hasher.update(&self.rows.to_le_bytes());
        hasher.update(&self.uncompressed.to_le_bytes());
        i64::from(hasher.finalize())
    }
}

fn read_page(input: &mut Input<'_>, types: &[Type], format: &PrestoPageOptions) -> Result<Batch> {
    let rows = input.i32()?;
    let markers = input.byte()?;
    let header = Header { rows, markers, uncompressed: input.i32()?, size: input.i32()? };
    let checksum = i64::from_le_bytes(input.array()?);
    let payload = input.raw(size(header.size)?)?;
    let (rows, uncompressed) = (size(rows)?, size(header.uncompressed)?);
    if markers & !(COMPRESSED | ENCRYPTED | CHECKSUM) != 0 {
        return Err(corruption("unknown markers of a page"));
    }
    if markers & ENCRYPTED != 0 {
        return Err(Error::unsupported("encrypted pages"));
    }
    if markers & CHECKSUM != 0 && checksum != header.checksum(payload) {
        return Err(corruption("a page with another checksum"));
    }
    if markers & COMPRESSED == 0 {
        if payload.len() != uncompressed {
            return Err(corruption("a page of another size"));
        }
        return read_columns(payload, types, rows);
    }
    if uncompressed > format.uncompressed_bytes_max {
        let message = format!("a page of {uncompressed} bytes");
        let hint = format!("pages may have {} bytes", format.uncompressed_bytes_max);
        return Err(Error::unsupported(message).hint(hint));
    }
    let payload = format.compression.decompress(payload, uncompressed)?;
    read_columns(&payload, types, rows)
}

fn size(stated: i32) -> Result<usize> {
    usize::try_from(stated).map_err(|_| corruption("a negative size"))
}
