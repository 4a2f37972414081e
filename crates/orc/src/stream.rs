//! The bytes of one stream of a stripe, decompressed block by block.
//!
//! Nothing is allocated from a length that the stream states: memory grows with the bytes that are
//! there. Positions of a row index lead to a block and a place in it.

use crate::{
    compression::{Decompressor, HEADER_BYTES, chunk_header},
    error::corrupt,
    file::Compression,
};
use bytes::Bytes;
use std::{ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_io::RandomAccessFile;
use volley_memory::Reservation;

/// Bytes of a stream that are read from the file at once, where they were not read before.
const WINDOW_BYTES: u64 = 1 << 20;

/// Bytes of a stream without compression that are one block.
pub(crate) const PLAIN_BLOCK_BYTES: u64 = 256 << 10;

/// The stored bytes of a stream, or those parts of them that are needed.
pub(crate) struct StoredBytes {
    /// What was read: places in the stream, ascending.
    parts: Vec<(u64, Bytes)>,
    /// What was read here last: where it is in the stream.
    window: (u64, Bytes),
    /// The file, and where the stream is in it.
    file: Arc<dyn RandomAccessFile>,
    range: Range<u64>,
    /// Bytes that were read here.
    pub bytes_read: u64,
}

impl StoredBytes {
    /// A stream at `range` of the file; `parts` of it were read. Others are read when needed.
    pub fn new(
        file: Arc<dyn RandomAccessFile>,
        range: Range<u64>,
        parts: Vec<(u64, Bytes)>,
    ) -> StoredBytes {
        StoredBytes { parts, window: (0, Bytes::new()), file, range, bytes_read: 0 }
    }

    fn len(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// The bytes at `range` of the stream.
    fn get(&mut self, range: Range<u64>) -> Result<Bytes> {
        if range.end > self.len() || range.start > range.end {
            return Err(ends_early());
        }
        let next = self.parts.partition_point(|(start, _)| *start <= range.start);
        let part = next.checked_sub(1).and_then(|it| self.parts.get(it));
        let within = |(start, bytes): &(u64, Bytes)| {
            let first = usize::try_from(range.start.checked_sub(*start)?).ok()?;
            let last = usize::try_from(range.end - start).ok()?;
            (last <= bytes.len()).then(|| bytes.slice(first..last))
        };
        match part.and_then(within).or_else(|| within(&self.window)) {
            Some(bytes) => Ok(bytes),
            None => self.read(range),
        }
    }

    /// Reads a window that begins at `range`.
    fn read(&mut self, range: Range<u64>) -> Result<Bytes> {
        let end = range.end.max((range.start + WINDOW_BYTES).min(self.len()));
        let window = self.file.read(self.range.start + range.start..self.range.start + end)?;
        self.bytes_read += window.len() as u64;
        let len = (range.end - range.start) as usize;
        if window.len() < len {
            return Err(Error::internal("read with fewer bytes than its range"));
        }
        let bytes = window.slice(..len);
        self.window = (range.start, window);
        Ok(bytes)
    }
}

/// A stream that is read forward.
pub(crate) struct ByteStream {
    stored: StoredBytes,
    decompressor: Option<Decompressor>,
    block_bytes: usize,
    /// Where the current block begins in the stream, and the next one.
    start: u64,
    next: u64,
    block: Block,
    /// What is used of the block.
    at: usize,
    /// Bytes of several blocks, put together.
    joined: Vec<u8>,
    reservation: Reservation,
}

/// The current block.
enum Block {
    Stored(Bytes),
    /// The first bytes of a buffer.
    Decompressed(Vec<u8>, usize),
}

impl ByteStream {
    /// A stream from its beginning; its buffers are charged to `reservation`.
    pub fn new(
        stored: StoredBytes,
        compression: Compression,
        reservation: Reservation,
    ) -> ByteStream {
        ByteStream {
            stored,
            decompressor: compression.codec.map(Decompressor::new),
            block_bytes: compression.block_bytes,
            start: 0,
            next: 0,
            block: Block::Stored(Bytes::new()),
            at: 0,
            joined: Vec::new(),
            reservation,
        }
    }

    /// Bytes that it has read from the file itself.
    pub fn bytes_read(&self) -> u64 {
        self.stored.bytes_read
    }

    /// Whether it is compressed: then positions have two numbers.
    fn is_compressed(&self) -> bool {
        self.decompressor.is_some()
    }

    /// What is left of the block.
    fn rest(&self) -> &[u8] {
        let block = match &self.block {
            Block::Stored(bytes) => bytes.as_ref(),
            Block::Decompressed(buffer, len) => buffer.get(..*len).unwrap_or_default(),
        };
        block.get(self.at..).unwrap_or_default()
    }

    /// What is left of the current block, or the next one that is not empty.
    ///
    /// # Errors
    ///
    /// Corruption: the stream has ended.
    fn available(&mut self) -> Result<&[u8]> {
        while self.rest().is_empty() {
            if self.next >= self.stored.len() {
                return Err(ends_early());
            }
            self.load()?;
        }
        Ok(self.rest())
    }

    /// Makes the next block the current one.
    fn load(&mut self) -> Result<()> {
        (self.start, self.at) = (self.next, 0);
        let Some(decompressor) = &mut self.decompressor else {
            let end = self.stored.len().min(self.next + PLAIN_BLOCK_BYTES);
            self.block = Block::Stored(self.stored.get(self.next..end)?);
            self.next = end;
            return Ok(());
        };
        let begin = self.next + HEADER_BYTES as u64;
        let header = self.stored.get(self.next..begin)?;
        let header = header.first_chunk().ok_or_else(ends_early)?;
        let (len, is_stored) = chunk_header(*header);
        let bytes = self.stored.get(begin..begin + len as u64)?;
        self.next = begin + len as u64;
        if is_stored {
            self.block = Block::Stored(bytes);
            return Ok(());
        }
        let mut buffer = match std::mem::replace(&mut self.block, Block::Stored(Bytes::new())) {
            Block::Decompressed(buffer, _) => buffer,
            Block::Stored(_) => Vec::new(),
        };
        if buffer.is_empty() {
            self.reservation.grow(self.block_bytes)?;
            buffer.resize(self.block_bytes, 0);
        }
        let len = decompressor.decompress(&bytes, &mut buffer)?;
        self.block = Block::Decompressed(buffer, len);
        Ok(())
    }

    /// The next byte.
    #[inline]
    pub fn byte(&mut self) -> Result<u8> {
        if let Some(byte) = self.rest().first().copied() {
            self.at += 1;
            return Ok(byte);
        }
        let byte = self.available()?.first().copied().ok_or_else(ends_early)?;
        self.at += 1;
        Ok(byte)
    }

    /// The next `len` bytes, which are few.
    #[inline]
    pub fn take(&mut self, len: usize) -> Result<&[u8]> {
        if self.rest().len() < len {
            return self.take_joined(len);
        }
        let at = self.at;
        self.at += len;
        let block = match &self.block {
            Block::Stored(bytes) => bytes.as_ref(),
            Block::Decompressed(buffer, len) => buffer.get(..*len).unwrap_or_default(),
        };
        block.get(at..at + len).ok_or_else(ends_early)
    }

    fn take_joined(&mut self, len: usize) -> Result<&[u8]> {
        let mut joined = std::mem::take(&mut self.joined);
        joined.clear();
        let result = self.append_to(len, &mut joined);
        self.joined = joined;
        result.map(|()| self.joined.as_slice())
    }

    /// Appends the next `len` bytes to `out`.
    pub fn append_to(&mut self, mut len: usize, out: &mut Vec<u8>) -> Result<()> {
        while len > 0 {
            let rest = self.available()?;
            let part = rest.get(..len).unwrap_or(rest);
            out.extend_from_slice(part);
            let taken = part.len();
            self.at += taken;
            len -= taken;
        }
        Ok(())
    }

    /// Passes over `len` bytes.
    pub fn skip(&mut self, mut len: u64) -> Result<()> {
        while len > 0 {
            let rest = self.available()?.len() as u64;
            let taken = rest.min(len);
            self.at += taken as usize;
            len -= taken;
        }
        Ok(())
    }

    /// The next unsigned varint of at most 64 bits.
    #[inline]
    pub fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(corrupt("integer of more than 64 bits"))
    }

    /// Hands what is left of the block to `read`, which answers how many bytes it used.
    pub fn with_block<R>(&mut self, read: impl FnOnce(&[u8]) -> (usize, R)) -> Result<R> {
        let rest = self.available()?;
        let len = rest.len();
        let (used, result) = read(rest);
        self.at += used.min(len);
        Ok(result)
    }

    /// Goes to a position of a row index.
    pub fn seek(&mut self, positions: &mut Positions) -> Result<()> {
        let place = positions.next()?;
        let (block, within) = match self.is_compressed() {
            true => (place, positions.next()?),
            false => (place - place % PLAIN_BLOCK_BYTES, place % PLAIN_BLOCK_BYTES),
        };
        if block > self.stored.len() {
            return Err(corrupt("row index with a position beyond its stream"));
        }
        if block == self.start && self.next > self.start {
            self.at = 0;
        } else {
            self.block = match std::mem::replace(&mut self.block, Block::Stored(Bytes::new())) {
                Block::Decompressed(buffer, _) => Block::Decompressed(buffer, 0),
                stored => {
                    drop(stored);
                    Block::Stored(Bytes::new())
                }
            };
            (self.start, self.next, self.at) = (block, block, 0);
        }
        self.skip(within)
    }
}

/// The numbers of a position in the streams of a column.
pub(crate) struct Positions<'a>(pub &'a [u64]);

impl Positions<'_> {
    pub fn next(&mut self) -> Result<u64> {
        let (first, rest) =
            self.0.split_first().ok_or_else(|| corrupt("row index with too few positions"))?;
        self.0 = rest;
        Ok(*first)
    }

    /// The next number, which is a count of values.
    pub fn count(&mut self) -> Result<usize> {
        let count = self.next()?;
        usize::try_from(count).map_err(|_| corrupt("row index with a position out of range"))
    }
}

#[cold]
pub(crate) fn ends_early() -> Error {
    corrupt("stream ends early")
}
