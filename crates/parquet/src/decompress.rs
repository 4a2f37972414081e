//! Decompresses pages.
//!
//! Nothing grows beyond the size that the page's header has, which was charged. LZ4 has three
//! framings that files call by one name:
//!
//! ```text
//! Hadoop   blocks of: size when decompressed (4 bytes, big-endian), then chunks until it is
//!          reached: size (4 bytes, big-endian), LZ4 block
//! frame    the frames of the LZ4 command line tool
//! raw      one LZ4 block
//! ```

use crate::error::corrupt;
use lz4_flex::{block::decompress_into, frame::FrameDecoder};
use parquet::basic::Compression;
use std::{fmt::Display, io::Read};
use volley_error::{Error, Result};

/// How a frame begins.
const LZ4_FRAME_MAGIC: [u8; 4] = 0x184d_2204_u32.to_le_bytes();

/// Bytes of the window that the BROTLI decoder reads at once.
const BROTLI_BUFFER_BYTES: usize = 4096;

/// Decompresses the pages of a column chunk.
pub(crate) struct Decompressor {
    codec: Compression,
    /// Made for the first page.
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl Decompressor {
    pub fn new(codec: Compression) -> Decompressor {
        Decompressor { codec, zstd: None }
    }

    /// `bytes` decompressed, which make `len` bytes.
    pub fn decompress(&mut self, bytes: &[u8], len: usize) -> Result<Vec<u8>> {
        if len == 0 {
            // A page without values; nothing needs to be stored of it.
            return Ok(Vec::new());
        }
        match self.codec {
            Compression::SNAPPY => {
                let mut out = vec![0; len];
                let found = snap::raw::Decoder::new().decompress(bytes, &mut out);
                check_len(found.map_err(invalid)?, out)
            }
            Compression::ZSTD(_) => {
                let zstd = match &mut self.zstd {
                    Some(zstd) => zstd,
                    None => self.zstd.insert(zstd::bulk::Decompressor::new().map_err(invalid)?),
                };
                let mut out = Vec::with_capacity(len);
                let found = zstd.decompress_to_buffer(bytes, &mut out).map_err(invalid)?;
                if found == len { Ok(out) } else { Err(wrong_size()) }
            }
            Compression::GZIP(_) => read_all(flate2::read::MultiGzDecoder::new(bytes), len),
            Compression::BROTLI(_) => {
                read_all(brotli::Decompressor::new(bytes, BROTLI_BUFFER_BYTES), len)
            }
            Compression::LZ4_RAW => {
                let mut out = vec![0; len];
                check_len(decompress_into(bytes, &mut out).map_err(invalid)?, out)
            }
            Compression::LZ4 => decompress_lz4(bytes, len),
            other => Err(Error::unsupported(format!("parquet codec {other}"))),
        }
    }
}

fn check_len(found: usize, out: Vec<u8>) -> Result<Vec<u8>> {
    if found == out.len() { Ok(out) } else { Err(wrong_size()) }
}

#[cold]
fn wrong_size() -> Error {
    corrupt("compressed page is of another size than its header says")
}

/// All of `reader`, which must be `len` bytes.
fn read_all(mut reader: impl Read, len: usize) -> Result<Vec<u8>> {
    let mut out = vec![0; len];
    reader.read_exact(&mut out).map_err(invalid)?;
    if reader.read(&mut [0]).map_err(invalid)? > 0 {
        return Err(wrong_size());
    }
    Ok(out)
}

#[cold]
fn invalid(error: impl Display) -> Error {
    corrupt(format!("invalid compressed page: {error}"))
}

fn decompress_lz4(bytes: &[u8], len: usize) -> Result<Vec<u8>> {
    let mut out = vec![0; len];
    if hadoop_blocks(bytes, &mut out).is_some() {
        return Ok(out);
    }
    if bytes.starts_with(&LZ4_FRAME_MAGIC) {
        return read_all(Frames { decoder: FrameDecoder::new(bytes) }, len);
    }
    match decompress_into(bytes, &mut out) {
        Ok(found) if found == len => Ok(out),
        _ => Err(corrupt("invalid compressed page: LZ4 in no known framing")),
    }
}

/// Fills `out` with Hadoop's blocks; `None` when `bytes` are none, or others.
fn hadoop_blocks(mut bytes: &[u8], mut out: &mut [u8]) -> Option<()> {
    while !bytes.is_empty() {
        let block = take_size(&mut bytes)?;
        let (mut open, rest) = out.split_at_mut_checked(block)?;
        while !open.is_empty() {
            let size = take_size(&mut bytes)?;
            let chunk = bytes.split_off(..size)?;
            let found = decompress_into(chunk, open).ok().filter(|it| *it > 0)?;
            open = open.split_at_mut_checked(found)?.1;
        }
        out = rest;
    }
    out.is_empty().then_some(())
}

fn take_size(bytes: &mut &[u8]) -> Option<usize> {
    let (size, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    usize::try_from(u32::from_be_bytes(*size)).ok()
}

/// Frames, one after the other: the decoder pauses after each.
struct Frames<'a> {
    decoder: FrameDecoder<&'a [u8]>,
}

impl Read for Frames<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let found = self.decoder.read(out)?;
            if found > 0 || out.is_empty() || self.decoder.get_ref().is_empty() {
                return Ok(found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lz4_flex::block::compress;
    use std::io::Write;

    fn text(len: usize) -> Vec<u8> {
        (0..len).map(|it| (it / 3 % 251) as u8).collect()
    }

    fn sized(bytes: &[u8]) -> Vec<u8> {
        [&(bytes.len() as u32).to_be_bytes(), bytes].concat()
    }

    fn decompress(codec: Compression, bytes: &[u8], len: usize) -> Result<Vec<u8>> {
        Decompressor::new(codec).decompress(bytes, len)
    }

    #[track_caller]
    fn check(codec: Compression, bytes: &[u8], expected: &[u8]) {
        assert!(decompress(codec, bytes, expected.len()).unwrap() == expected);
        assert!(decompress(codec, bytes, expected.len() + 1).is_err());
        assert!(decompress(codec, bytes, expected.len() - 1).is_err());
        assert!(decompress(codec, &bytes[..bytes.len() - 5], expected.len()).is_err());
    }

    #[test]
    fn lz4_is_read_in_every_framing() {
        let all = text(1000);
        let size = |len: u32| len.to_be_bytes().to_vec();
        check(Compression::LZ4, &compress(&all), &all);
        let one = [size(1000), sized(&compress(&all))].concat();
        check(Compression::LZ4, &one, &all);
        // The last block is the smaller one.
        let blocks =
            [size(900), sized(&compress(&all[..900])), size(100), sized(&compress(&all[900..]))];
        check(Compression::LZ4, &blocks.concat(), &all);
        let chunks =
            [size(1000), sized(&compress(&all[..10])), sized(&compress(&all[10..]))].concat();
        check(Compression::LZ4, &chunks, &all);
        let frame = |part: &[u8]| {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
            encoder.write_all(part).unwrap();
            encoder.finish().unwrap()
        };
        check(Compression::LZ4, &frame(&all), &all);
        check(Compression::LZ4, &[frame(&all[..300]), frame(&all[300..])].concat(), &all);
    }

    #[test]
    fn gzip_may_have_several_members() {
        let all = text(1000);
        let member = |part: &[u8]| {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            encoder.write_all(part).unwrap();
            encoder.finish().unwrap()
        };
        let gzip = Compression::GZIP(Default::default());
        check(gzip, &member(&all), &all);
        check(gzip, &[member(&all[..1]), member(&all[1..])].concat(), &all);
    }

    #[test]
    fn zstd_may_have_several_frames() {
        let all = text(1000);
        let frame = |part: &[u8]| zstd::bulk::compress(part, 1).unwrap();
        let zstd = Compression::ZSTD(Default::default());
        check(zstd, &frame(&all), &all);
        check(zstd, &[frame(&all[..999]), frame(&all[999..])].concat(), &all);
    }

    #[test]
    fn blocks_are_as_long_as_they_say() {
        let all = text(1000);
        check(Compression::SNAPPY, &snap::raw::Encoder::new().compress_vec(&all).unwrap(), &all);
        check(Compression::LZ4_RAW, &compress(&all), &all);
    }

    #[test]
    fn what_grows_beyond_its_header_is_an_error() {
        let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
        encoder.write_all(&vec![7; 1 << 24]).unwrap();
        let bytes = encoder.into_inner();
        assert!(bytes.len() < 1000);
        let brotli = Compression::BROTLI(Default::default());
        assert!(decompress(brotli, &bytes, 100).is_err());
        assert_eq!(decompress(brotli, &bytes, 1 << 24).unwrap().len(), 1 << 24);
    }

    #[test]
    fn pages_of_no_bytes_need_nothing() {
        for codec in [Compression::LZ4, Compression::SNAPPY, Compression::GZIP(Default::default())]
        {
            assert!(decompress(codec, &[], 0).unwrap().is_empty());
        }
    }
}
