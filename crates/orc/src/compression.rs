//! Decompresses the blocks of streams.
//!
//! ```text
//! stream of a compressed file = chunks
//! chunk  header: 3 bytes, little-endian: length << 1 | whether the bytes are stored as they are
//!        the bytes; they decompress to at most the block size of the postscript
//! ```

use crate::error::corrupt;
use flate2::{Decompress, FlushDecompress, Status};
use std::{fmt::Display, io::Read};
use volley_error::{Error, Result};
use volley_kernels::snappy;

/// The length of a chunk has 23 bits, and so no block is larger.
pub(crate) const BLOCK_BYTES_MAX: usize = 1 << 23;

/// Bytes of a chunk's header.
pub(crate) const HEADER_BYTES: usize = 3;

/// Bytes of the window that the Brotli decoder reads at once.
const BROTLI_BUFFER_BYTES: usize = 4096;

/// How the streams of a file are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Deflate without a header.
    Zlib,
    /// Snappy.
    Snappy,
    /// LZ4 blocks.
    Lz4,
    /// Zstandard.
    Zstd,
    /// Brotli.
    Brotli,
}

impl Codec {
    /// The codec of a number in the postscript; `None`: not compressed.
    pub(crate) fn from_number(number: u64) -> Result<Option<Codec>> {
        Ok(Some(match number {
            0 => return Ok(None),
            1 => Codec::Zlib,
            2 => Codec::Snappy,
            3 => {
                let error = Error::unsupported("ORC file compressed with LZO");
                return Err(error.hint("write it with zstd, zlib, snappy or lz4"));
            }
            4 => Codec::Lz4,
            5 => Codec::Zstd,
            6 => Codec::Brotli,
            other => {
                return Err(Error::unsupported(format!("ORC file with compression kind {other}")));
            }
        }))
    }
}

/// The header of a chunk: the number of its bytes, and whether they are stored as they are.
pub(crate) fn chunk_header(bytes: [u8; HEADER_BYTES]) -> (usize, bool) {
    let [low, middle, high] = bytes;
    let header = u32::from_le_bytes([low, middle, high, 0]);
    ((header >> 1) as usize, header & 1 == 1)
}

/// Decompresses blocks.
pub(crate) struct Decompressor {
    codec: Codec,
    /// Made for the first block.
    zstd: Option<zstd::bulk::Decompressor<'static>>,
    deflate: Option<Decompress>,
}

impl Decompressor {
    pub fn new(codec: Codec) -> Decompressor {
        Decompressor { codec, zstd: None, deflate: None }
    }

    /// Decompresses a block into the beginning of `out`, which is as long as the longest block;
    /// the number of bytes that it has.
    pub fn decompress(&mut self, bytes: &[u8], out: &mut [u8]) -> Result<usize> {
        match self.codec {
            Codec::Zlib => self.inflate(bytes, out),
            Codec::Snappy => {
                let len = snappy_len(bytes).ok_or_else(|| invalid("no Snappy block"))?;
                let out = out.get_mut(..len).ok_or_else(too_long)?;
                snappy::decompress(bytes, out).ok_or_else(|| invalid("no Snappy block"))?;
                Ok(len)
            }
            Codec::Lz4 => lz4_flex::block::decompress_into(bytes, out).map_err(invalid),
            Codec::Zstd => {
                let zstd = match &mut self.zstd {
                    Some(zstd) => zstd,
                    None => self.zstd.insert(zstd::bulk::Decompressor::new().map_err(invalid)?),
                };
                zstd.decompress_to_buffer(bytes, out).map_err(invalid)
            }
            Codec::Brotli => read_all(brotli::Decompressor::new(bytes, BROTLI_BUFFER_BYTES), out),
        }
    }

    fn inflate(&mut self, bytes: &[u8], out: &mut [u8]) -> Result<usize> {
        let deflate = self.deflate.get_or_insert_with(|| Decompress::new(false));
        deflate.reset(false);
        match deflate.decompress(bytes, out, FlushDecompress::Finish).map_err(invalid)? {
            Status::StreamEnd => Ok(usize::try_from(deflate.total_out()).unwrap_or(usize::MAX)),
            _ => Err(invalid("no Deflate stream of at most the block size")),
        }
    }
}

/// The length of what a Snappy block holds: a varint.
fn snappy_len(bytes: &[u8]) -> Option<usize> {
    let mut len = 0;
    for (place, byte) in bytes.iter().take(5).enumerate() {
        len |= u64::from(byte & 0x7f) << (7 * place);
        if *byte < 0x80 {
            return usize::try_from(len).ok();
        }
    }
    None
}

fn read_all(mut reader: impl Read, out: &mut [u8]) -> Result<usize> {
    let mut filled = 0;
    while let Some(room) = out.get_mut(filled..).filter(|it| !it.is_empty()) {
        match reader.read(room).map_err(invalid)? {
            0 => return Ok(filled),
            read => filled += read,
        }
    }
    if reader.read(&mut [0]).map_err(invalid)? > 0 { Err(too_long()) } else { Ok(filled) }
}

#[cold]
fn too_long() -> Error {
    corrupt("compressed block is longer than the block size of the file")
}

#[cold]
fn invalid(error: impl Display) -> Error {
    corrupt(format!("invalid compressed block: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[track_caller]
    fn check(codec: Codec, compress: impl Fn(&[u8]) -> Vec<u8>) {
        let mut decompressor = Decompressor::new(codec);
        for len in [0, 1, 1000, 4096] {
            let all: Vec<u8> = (0..len).map(|it| (it / 3 % 251) as u8).collect();
            let block = compress(&all);
            let mut out = vec![7; 4096];
            assert_eq!(decompressor.decompress(&block, &mut out).unwrap(), len, "{codec:?}");
            assert_eq!(out.get(..len), Some(&*all));
            if len > 1 {
                let mut short = vec![7; len - 1];
                assert!(decompressor.decompress(&block, &mut short).is_err());
                let cut = block.get(..block.len() - 3).unwrap();
                let found = decompressor.decompress(cut, &mut out);
                assert!(found.map_or(true, |it| it != len), "{codec:?} {len}");
            }
        }
    }

    #[test]
    fn blocks_of_every_codec_are_read() {
        check(Codec::Zstd, |it| zstd::bulk::compress(it, 1).unwrap());
        check(Codec::Lz4, lz4_flex::block::compress);
        check(Codec::Snappy, |it| snap::raw::Encoder::new().compress_vec(it).unwrap());
        check(Codec::Zlib, |it| {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Default::default());
            encoder.write_all(it).unwrap();
            encoder.finish().unwrap()
        });
        check(Codec::Brotli, |it| {
            let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
            encoder.write_all(it).unwrap();
            encoder.into_inner()
        });
    }

    #[test]
    fn headers_have_their_length_above_the_flag() {
        // Specification, "Compression": 100,000 bytes compressed, 5 bytes stored.
        assert_eq!(chunk_header([0x40, 0x0d, 0x03]), (100_000, false));
        assert_eq!(chunk_header([0x0b, 0x00, 0x00]), (5, true));
    }
}
