//! The header of a page: its kind, sizes and counts.
//!
//! A header is a Thrift struct. The fields read here, by number:
//!
//! ```text
//! 1 type  2 uncompressed size  3 compressed size  4 checksum of the page as stored
//! 5 data page      { 1 values  2 encoding  3 of definition levels  4 of repetition levels }
//! 7 dictionary     { 1 values  2 encoding }
//! 8 data page v2   { 1 values  4 encoding  5 bytes of definition levels
//!                    6 bytes of repetition levels  7 whether values are compressed (if absent) }
//! ```

use crate::{
    error::corrupt,
    thrift::{I32, Reader, STRUCT, TRUE},
};
use parquet::basic::Encoding;
use volley_error::{Error, Result};

/// The kinds of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageKind {
    Data,
    Dictionary,
    /// Skipped: an index page or one of a later version of the format.
    Other,
}

/// What a header says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageHeader {
    pub kind: PageKind,
    /// Size of the header itself.
    pub header_bytes: usize,
    /// Size of the page after it, as stored.
    pub compressed_bytes: usize,
    /// Size of the page when decompressed.
    pub uncompressed_bytes: usize,
    /// CRC-32 of the page as stored, if the writer has noted it.
    pub checksum: Option<u32>,
    /// Values, nulls included. For a flat column these are its rows.
    pub values: usize,
    /// Of the values.
    pub encoding: Encoding,
    pub levels: LevelLayout,
}

/// Where a data page has its levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LevelLayout {
    /// Version 1: with the values, each kind after its length.
    Inside { definition: Encoding, repetition: Encoding },
    /// Version 2: before the values, never compressed; both together are not more than the page.
    Before { definition_bytes: usize, repetition_bytes: usize, is_compressed: bool },
}

/// Reads the header at the start of `bytes`.
pub(crate) fn read_page_header(bytes: &[u8]) -> Result<PageHeader> {
    let mut reader = Reader { bytes, at: 0 };
    let (mut kind, mut sizes, mut own) = (None, [None; 2], [OwnHeader::default(); 3]);
    let mut checksum = None;
    let [v1, dictionary, v2] = &mut own;
    let mut number = 0;
    while let Some(field) = reader.field(&mut number)? {
        match (number, field) {
            (1, I32) => kind = Some(reader.signed()?),
            (2 | 3, I32) => sizes[usize::from(number == 3)] = Some(reader.signed()?),
            // 32 bits, whatever they mean as a signed number.
            (4, I32) => checksum = Some(reader.signed()? as u32),
            (5, STRUCT) => *v1 = read_own_header(&mut reader)?,
            (7, STRUCT) => *dictionary = read_own_header(&mut reader)?,
            (8, STRUCT) => *v2 = read_own_header(&mut reader)?,
            _ => reader.skip(field, 0)?,
        }
    }
    let (header_bytes, [uncompressed, compressed]) = (reader.at, sizes);
    let mut header = PageHeader {
        kind: PageKind::Other,
        header_bytes,
        uncompressed_bytes: count(uncompressed)?,
        compressed_bytes: count(compressed)?,
        checksum,
        values: 0,
        encoding: Encoding::PLAIN,
        levels: LevelLayout::Inside { definition: Encoding::RLE, repetition: Encoding::RLE },
    };
    let (kind, own, encoding) = match kind {
        Some(0) => (PageKind::Data, &*v1, v1.numbers[2]),
        Some(2) => (PageKind::Dictionary, &*dictionary, dictionary.numbers[2]),
        Some(3) => (PageKind::Data, &*v2, v2.numbers[4]),
        Some(_) => return Ok(header),
        None => return Err(corrupt("page header without a type")),
    };
    (header.kind, header.values) = (kind, count(own.numbers[1])?);
    header.encoding = encoding_of(encoding)?;
    header.levels = if std::ptr::eq(own, v2) {
        own.levels_before(header.uncompressed_bytes)?
    } else if kind == PageKind::Data {
        let [_, _, _, definition, repetition, ..] = own.numbers;
        let (definition, repetition) = (encoding_of(definition)?, encoding_of(repetition)?);
        LevelLayout::Inside { definition, repetition }
    } else {
        header.levels
    };
    Ok(header)
}

/// A count or a size: 31 bits, as the format has them.
fn count(number: Option<i64>) -> Result<usize> {
    let count = number.and_then(|it| i32::try_from(it).ok()).and_then(|it| it.try_into().ok());
    count.ok_or_else(|| corrupt("invalid page header"))
}

fn encoding_of(number: Option<i64>) -> Result<Encoding> {
    Ok(match number {
        Some(0) => Encoding::PLAIN,
        Some(2) => Encoding::PLAIN_DICTIONARY,
        Some(3) => Encoding::RLE,
        #[expect(deprecated, reason = "older files have it")]
        Some(4) => Encoding::BIT_PACKED,
        Some(5) => Encoding::DELTA_BINARY_PACKED,
        Some(6) => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        Some(7) => Encoding::DELTA_BYTE_ARRAY,
        Some(8) => Encoding::RLE_DICTIONARY,
        Some(9) => Encoding::BYTE_STREAM_SPLIT,
        Some(other) => {
            return Err(Error::unsupported(format!("parquet encoding number {other}")));
        }
        None => return Err(corrupt("page header without an encoding")),
    })
}

/// The fields of a kind's own header.
#[derive(Clone, Copy, Default)]
struct OwnHeader {
    /// By their number.
    numbers: [Option<i64>; 7],
    is_uncompressed: bool,
}

impl OwnHeader {
    fn levels_before(&self, page_bytes: usize) -> Result<LevelLayout> {
        let [.., definition, repetition] = self.numbers;
        let (definition_bytes, repetition_bytes) = (count(definition)?, count(repetition)?);
        if definition_bytes + repetition_bytes > page_bytes {
            return Err(corrupt("levels are longer than their page"));
        }
        let is_compressed = !self.is_uncompressed;
        Ok(LevelLayout::Before { definition_bytes, repetition_bytes, is_compressed })
    }
}

fn read_own_header(reader: &mut Reader) -> Result<OwnHeader> {
    let (mut own, mut number) = (OwnHeader::default(), 0);
    while let Some(field) = reader.field(&mut number)? {
        let place = usize::try_from(number).ok().and_then(|it| own.numbers.get_mut(it));
        match (place, field) {
            (Some(place), I32) => *place = Some(reader.signed()?),
            _ if number == 7 => {
                own.is_uncompressed = field != TRUE;
                reader.skip(field, 0)?;
            }
            _ => reader.skip(field, 0)?,
        }
    }
    Ok(own)
}
