//! The header of a page, read before the page is: its kind, sizes and counts.
//!
//! A header is a Thrift struct in the compact protocol. Each field begins with a byte: the low four
//! bits are its type, the high four the distance to the previous field's number (0: the number
//! follows as a signed varint). The fields read here, by number:
//!
//! ```text
//! 1 type  2 uncompressed size  3 compressed size
//! 5 data page      { 1 values }
//! 7 dictionary     { 1 values }
//! 8 data page v2   { 1 values }
//! ```

use crate::error::corrupt;
use volley_error::Result;

/// How deep unknown structs may be nested in a header.
const DEPTH_MAX: usize = 16;

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
    /// Values, nulls included. For a flat column these are its rows.
    pub values: usize,
}

/// Reads the header at the start of `bytes`.
pub(crate) fn read_page_header(bytes: &[u8]) -> Result<PageHeader> {
    let mut reader = Reader { bytes, at: 0 };
    let (mut kind, mut sizes, mut values) = (None, [None; 2], None);
    let mut number = 0;
    while let Some(field) = reader.field(&mut number)? {
        match (number, field) {
            (1, I32) => kind = Some(reader.signed()?),
            (2 | 3, I32) => sizes[usize::from(number == 3)] = Some(reader.signed()?),
            (5 | 7 | 8, STRUCT) => values = reader.values()?,
            _ => reader.skip(field, 0)?,
        }
    }
    let count = |it: Option<i64>| it.map(|it| usize::try_from(it).ok().filter(|it| *it < 1 << 32));
    let required = |it| count(it).flatten().ok_or_else(|| corrupt("invalid page header"));
    let kind = match kind {
        Some(0 | 3) => PageKind::Data,
        Some(2) => PageKind::Dictionary,
        Some(_) => PageKind::Other,
        None => return Err(corrupt("page header without a type")),
    };
    let values = if kind == PageKind::Other { 0 } else { required(values)? };
    Ok(PageHeader {
        kind,
        header_bytes: reader.at,
        uncompressed_bytes: required(sizes[0])?,
        compressed_bytes: required(sizes[1])?,
        values,
    })
}

const I32: u8 = 5;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Result<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at += 1;
        byte.ok_or_else(|| corrupt("page header ends early"))
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(corrupt("invalid number in a page header"))
    }

    /// A zigzag varint.
    fn signed(&mut self) -> Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The next field's type, and its number in `number`; `None` at the end of the struct.
    fn field(&mut self, number: &mut i64) -> Result<Option<u8>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Ok(None);
        }
        *number = match byte >> 4 {
            0 => self.signed()?,
            distance => number.saturating_add(i64::from(distance)),
        };
        Ok(Some(byte & 15))
    }

    /// Field 1 of a kind's own header.
    fn values(&mut self) -> Result<Option<i64>> {
        let (mut values, mut number) = (None, 0);
        while let Some(field) = self.field(&mut number)? {
            match (number, field) {
                (1, I32) => values = Some(self.signed()?),
                _ => self.skip(field, 0)?,
            }
        }
        Ok(values)
    }

    fn skip(&mut self, field: u8, depth: usize) -> Result<()> {
        if depth > DEPTH_MAX {
            return Err(corrupt("page header nested too deeply"));
        }
        match field {
            1 | 2 => {}
            3 => self.at += 1,
            4..=6 => {
                self.varint()?;
            }
            7 => self.at += 8,
            BINARY => {
                let len = self.varint()?;
                self.at = self.at.saturating_add(usize::try_from(len).unwrap_or(usize::MAX));
            }
            LIST => self.skip_list(depth)?,
            STRUCT => {
                let mut number = 0;
                while let Some(field) = self.field(&mut number)? {
                    self.skip(field, depth + 1)?;
                }
            }
            _ => return Err(corrupt("unknown field type in a page header")),
        }
        if self.at > self.bytes.len() { Err(corrupt("page header ends early")) } else { Ok(()) }
    }

    fn skip_list(&mut self, depth: usize) -> Result<()> {
        let byte = self.byte()?;
        let len = if byte >> 4 == 15 { self.varint()? } else { u64::from(byte >> 4) };
        if len > self.bytes.len() as u64 {
            return Err(corrupt("page header ends early"));
        }
        for _ in 0..len {
            match byte & 15 {
                // Booleans in lists take a byte each.
                1 | 2 => self.at += 1,
                field => self.skip(field, depth + 1)?,
            }
        }
        Ok(())
    }
}
