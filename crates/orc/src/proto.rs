//! Reads messages in the wire format of Protocol Buffers, without generated code.
//!
//! ```text
//! message  fields until the end of its bytes
//! field    tag (varint): number << 3 | wire type, then
//!            0  varint     1  8 bytes, little-endian     2  length (varint), bytes
//!            5  4 bytes, little-endian
//! varint   7 bits per byte, lowest first, the highest bit says that another byte follows
//! ```
//!
//! Source: protobuf.dev, "Encoding".

use crate::error::corrupt;
use std::ops::Range;
use volley_error::Result;

/// The fields of a message that are not read yet.
#[derive(Clone, Copy)]
pub(crate) struct Message<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The value of a field.
#[derive(Clone, Copy)]
pub(crate) enum Field<'a> {
    Integer(u64),
    Fixed64(u64),
    Fixed32,
    /// The bytes, and where they begin in the message.
    Bytes(&'a [u8], usize),
}

impl<'a> Message<'a> {
    pub fn new(bytes: &'a [u8]) -> Message<'a> {
        Message { bytes, at: 0 }
    }

    /// The next field with its number.
    pub fn next(&mut self) -> Result<Option<(u64, Field<'a>)>> {
        if self.at >= self.bytes.len() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let field = match tag & 7 {
            0 => Field::Integer(self.varint()?),
            1 => Field::Fixed64(u64::from_le_bytes(*self.array()?)),
            2 => {
                let len = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
                let start = self.at;
                let end = start.checked_add(len);
                let bytes =
                    end.and_then(|end| self.bytes.get(start..end)).ok_or_else(ends_early)?;
                self.at = start + len;
                Field::Bytes(bytes, start)
            }
            5 => {
                self.array::<4>()?;
                Field::Fixed32
            }
            other => return Err(corrupt(format!("metadata with a field of wire type {other}"))),
        };
        Ok(Some((tag >> 3, field)))
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let byte = *self.bytes.get(self.at).ok_or_else(ends_early)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(corrupt("metadata with a number of more than 64 bits"))
    }

    fn array<const LEN: usize>(&mut self) -> Result<&'a [u8; LEN]> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += LEN;
        rest.first_chunk().ok_or_else(ends_early)
    }
}

impl<'a> Field<'a> {
    pub fn integer(self) -> Result<u64> {
        match self {
            Field::Integer(value) => Ok(value),
            _ => Err(wrong_type()),
        }
    }

    /// An integer in zigzag encoding.
    pub fn signed(self) -> Result<i64> {
        self.integer().map(zigzag)
    }

    pub fn double(self) -> Result<f64> {
        match self {
            Field::Fixed64(value) => Ok(f64::from_bits(value)),
            _ => Err(wrong_type()),
        }
    }

    pub fn bytes(self) -> Result<&'a [u8]> {
        match self {
            Field::Bytes(bytes, _) => Ok(bytes),
            _ => Err(wrong_type()),
        }
    }

    /// Where its bytes are in the message.
    pub fn range(self) -> Result<Range<usize>> {
        match self {
            Field::Bytes(bytes, start) => Ok(start..start + bytes.len()),
            _ => Err(wrong_type()),
        }
    }

    pub fn message(self) -> Result<Message<'a>> {
        self.bytes().map(Message::new)
    }

    pub fn text(self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| corrupt("name that is not UTF-8"))
    }

    /// Appends the integers of a repeated field, packed or single.
    pub fn integers(self, out: &mut Vec<u64>) -> Result<()> {
        match self {
            Field::Integer(value) | Field::Fixed64(value) => out.push(value),
            Field::Bytes(bytes, _) => {
                let mut packed = Message::new(bytes);
                while packed.at < bytes.len() {
                    out.push(packed.varint()?);
                }
            }
            Field::Fixed32 => return Err(wrong_type()),
        }
        Ok(())
    }

    /// Appends the 8-byte integers of a repeated field, packed or single.
    pub fn fixed_integers(self, out: &mut Vec<u64>) -> Result<()> {
        match self {
            Field::Fixed64(value) => out.push(value),
            Field::Bytes(bytes, _) => {
                let (values, rest) = bytes.as_chunks::<8>();
                out.extend(values.iter().map(|it| u64::from_le_bytes(*it)));
                if !rest.is_empty() {
                    return Err(ends_early());
                }
            }
            _ => return Err(wrong_type()),
        }
        Ok(())
    }
}

/// The signed integer that `value` encodes: 0, -1, 1, -2 and so on.
#[inline(always)]
pub(crate) fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cold]
fn ends_early() -> volley_error::Error {
    corrupt("metadata ends early")
}

#[cold]
fn wrong_type() -> volley_error::Error {
    corrupt("metadata with a field of a wrong type")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_wire_type_are_read() {
        let bytes = [
            0x08, 0x96, 0x01, // 1: 150
            0x11, 1, 0, 0, 0, 0, 0, 0, 0x80, // 2: fixed
            0x1a, 2, b'h', b'i', // 3: text
            0x25, 1, 2, 3, 4, // 4: fixed, 4 bytes
            0x2a, 3, 1, 0xac, 0x02, // 5: packed 1, 300
            0x28, 7, // 5: 7
        ];
        let mut message = Message::new(&bytes);
        let mut next = || message.next().unwrap();
        let (number, field) = next().unwrap();
        assert_eq!((number, field.integer().unwrap(), field.signed().unwrap()), (1, 150, 75));
        assert_eq!(next().unwrap().1.double().unwrap(), f64::from_bits(1 << 63 | 1));
        let (_, field) = next().unwrap();
        assert_eq!((field.text().unwrap(), field.range().unwrap()), ("hi", 14..16));
        assert!(matches!(next(), Some((4, Field::Fixed32))));
        let mut integers = Vec::new();
        next().unwrap().1.integers(&mut integers).unwrap();
        next().unwrap().1.integers(&mut integers).unwrap();
        assert_eq!(integers, [1, 300, 7]);
        assert!(next().is_none());
    }

    #[test]
    fn what_ends_early_or_never_is_an_error() {
        for bytes in [&[0x08][..], &[0x08, 0x80], &[0x1a, 5, 1], &[0x11, 0], &[0x0b], &[0xff; 11]] {
            assert!(Message::new(bytes).next().is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn zigzag_keeps_every_value() {
        assert_eq!([0, 1, 2, 3].map(zigzag), [0, -1, 1, -2]);
        assert_eq!([u64::MAX, u64::MAX - 1].map(zigzag), [i64::MIN, i64::MAX]);
    }
}
