//! A reader of the Thrift compact protocol, for metadata that must be validated.
//!
//! A struct is a row of fields, then a zero byte. Each field begins with a byte: the low four bits
//! are its type, the high four the distance to the previous field's number (0: the number follows
//! as a signed varint).

use crate::error::corrupt;
use volley_error::Result;

/// How deep unknown values may be nested.
const DEPTH_MAX: usize = 16;

/// A boolean field; its value is in its type.
pub(crate) const TRUE: u8 = 1;
pub(crate) const I32: u8 = 5;
pub(crate) const I64: u8 = 6;
pub(crate) const BINARY: u8 = 8;
pub(crate) const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
pub(crate) const STRUCT: u8 = 12;
const UUID: u8 = 13;

/// Reads values, forward only.
pub(crate) struct Reader<'a> {
    pub bytes: &'a [u8],
    /// The next byte.
    pub at: usize,
}

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Result<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at += 1;
        byte.ok_or_else(|| corrupt("metadata ends early"))
    }

    /// An unsigned number.
    pub fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(corrupt("invalid number in metadata"))
    }

    /// A zigzag varint.
    pub fn signed(&mut self) -> Result<i64> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The next field's type, and its number in `number`; `None` at the end of the struct.
    pub fn field(&mut self, number: &mut i64) -> Result<Option<u8>> {
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

    /// Passes over a value of the type `field`, itself `depth` levels deep.
    pub fn skip(&mut self, field: u8, depth: usize) -> Result<()> {
        if depth > DEPTH_MAX {
            return Err(corrupt("metadata nested too deeply"));
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
            LIST | SET => self.skip_list(depth)?,
            MAP => self.skip_map(depth)?,
            STRUCT => {
                let mut number = 0;
                while let Some(field) = self.field(&mut number)? {
                    self.skip(field, depth + 1)?;
                }
            }
            UUID => self.at = self.at.saturating_add(16),
            _ => return Err(corrupt("unknown field type in metadata")),
        }
        if self.at > self.bytes.len() { Err(corrupt("metadata ends early")) } else { Ok(()) }
    }

    /// The type of a list's elements, and how many there are.
    pub fn list(&mut self) -> Result<(u8, usize)> {
        let byte = self.byte()?;
        let len = if byte >> 4 == 15 { self.varint()? } else { u64::from(byte >> 4) };
        // Each element takes at least a byte.
        match usize::try_from(len) {
            Ok(len) if len <= self.bytes.len() => Ok((byte & 15, len)),
            _ => Err(corrupt("metadata ends early")),
        }
    }

    /// The elements of a list, each read by `read`, which is given their type.
    pub fn elements<T>(
        &mut self,
        mut read: impl FnMut(&mut Reader<'a>, u8) -> Result<T>,
    ) -> Result<Vec<T>> {
        let (field, len) = self.list()?;
        let mut elements = Vec::new();
        for _ in 0..len {
            elements.push(read(self, field)?);
        }
        Ok(elements)
    }

    /// A text, or other bytes.
    pub fn binary(&mut self) -> Result<&'a [u8]> {
        let len = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
        let bytes = self.bytes.get(self.at..self.at.saturating_add(len));
        self.at = self.at.saturating_add(len);
        bytes.ok_or_else(|| corrupt("metadata ends early"))
    }

    /// A boolean that is an element of a list.
    pub fn boolean(&mut self) -> Result<bool> {
        Ok(self.byte()? == TRUE)
    }

    fn skip_list(&mut self, depth: usize) -> Result<()> {
        let (field, len) = self.list()?;
        (0..len).try_for_each(|_| self.skip_element(field, depth))
    }

    fn skip_map(&mut self, depth: usize) -> Result<()> {
        let len = self.varint()?;
        if len > self.bytes.len() as u64 {
            return Err(corrupt("metadata ends early"));
        }
        let types = if len > 0 { self.byte()? } else { 0 };
        (0..len).try_for_each(|_| {
            self.skip_element(types >> 4, depth)?;
            self.skip_element(types & 15, depth)
        })
    }

    fn skip_element(&mut self, field: u8, depth: usize) -> Result<()> {
        match field {
            // Booleans in collections take a byte each.
            1 | 2 => {
                self.byte()?;
                Ok(())
            }
            field => self.skip(field, depth + 1),
        }
    }
}
