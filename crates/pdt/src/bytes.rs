//! The numbers that runs, logs and manifests are made of: 7 bits per byte, the lowest first; the
//! top bit says that another byte follows. `docs/formats/storage.md` calls them `number`.

use volley_error::{Error, Result};

/// Bytes being written.
#[derive(Debug, Default)]
pub struct Output {
    /// So far.
    pub bytes: Vec<u8>,
}

impl Output {
    /// Appends bytes.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a byte.
    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Appends a number.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Appends a number that may be negative: the sign is the lowest bit.
    pub fn signed(&mut self, number: i64) {
        self.number((number << 1 ^ number >> 63) as u64);
    }

    /// Appends a count.
    pub fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    /// Bytes with their length before them.
    pub fn block(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.raw(bytes);
    }

    /// 0, or 1 and what `write` writes.
    pub fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(T, &mut Output)) {
        self.byte(u8::from(value.is_some()));
        if let Some(value) = value {
            write(value, self);
        }
    }
}

/// Bytes being read. Nothing is taken for granted.
#[derive(Debug)]
pub struct Input<'a> {
    rest: &'a [u8],
    len: usize,
    /// What the bytes are, for messages: `manifest`.
    what: &'static str,
}

impl<'a> Input<'a> {
    /// Reads `bytes`, which are a `what` in messages.
    pub fn new(bytes: &'a [u8], what: &'static str) -> Input<'a> {
        Input { rest: bytes, len: bytes.len(), what }
    }

    /// A corruption error at the current offset.
    #[cold]
    pub fn corrupt(&self, problem: &str) -> Error {
        let offset = self.len - self.rest.len();
        Error::corruption(format!("damaged {}: {problem}, before byte {offset}", self.what))
    }

    /// The next `len` bytes.
    ///
    /// # Errors
    ///
    /// Corruption: fewer are left.
    pub fn raw(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) =
            self.rest.split_at_checked(len).ok_or_else(|| self.corrupt("it ends early"))?;
        self.rest = rest;
        Ok(taken)
    }

    /// The next N bytes.
    ///
    /// # Errors
    ///
    /// As [`Input::raw`].
    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) =
            self.rest.split_first_chunk::<N>().ok_or_else(|| self.corrupt("it ends early"))?;
        self.rest = rest;
        Ok(*taken)
    }

    /// The next byte.
    ///
    /// # Errors
    ///
    /// As [`Input::raw`].
    pub fn byte(&mut self) -> Result<u8> {
        self.fixed::<1>().map(|[it]| it)
    }

    /// The next number.
    ///
    /// # Errors
    ///
    /// Corruption: not a number.
    pub fn number(&mut self) -> Result<u64> {
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

    /// The next number that may be negative.
    ///
    /// # Errors
    ///
    /// As [`Input::number`].
    pub fn signed(&mut self) -> Result<i64> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// The next number, of at most 32 bits.
    ///
    /// # Errors
    ///
    /// As [`Input::number`].
    pub fn u32(&mut self) -> Result<u32> {
        u32::try_from(self.number()?).map_err(|_| self.corrupt("a number of more than 32 bits"))
    }

    /// A count of elements that take at least a byte each, so that memory for them is bounded.
    ///
    /// # Errors
    ///
    /// Corruption: fewer bytes are left.
    pub fn count(&mut self) -> Result<usize> {
        let count = self.number()?;
        match usize::try_from(count) {
            Ok(count) if count <= self.rest.len() => Ok(count),
            _ => Err(self.corrupt("a count beyond the end")),
        }
    }

    /// Bytes with their length before them.
    ///
    /// # Errors
    ///
    /// As [`Input::number`].
    pub fn block(&mut self) -> Result<&'a [u8]> {
        let len = self.count()?;
        self.raw(len)
    }

    /// What [`Output::optional`] wrote.
    ///
    /// # Errors
    ///
    /// Corruption; those of `read`.
    pub fn optional<T>(
        &mut self,
        read: impl FnOnce(&mut Input<'a>) -> Result<T>,
    ) -> Result<Option<T>> {
        match self.byte()? {
            0 => Ok(None),
            1 => read(self).map(Some),
            _ => Err(self.corrupt("neither 0 nor 1")),
        }
    }

    /// A count and as many elements.
    ///
    /// # Errors
    ///
    /// Corruption; those of `read`.
    pub fn all<T>(&mut self, mut read: impl FnMut(&mut Input<'a>) -> Result<T>) -> Result<Vec<T>> {
        (0..self.count()?).map(|_| read(self)).collect()
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    ///
    /// Corruption: bytes after the end.
    pub fn finish(&self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.corrupt("bytes after the end")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_written() {
        let numbers = [0, 1, 0x7f, 0x80, 0x3fff, 0x4000, u64::from(u32::MAX), u64::MAX];
        let mut output = Output::default();
        numbers.iter().for_each(|it| output.number(*it));
        let signed = [0, -1, 1, i64::MIN, i64::MAX, -64, 64];
        signed.iter().for_each(|it| output.signed(*it));
        output.block(b"abc");
        output.optional(Some(7), |it, output| output.number(it));
        output.optional(None::<u64>, |it, output| output.number(it));
        let mut input = Input::new(&output.bytes, "test");
        numbers.iter().for_each(|it| assert_eq!(input.number().unwrap(), *it));
        signed.iter().for_each(|it| assert_eq!(input.signed().unwrap(), *it));
        assert_eq!(input.block().unwrap(), b"abc");
        assert_eq!(input.optional(Input::number).unwrap(), Some(7));
        assert_eq!(input.optional(Input::number).unwrap(), None);
        input.finish().unwrap();
        assert!(input.number().unwrap_err().to_string().contains("damaged test"));
    }

    #[test]
    fn bytes_that_are_no_numbers_are_refused() {
        let input = |bytes: &'static [u8]| Input::new(bytes, "test");
        assert!(input(&[0xff; 9]).number().is_err());
        assert!(input(&[0xff; 11]).number().is_err());
        assert!(input(&[0xff, 0xff, 0xff, 0xff, 0x10]).u32().is_err());
        assert!(input(&[3, 0, 0]).count().is_err());
        assert!(input(&[2]).optional(Input::byte).is_err());
        assert!(input(&[2, 0, 0]).count().is_ok());
        assert!(input(&[1]).finish().is_err());
    }
}
