//! Bytes of text in other encodings than UTF-8, as UTF-8.

use std::io::{self, Read};
use volley_error::Error;

/// How characters of a text file are written as bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8.
    #[default]
    Utf8,
    /// UTF-16; a byte order mark says in which order, without one little-endian.
    Utf16,
    /// ISO 8859-1: a byte is the code point of a character.
    Latin1,
}

/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 16;

/// Reads text of another encoding as UTF-8.
pub(crate) struct Transcoder<R> {
    input: R,
    encoding: Encoding,
    /// Bytes that were read and are not decoded: the beginning of a character.
    rest: Vec<u8>,
    /// UTF-8, from `at` on.
    decoded: Vec<u8>,
    at: usize,
    /// The order of UTF-16, once the first bytes are known.
    is_big_endian: Option<bool>,
    is_end: bool,
}

impl<R: Read> Transcoder<R> {
    pub fn new(input: R, encoding: Encoding) -> Transcoder<R> {
        Transcoder {
            input,
            encoding,
            rest: Vec::new(),
            decoded: Vec::new(),
            at: 0,
            is_big_endian: None,
            is_end: false,
        }
    }

    /// Decodes the next bytes.
    fn decode(&mut self) -> io::Result<()> {
        self.decoded.clear();
        self.at = 0;
        let before = self.rest.len();
        let read = (&mut self.input).take(READ_BYTES as u64).read_to_end(&mut self.rest)?;
        self.is_end = read == 0;
        if self.is_end && before == 0 {
            return Ok(());
        }
        match self.encoding {
            Encoding::Utf8 => self.decoded.append(&mut self.rest),
            Encoding::Latin1 => {
                let text: String = self.rest.drain(..).map(char::from).collect();
                self.decoded = text.into_bytes();
            }
            Encoding::Utf16 => self.decode_utf16()?,
        }
        Ok(())
    }

    fn decode_utf16(&mut self) -> io::Result<()> {
        let is_first = self.is_big_endian.is_none();
        let marks = self.rest.get(..2).map(|it| (it == [0xfe, 0xff], it == [0xff, 0xfe]));
        let (big, little) = marks.unwrap_or_default();
        let is_big_endian = *self.is_big_endian.get_or_insert(big);
        if is_first && (big || little) {
            self.rest.drain(..2);
        }
        let units = self.rest.chunks_exact(2).filter_map(|it| <[u8; 2]>::try_from(it).ok());
        let unit = |it: [u8; 2]| match is_big_endian {
            true => u16::from_be_bytes(it),
            false => u16::from_le_bytes(it),
        };
        let mut units: Vec<u16> = units.map(unit).collect();
        // The first half of a pair waits for the other one.
        let is_half = |it: &u16| (0xd800..0xdc00).contains(it);
        if !self.is_end {
            units.pop_if(|it| is_half(it));
        }
        self.rest.drain(..2 * units.len());
        if self.is_end && !self.rest.is_empty() {
            return Err(invalid());
        }
        let mut text = String::with_capacity(units.len());
        for found in char::decode_utf16(units) {
            text.push(found.map_err(|_| invalid())?);
        }
        self.decoded = text.into_bytes();
        Ok(())
    }
}

#[cold]
fn invalid() -> io::Error {
    io::Error::other(Error::invalid_value("the file is not UTF-16"))
}

impl<R: Read> Read for Transcoder<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at >= self.decoded.len() && !self.is_end && !out.is_empty() {
            self.decode()?;
        }
        let left = self.decoded.get(self.at..).unwrap_or_default();
        let count = left.len().min(out.len());
        if let (Some(from), Some(to)) = (left.get(..count), out.get_mut(..count)) {
            to.copy_from_slice(from);
        }
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slow_reader::Slow;

    fn decoded(bytes: &[u8], encoding: Encoding, step: usize) -> io::Result<String> {
        let mut text = String::new();
        Transcoder::new(Slow(bytes, step), encoding).read_to_string(&mut text)?;
        Ok(text)
    }

    fn utf16(text: &str, unit: impl Fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(unit).collect()
    }

    #[test]
    fn texts_are_the_same_in_all_encodings() {
        let long = "aäß😀\n".repeat(20_000);
        for text in ["", "a", "aä", "x😀y", "😀", &long] {
            let marked = format!("\u{feff}{text}");
            for step in [1, 3, 4096] {
                let check = |bytes: &[u8], encoding| {
                    assert!(decoded(bytes, encoding, step).unwrap() == text, "{encoding:?} {step}");
                };
                check(text.as_bytes(), Encoding::Utf8);
                check(&utf16(text, u16::to_le_bytes), Encoding::Utf16);
                check(&utf16(&marked, u16::to_le_bytes), Encoding::Utf16);
                check(&utf16(&marked, u16::to_be_bytes), Encoding::Utf16);
            }
        }
        let all: Vec<u8> = (0..=255).collect();
        let expected: String = (0..=255_u8).map(char::from).collect();
        assert_eq!(decoded(&all, Encoding::Latin1, 7).unwrap(), expected);
    }

    #[test]
    fn what_is_not_utf16_is_an_error() {
        let half = 0xd800_u16.to_le_bytes();
        for bytes in [&b"abc"[..], &half, &[half, *b"a\0"].concat(), &[half, half].concat()] {
            for step in [1, 4096] {
                assert!(decoded(bytes, Encoding::Utf16, step).is_err(), "{bytes:?} {step}");
            }
        }
    }
}
