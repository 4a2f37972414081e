//! Compression of pages.

use crate::decode::corruption;
use std::io::{Read, Write};
use volley_error::{Error, Result};

/// How the bytes of pages are compressed. A page does not say it: both sides are configured
/// (`exchange.compression-codec`, or LZ4 with `exchange.compression-enabled`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PageCompression {
    /// Not at all.
    #[default]
    None,
    /// An LZ4 block.
    Lz4,
    /// A Snappy block.
    Snappy,
    /// A Zstandard frame.
    Zstd,
    /// GZIP.
    Gzip,
    /// ZLIB.
    Zlib,
}

/// The level of Zstandard.
const ZSTD_LEVEL: i32 = 1;

/// The most bytes that one byte of an LZ4 block can stand for.
const LZ4_RATIO_MAX: usize = 255;

impl PageCompression {
    /// All ways to compress.
    pub const ALL: [PageCompression; 6] = [
        PageCompression::None,
        PageCompression::Lz4,
        PageCompression::Snappy,
        PageCompression::Zstd,
        PageCompression::Gzip,
        PageCompression::Zlib,
    ];

    /// The compression with the name of Presto's configuration, in any case.
    pub fn from_name(name: &str) -> Option<PageCompression> {
        Some(match name.to_ascii_uppercase().as_str() {
            "NONE" => PageCompression::None,
            "LZ4" => PageCompression::Lz4,
            "SNAPPY" => PageCompression::Snappy,
            "ZSTD" => PageCompression::Zstd,
            "GZIP" => PageCompression::Gzip,
            "ZLIB" => PageCompression::Zlib,
            _ => return None,
        })
    }

    /// The compressed bytes; `None` without compression.
    pub(super) fn compress(self, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        let failed = |it: std::io::Error| Error::internal("compression of a page").caused_by(it);
        Ok(Some(match self {
            PageCompression::None => return Ok(None),
            PageCompression::Lz4 => lz4_flex::block::compress(bytes),
            PageCompression::Snappy => snap::raw::Encoder::new()
                .compress_vec(bytes)
                .map_err(|it| Error::internal("compression of a page").caused_by(it))?,
            PageCompression::Zstd => zstd::bulk::compress(bytes, ZSTD_LEVEL).map_err(failed)?,
            PageCompression::Gzip => {
                let level = flate2::Compression::fast();
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
                encoder.write_all(bytes).and_then(|()| encoder.finish()).map_err(failed)?
            }
            PageCompression::Zlib => {
                let level = flate2::Compression::fast();
                let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
                encoder.write_all(bytes).and_then(|()| encoder.finish()).map_err(failed)?
            }
        }))
    }

    /// The bytes that were compressed; `len` of them, which the caller found to be bearable.
    pub(super) fn decompress(self, bytes: &[u8], len: usize) -> Result<Vec<u8>> {
        match self {
            PageCompression::None => {
                let error = Error::unsupported("a compressed page");
                Err(error.hint("set exchange.compression-codec to that of the other nodes"))
            }
            PageCompression::Lz4 => {
                if len > bytes.len().saturating_mul(LZ4_RATIO_MAX).saturating_add(64) {
                    return Err(corruption("more bytes than an LZ4 block can hold"));
                }
                let found = lz4_flex::block::decompress(bytes, len).map_err(|_| broken())?;
                exactly(found, len)
            }
            PageCompression::Snappy => {
                let stated = snap::raw::decompress_len(bytes).map_err(|_| broken())?;
                if stated != len || len > bytes.len().saturating_mul(LZ4_RATIO_MAX) {
                    return Err(broken());
                }
                let found = snap::raw::Decoder::new().decompress_vec(bytes);
                exactly(found.map_err(|_| broken())?, len)
            }
            PageCompression::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(bytes);
                read_all(decoder.map_err(|_| broken())?, len)
            }
            PageCompression::Gzip => read_all(flate2::bufread::GzDecoder::new(bytes), len),
            PageCompression::Zlib => read_all(flate2::bufread::ZlibDecoder::new(bytes), len),
        }
    }
}

/// What a decoder returns, if it is `len` bytes. Memory grows with the bytes that come.
fn read_all(decoder: impl Read, len: usize) -> Result<Vec<u8>> {
    let mut found = Vec::new();
    let limit = (len as u64).saturating_add(1);
    decoder.take(limit).read_to_end(&mut found).map_err(|_| broken())?;
    exactly(found, len)
}

fn exactly(found: Vec<u8>, len: usize) -> Result<Vec<u8>> {
    if found.len() == len { Ok(found) } else { Err(broken()) }
}

#[cold]
fn broken() -> Error {
    corruption("compressed bytes of a page")
}
