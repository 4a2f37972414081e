//! Decompresses blocks.

use crate::corruption;
use bytes::Bytes;
use flate2::read::DeflateDecoder;
use std::io::Read;
use volley_error::{Error, Result};
use volley_memory::Reservation;

/// Decompressed bytes are reserved in steps of this size.
const STEP_BYTES: usize = 1 << 20;

/// How blocks are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    None,
    Deflate,
    Snappy,
    Zstd,
}

impl Codec {
    /// The codec that a header names.
    ///
    /// # Errors
    ///
    /// Unsupported: another codec.
    pub fn of_name(name: &[u8]) -> Result<Codec> {
        Ok(match name {
            b"null" => Codec::None,
            b"deflate" => Codec::Deflate,
            b"snappy" => Codec::Snappy,
            b"zstandard" => Codec::Zstd,
            other => {
                let name = String::from_utf8_lossy(other);
                let error =
                    Error::unsupported(format!("unsupported codec of an Avro file: {name}"));
                return Err(error.hint("files with null, deflate, snappy and zstandard are read"));
            }
        })
    }

    /// The rows of a block; `charge` is resized to their bytes, unless they are those of the file.
    ///
    /// # Errors
    ///
    /// Corruption; out of memory.
    pub fn decompress(self, bytes: &Bytes, charge: &mut Reservation) -> Result<Bytes> {
        let rows = match self {
            Codec::None => return Ok(bytes.clone()),
            Codec::Deflate => read_all(DeflateDecoder::new(&**bytes), charge),
            Codec::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(&**bytes);
                read_all(decoder.map_err(|it| refused().caused_by(it))?, charge)
            }
            Codec::Snappy => decompress_snappy(bytes, charge),
        };
        rows.map(Bytes::from)
    }
}

fn refused() -> Error {
    corruption("a compressed block")
}

fn read_all(mut from: impl Read, charge: &mut Reservation) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    loop {
        charge.resize(out.len() + STEP_BYTES)?;
        let before = out.len();
        let step = (&mut from).take(STEP_BYTES as u64).read_to_end(&mut out);
        step.map_err(|it| refused().caused_by(it))?;
        if out.len() == before {
            return Ok(out);
        }
    }
}

/// Snappy without frames; the CRC-32 of the rows follows, its highest byte first.
fn decompress_snappy(bytes: &[u8], charge: &mut Reservation) -> Result<Vec<u8>> {
    let (compressed, checksum) = bytes.split_last_chunk().ok_or_else(refused)?;
    let length = snap::raw::decompress_len(compressed).map_err(|it| refused().caused_by(it))?;
    // A copy of 64 bytes takes 3.
    if length > compressed.len().saturating_mul(64) {
        return Err(refused());
    }
    charge.resize(length)?;
    let rows = snap::raw::Decoder::new().decompress_vec(compressed);
    let rows = rows.map_err(|it| refused().caused_by(it))?;
    match crc32fast::hash(&rows) == u32::from_be_bytes(*checksum) {
        true => Ok(rows),
        false => Err(corruption("the checksum of a block")),
    }
}
