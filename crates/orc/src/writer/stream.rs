//! A stream that is being written: compressed block by block, with positions for the row index.

use crate::compression::{Codec, HEADER_BYTES};
use flate2::{Compress, Compression, FlushCompress, Status};
use volley_error::{Error, Result};

/// How much zstd tries.
const ZSTD_LEVEL: i32 = 3;

/// How streams are compressed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockFormat {
    pub codec: Option<Codec>,
    pub block_bytes: usize,
}

/// The bytes of a stream.
pub(crate) struct StreamWriter {
    format: BlockFormat,
    /// Blocks that are complete.
    done: Vec<u8>,
    /// The block that is being filled; without compression, all bytes.
    block: Vec<u8>,
    compressed: Vec<u8>,
}

impl StreamWriter {
    pub fn new(format: BlockFormat) -> StreamWriter {
        StreamWriter { format, done: Vec::new(), block: Vec::new(), compressed: Vec::new() }
    }

    /// Appends bytes.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        if self.format.codec.is_none() {
            self.block.extend_from_slice(bytes);
            return Ok(());
        }
        while !bytes.is_empty() {
            let room = self.format.block_bytes - self.block.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.block.extend_from_slice(now);
            bytes = later;
            if self.block.len() == self.format.block_bytes {
                self.end_block()?;
            }
        }
        Ok(())
    }

    pub fn write_byte(&mut self, byte: u8) -> Result<()> {
        self.write(&[byte])
    }

    /// Appends the numbers of the position where the next byte will be.
    pub fn push_position(&self, positions: &mut Vec<u64>) {
        if self.format.codec.is_some() {
            positions.push(self.done.len() as u64);
        }
        positions.push(self.block.len() as u64);
    }

    /// The stream as it is stored.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        if self.format.codec.is_none() {
            return Ok(self.block);
        }
        if !self.block.is_empty() {
            self.end_block()?;
        }
        Ok(self.done)
    }

    fn end_block(&mut self) -> Result<()> {
        let Some(codec) = self.format.codec else { return Ok(()) };
        self.compressed.clear();
        compress(codec, &self.block, &mut self.compressed)?;
        let (bytes, is_stored) = match self.compressed.len() < self.block.len() {
            true => (&self.compressed, 0),
            false => (&self.block, 1),
        };
        let header = (bytes.len() as u32) << 1 | is_stored;
        self.done.extend_from_slice(header.to_le_bytes().get(..HEADER_BYTES).unwrap_or_default());
        self.done.extend_from_slice(bytes);
        self.block.clear();
        Ok(())
    }
}

/// A section of a file as it is stored.
pub(crate) fn compress_section(bytes: &[u8], format: BlockFormat) -> Result<Vec<u8>> {
    let mut stream = StreamWriter::new(format);
    stream.write(bytes)?;
    stream.finish()
}

fn compress(codec: Codec, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let failed = |error: std::io::Error| Error::io("compression", error);
    match codec {
        Codec::Zstd => out.extend(zstd::bulk::compress(bytes, ZSTD_LEVEL).map_err(failed)?),
        Codec::Lz4 => out.extend(lz4_flex::block::compress(bytes)),
        Codec::Snappy => {
            let block = snap::raw::Encoder::new().compress_vec(bytes);
            out.extend(block.map_err(|it| failed(it.into()))?);
        }
        Codec::Zlib => {
            let mut deflate = Compress::new(Compression::fast(), false);
            // What does not get smaller is stored as it is.
            out.reserve(bytes.len());
            let status = deflate.compress_vec(bytes, out, FlushCompress::Finish);
            match status.map_err(|it| failed(it.into()))? {
                Status::StreamEnd => {}
                _ => out.resize(bytes.len(), 0),
            }
        }
        Codec::Brotli => return Err(Error::unsupported("writing ORC files with Brotli")),
    }
    Ok(())
}
