//! Run-length encoding of bytes, and of bits within them.
//!
//! ```text
//! control 0 to 127     the next byte, control + 3 times
//! control 128 to 255   the next 256 - control bytes
//! ```
//!
//! Booleans are bytes of 8 bits each, the highest first.

use crate::stream::{ByteStream, Positions};
use arrow_buffer::{BooleanBuffer, Buffer};
use volley_error::Result;

/// Rows are decoded in pieces of as many bits: memory grows with what is there.
const PIECE_BITS: usize = 1 << 16;

/// Bytes in runs.
pub(crate) struct ByteRle {
    stream: ByteStream,
    /// What is left of the current run.
    left: usize,
    /// The byte of a run; `None`: each is stored.
    repeated: Option<u8>,
}

impl ByteRle {
    pub fn new(stream: ByteStream) -> ByteRle {
        ByteRle { stream, left: 0, repeated: None }
    }

    pub fn bytes_read(&self) -> u64 {
        self.stream.bytes_read()
    }

    /// Appends the next `count` bytes to `out`.
    pub fn append_to(&mut self, mut count: usize, out: &mut Vec<u8>) -> Result<()> {
        while count > 0 {
            let taken = self.run()?.min(count);
            match self.repeated {
                Some(byte) => out.resize(out.len() + taken, byte),
                None => self.stream.append_to(taken, out)?,
            }
            self.left -= taken;
            count -= taken;
        }
        Ok(())
    }

    /// Passes over `count` bytes.
    pub fn skip(&mut self, mut count: usize) -> Result<()> {
        while count > 0 {
            let taken = self.run()?.min(count);
            if self.repeated.is_none() {
                self.stream.skip(taken as u64)?;
            }
            self.left -= taken;
            count -= taken;
        }
        Ok(())
    }

    /// What is left of the current run, or the length of the next one.
    fn run(&mut self) -> Result<usize> {
        if self.left == 0 {
            let control = self.stream.byte()?;
            (self.left, self.repeated) = match control {
                0..128 => (usize::from(control) + 3, Some(self.stream.byte()?)),
                _ => (256 - usize::from(control), None),
            };
        }
        Ok(self.left)
    }

    /// Goes to a position of a row index.
    pub fn seek(&mut self, positions: &mut Positions) -> Result<()> {
        self.stream.seek(positions)?;
        self.left = 0;
        self.skip(positions.count()?)
    }
}

/// Bits in runs of bytes.
pub(crate) struct BitRle {
    bytes: ByteRle,
    /// Bits that are left of the last byte, from the highest on, and how many.
    rest: u8,
    rest_bits: usize,
    buffer: Vec<u8>,
}

impl BitRle {
    pub fn new(stream: ByteStream) -> BitRle {
        BitRle { bytes: ByteRle::new(stream), rest: 0, rest_bits: 0, buffer: Vec::new() }
    }

    pub fn bytes_read(&self) -> u64 {
        self.bytes.bytes_read()
    }

    /// The next `count` bits.
    pub fn read(&mut self, count: usize) -> Result<BooleanBuffer> {
        let mut out = Vec::with_capacity(count.min(PIECE_BITS).div_ceil(8));
        let mut left = count;
        // Pieces are whole bytes of the result.
        while left > 0 {
            let bits = left.min(PIECE_BITS);
            self.read_piece(bits, &mut out)?;
            left -= bits;
        }
        Ok(BooleanBuffer::new(Buffer::from_vec(out), 0, count))
    }

    fn read_piece(&mut self, bits: usize, out: &mut Vec<u8>) -> Result<()> {
        self.buffer.clear();
        let missing = bits.saturating_sub(self.rest_bits);
        self.bytes.append_to(missing.div_ceil(8), &mut self.buffer)?;
        let shift = self.rest_bits;
        if shift == 0 {
            out.extend(self.buffer.iter().map(|it| it.reverse_bits()));
            let used = bits % 8;
            self.rest = self.buffer.last().map_or(0, |it| if used == 0 { 0 } else { it << used });
            self.rest_bits = (8 - used) % 8;
            return Ok(());
        }
        let len = bits.div_ceil(8);
        let mut rest = self.rest;
        let start = out.len();
        for byte in &self.buffer {
            out.push((rest | byte >> shift).reverse_bits());
            rest = byte << (8 - shift);
        }
        if out.len() - start < len {
            out.push(rest.reverse_bits());
        }
        // Bits were made up to a whole byte; some of the last ones stay for the next piece.
        let had = shift + 8 * self.buffer.len();
        self.rest_bits = had - bits;
        self.rest = match self.buffer.last() {
            Some(last) => last.checked_shl((8 - self.rest_bits) as u32).unwrap_or(0),
            None => self.rest << bits,
        };
        out.truncate(start + len);
        Ok(())
    }

    /// Passes over `count` bits.
    pub fn skip(&mut self, count: usize) -> Result<()> {
        if count < self.rest_bits {
            self.rest <<= count;
            self.rest_bits -= count;
            return Ok(());
        }
        let missing = count - self.rest_bits;
        (self.rest, self.rest_bits) = (0, 0);
        self.bytes.skip(missing / 8)?;
        let bits = missing % 8;
        if bits > 0 {
            self.buffer.clear();
            self.bytes.append_to(1, &mut self.buffer)?;
            self.rest = self.buffer.first().map_or(0, |it| it << bits);
            self.rest_bits = 8 - bits;
        }
        Ok(())
    }

    /// Passes over `count` bits; how many of them are set.
    pub fn count(&mut self, count: usize) -> Result<usize> {
        let (mut left, mut set) = (count, 0);
        while left > 0 {
            let bits = left.min(PIECE_BITS);
            set += self.read(bits)?.count_set_bits();
            left -= bits;
        }
        Ok(set)
    }

    /// Goes to a position of a row index.
    pub fn seek(&mut self, positions: &mut Positions) -> Result<()> {
        self.bytes.seek(positions)?;
        (self.rest, self.rest_bits) = (0, 0);
        self.skip(positions.count()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::stream_of;

    #[test]
    fn runs_and_literals_are_read() {
        // Specification, "Byte Run Length Encoding".
        let mut out = Vec::new();
        ByteRle::new(stream_of(&[0x61, 0x00])).append_to(100, &mut out).unwrap();
        assert_eq!(out, [0; 100]);
        let mut rle = ByteRle::new(stream_of(&[0xfe, 0x44, 0x45]));
        out.clear();
        rle.append_to(2, &mut out).unwrap();
        assert_eq!(out, [0x44, 0x45]);
        assert!(rle.append_to(1, &mut out).is_err());
        assert!(ByteRle::new(stream_of(&[0xfe, 0x44])).skip(2).is_err());
    }

    #[test]
    fn bits_are_read_from_the_highest_on() {
        // Specification, "Boolean Run Length Encoding": one true, seven false.
        let bits = BitRle::new(stream_of(&[0xff, 0x80])).read(8).unwrap();
        assert_eq!(
            bits.iter().collect::<Vec<_>>(),
            [true, false, false, false, false, false, false, false]
        );
    }

    #[test]
    fn bits_are_the_same_however_they_are_taken() {
        let bytes: Vec<u8> = (0..64u8).map(|it| it.wrapping_mul(37) ^ 0x5a).collect();
        let stored = [&[(256 - bytes.len()) as u8], bytes.as_slice()].concat();
        let plain: Vec<bool> =
            bytes.iter().flat_map(|it| (0..8).map(move |bit| it >> (7 - bit) & 1 == 1)).collect();
        for step in [1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 64, 100] {
            let mut rle = BitRle::new(stream_of(&stored));
            let (mut at, mut round) = (0, 0);
            while at < plain.len() {
                let count = step.min(plain.len() - at);
                let expected = plain.get(at..at + count).unwrap();
                match round % 3 {
                    0 => assert_eq!(rle.read(count).unwrap().iter().collect::<Vec<_>>(), expected),
                    1 => rle.skip(count).unwrap(),
                    _ => {
                        let set = expected.iter().filter(|it| **it).count();
                        assert_eq!(rle.count(count).unwrap(), set);
                    }
                }
                at += count;
                round += 1;
            }
            assert!(rle.read(1).is_err());
        }
    }
}
