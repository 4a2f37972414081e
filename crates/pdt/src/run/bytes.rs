//! Numbers of a run: 7 bits per byte, the lowest first; the top bit says that another byte follows.

use volley_error::{Error, Result};

/// Bytes being written.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) bytes: Vec<u8>,
}

impl Output {
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// A number that may be negative: the sign is the lowest bit.
    pub(super) fn signed(&mut self, number: i64) {
        self.number((number << 1 ^ number >> 63) as u64);
    }

    /// Bytes with their length before them.
    pub(super) fn block(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.raw(bytes);
    }
}

/// Bytes being read. Nothing is taken for granted.
#[derive(Debug)]
pub(super) struct Input<'a> {
    rest: &'a [u8],
    len: usize,
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Input<'a> {
        Input { rest: bytes, len: bytes.len() }
    }

    /// A corruption error at the current offset.
    #[cold]
    pub(super) fn corrupt(&self, what: &str) -> Error {
        let offset = self.len - self.rest.len();
        Error::corruption(format!("damaged run of changes: {what}, before byte {offset}"))
    }

    pub(super) fn raw(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) =
            self.rest.split_at_checked(len).ok_or_else(|| self.corrupt("it ends early"))?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        self.raw(1).map(|it| it[0])
    }

    pub(super) fn number(&mut self) -> Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.corrupt("a number of more than 64 bits"))
    }

    pub(super) fn signed(&mut self) -> Result<i64> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        u32::try_from(self.number()?).map_err(|_| self.corrupt("a number of more than 32 bits"))
    }

    /// A count of things that take at least a byte each, so that memory for them is bounded.
    pub(super) fn count(&mut self) -> Result<usize> {
        let count = self.u32()? as usize;
        if count > self.rest.len() {
            return Err(self.corrupt("a count beyond the end"));
        }
        Ok(count)
    }

    pub(super) fn block(&mut self) -> Result<&'a [u8]> {
        let len = self.count()?;
        self.raw(len)
    }

    pub(super) fn finish(&self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.corrupt("bytes after the end")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_written() {
        let numbers = [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::from(u32::MAX), u64::MAX];
        let signed = [0, -1, 1, i64::MIN, i64::MAX, -64, 64];
        let mut output = Output::default();
        numbers.iter().for_each(|it| output.number(*it));
        signed.iter().for_each(|it| output.signed(*it));
        output.block(b"abc");
        let mut input = Input::new(&output.bytes);
        numbers.iter().for_each(|it| assert_eq!(input.number().unwrap(), *it));
        signed.iter().for_each(|it| assert_eq!(input.signed().unwrap(), *it));
        assert_eq!(input.block().unwrap(), b"abc");
        input.finish().unwrap();
        assert!(input.number().is_err());
    }

    #[test]
    fn numbers_that_are_too_large_are_refused() {
        let input = |bytes: &'static [u8]| Input::new(bytes);
        assert!(input(&[0xff; 9]).number().is_err());
        assert!(input(&[0xff; 11]).number().is_err());
        assert!(
            input(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]).number().is_err()
        );
        assert!(input(&[0xff, 0xff, 0xff, 0xff, 0x10]).u32().is_err());
        assert!(input(&[3, 0, 0]).count().is_err());
        assert!(input(&[2, 0, 0]).count().is_ok());
    }
}
