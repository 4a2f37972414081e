//! Delimiters of several bytes: lines are split with one byte in their place.
//!
//! ```text
//! a||b||"c||d"     file
//! a.b."c.d"        what is split; '.' is LONG_DELIMITER, a byte that is not UTF-8
//! a  b  c||d       fields: what is left of it was in quotes
//! ```

use std::borrow::Cow;
use std::io::{self, Read};

/// What stands for a delimiter of several bytes.
pub const LONG_DELIMITER: u8 = 0xfe;

/// What stands for that byte where it is in the file, which is not UTF-8 either.
const NO_TEXT: u8 = 0xfd;

/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 16;

/// Reads a text with [`LONG_DELIMITER`] in the place of a delimiter.
pub(crate) struct LongDelimiter<R> {
    input: R,
    delimiter: Box<[u8]>,
    /// Bytes that were read and may begin a delimiter.
    rest: Vec<u8>,
    /// What is done, from `at` on.
    replaced: Vec<u8>,
    at: usize,
    is_end: bool,
}

impl<R: Read> LongDelimiter<R> {
    /// Of a delimiter that is not empty.
    pub fn new(input: R, delimiter: &str) -> LongDelimiter<R> {
        LongDelimiter {
            input,
            delimiter: delimiter.as_bytes().into(),
            rest: Vec::new(),
            replaced: Vec::new(),
            at: 0,
            is_end: false,
        }
    }

    fn replace(&mut self) -> io::Result<()> {
        self.replaced.clear();
        self.at = 0;
        let read = (&mut self.input).take(READ_BYTES as u64).read_to_end(&mut self.rest)?;
        self.is_end = read == 0;
        let bytes = std::mem::take(&mut self.rest);
        // A delimiter may go on in the bytes that come next.
        let kept = if self.is_end { 0 } else { self.delimiter.len() - 1 };
        let mut at = 0;
        while at + kept < bytes.len() {
            let left = bytes.get(at..).unwrap_or_default();
            if left.starts_with(&self.delimiter) {
                self.replaced.push(LONG_DELIMITER);
                at += self.delimiter.len();
                continue;
            }
            let byte = left.first().copied().unwrap_or_default();
            self.replaced.push(if byte == LONG_DELIMITER { NO_TEXT } else { byte });
            at += 1;
        }
        self.rest = bytes.get(at..).unwrap_or_default().to_vec();
        Ok(())
    }
}

impl<R: Read> Read for LongDelimiter<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at >= self.replaced.len() && !self.is_end && !out.is_empty() {
            self.replace()?;
        }
        let left = self.replaced.get(self.at..).unwrap_or_default();
        let count = left.len().min(out.len());
        if let (Some(from), Some(to)) = (left.get(..count), out.get_mut(..count)) {
            to.copy_from_slice(from);
        }
        self.at += count;
        Ok(count)
    }
}

/// A field with the delimiters that stand in it.
pub(crate) fn with_delimiters<'f>(field: &'f [u8], delimiter: Option<&str>) -> Cow<'f, [u8]> {
    match delimiter {
        Some(delimiter) if field.contains(&LONG_DELIMITER) => {
            let mut text = Vec::with_capacity(field.len() + delimiter.len());
            for (index, part) in field.split(|it| *it == LONG_DELIMITER).enumerate() {
                if index > 0 {
                    text.extend_from_slice(delimiter.as_bytes());
                }
                text.extend_from_slice(part);
            }
            text.into()
        }
        _ => field.into(),
    }
}

/// Whether the text of a line is UTF-8.
pub(crate) fn is_utf8(text: &[u8], delimiter: Option<&str>) -> bool {
    match delimiter {
        None => str::from_utf8(text).is_ok(),
        Some(_) => text.split(|it| *it == LONG_DELIMITER).all(|it| str::from_utf8(it).is_ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slow_reader::Slow;

    fn replaced(text: &[u8], delimiter: &str, step: usize) -> Vec<u8> {
        let mut all = Vec::new();
        LongDelimiter::new(Slow(text, step), delimiter).read_to_end(&mut all).unwrap();
        all
    }

    #[test]
    fn delimiters_are_one_byte_wherever_reads_end() {
        let long = "ab||c|||d\n".repeat(20_000);
        for text in ["", "|", "||", "|||", "a||b|", "||||", "x|y", &long] {
            let expected: Vec<u8> = text
                .replace("||", "\u{0}")
                .bytes()
                .map(|it| if it == 0 { 0xfe } else { it })
                .collect();
            for step in [1, 3, 1 << 20] {
                assert!(replaced(text.as_bytes(), "||", step) == expected, "{step}");
            }
        }
        assert_eq!(replaced("a→b".as_bytes(), "→", 2), b"a\xfeb");
        assert_eq!(replaced(b"a\xfeb##", "##", 2), b"a\xfdb\xfe");
    }

    #[test]
    fn fields_have_their_delimiters() {
        assert_eq!(with_delimiters(b"a\xfeb\xfe", Some("||")).as_ref(), b"a||b||");
        assert_eq!(with_delimiters(b"ab", Some("||")).as_ref(), b"ab");
        assert_eq!(with_delimiters(b"a\xfeb", None).as_ref(), b"a\xfeb");
        assert!(is_utf8("ä\u{7f}".as_bytes(), None) && is_utf8(b"a\xfeb", Some("||")));
        assert!(!is_utf8(b"a\xfdb", Some("||")) && !is_utf8(b"a\xfeb", None));
    }
}
