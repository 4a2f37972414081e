//! Decompresses pages.
//!
//! No output exceeds the size in the page's header, which is reserved. LZ4 has three framings under
//! one name:
//!
//! ```text
//! Hadoop   blocks of: size when decompressed (4 bytes, big-endian), then chunks until it is
//!          reached: size (4 bytes, big-endian), LZ4 block
//! frame    the frames of the LZ4 command line tool
//! raw      one LZ4 block
//! ```
//!
//! Large pages of ZSTD, GZIP, BROTLI and LZ4 frames are decompressed block by block, with a check
//! for cancellation between blocks.

use crate::error::corrupt;
use lz4_flex::{block::decompress_into, frame::FrameDecoder};
use parquet::basic::Compression;
use std::{fmt::Display, io::Read};
use volley_error::{Error, ErrorKind, Result};
use volley_kernels::snappy;
use volley_memory::check_cancelled;

/// How a frame begins.
const LZ4_FRAME_MAGIC: [u8; 4] = 0x184d_2204_u32.to_le_bytes();

/// Bytes of the window that the BROTLI decoder reads at once.
const BROTLI_BUFFER_BYTES: usize = 4096;

/// Bytes that are made at once: some milliseconds.
const BLOCK_BYTES: usize = 8 << 20;

/// The largest window of a frame of ZSTD that is decompressed in blocks, as a power of two: its
/// memory comes on top of the page's. Higher levels of compression alone have larger ones.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

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

    /// Decompresses `bytes`, which must make as many as `out` has; on an error `out` holds
    /// anything.
    pub fn decompress(&mut self, bytes: &[u8], out: &mut [u8]) -> Result<()> {
        if out.is_empty() {
            // A page without values; nothing needs to be stored of it.
            return Ok(());
        }
        match self.codec {
            Compression::SNAPPY => snappy::decompress(bytes, out).ok_or_else(invalid_snappy),
            Compression::ZSTD(_) => self.decompress_zstd(bytes, out),
            Compression::GZIP(_) => read_all(flate2::read::MultiGzDecoder::new(bytes), out),
            Compression::BROTLI(_) => {
                read_all(brotli::Decompressor::new(bytes, BROTLI_BUFFER_BYTES), out)
            }
            Compression::LZ4_RAW => check_len(decompress_into(bytes, out).map_err(invalid)?, out),
            Compression::LZ4 => decompress_lz4(bytes, out),
            other => Err(Error::unsupported(format!("parquet codec {other}"))),
        }
    }

    fn decompress_zstd(&mut self, bytes: &[u8], out: &mut [u8]) -> Result<()> {
        if out.len() > BLOCK_BYTES {
            match decompress_zstd_in_blocks(bytes, out) {
                // A larger window, perhaps, which takes no memory where all is made at once.
                Err(error) if error.kind() == ErrorKind::Corruption => {}
                done => return done,
            }
        }
        let zstd = match &mut self.zstd {
            Some(zstd) => zstd,
            None => self.zstd.insert(zstd::bulk::Decompressor::new().map_err(invalid)?),
        };
        check_len(zstd.decompress_to_buffer(bytes, out).map_err(invalid)?, out)
    }
}

fn decompress_zstd_in_blocks(bytes: &[u8], out: &mut [u8]) -> Result<()> {
    let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes).map_err(invalid)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).map_err(invalid)?;
    read_all(decoder, out)
}

fn check_len(found: usize, out: &[u8]) -> Result<()> {
    if found == out.len() { Ok(()) } else { Err(wrong_size()) }
}

#[cold]
fn invalid_snappy() -> Error {
    corrupt("invalid compressed page: not a Snappy block of the size in its header")
}

#[cold]
fn wrong_size() -> Error {
    corrupt("compressed page is of another size than its header says")
}

/// All of `reader`, which must be as long as `out`, in blocks.
fn read_all(mut reader: impl Read, out: &mut [u8]) -> Result<()> {
    for block in out.chunks_mut(BLOCK_BYTES) {
        check_cancelled()?;
        reader.read_exact(block).map_err(invalid)?;
    }
    if reader.read(&mut [0]).map_err(invalid)? > 0 {
        return Err(wrong_size());
    }
    Ok(())
}

#[cold]
fn invalid(error: impl Display) -> Error {
    corrupt(format!("invalid compressed page: {error}"))
}

fn decompress_lz4(bytes: &[u8], out: &mut [u8]) -> Result<()> {
    if hadoop_blocks(bytes, out).is_some() {
        return Ok(());
    }
    if bytes.starts_with(&LZ4_FRAME_MAGIC) {
        return read_all(Frames { decoder: FrameDecoder::new(bytes) }, out);
    }
    match decompress_into(bytes, out) {
        Ok(found) if found == out.len() => Ok(()),
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
    use volley_memory::{CancellationToken, with_cancellation};
    use volley_vector::random::Generator;

    fn text(len: usize) -> Vec<u8> {
        (0..len).map(|it| (it / 3 % 251) as u8).collect()
    }

    fn sized(bytes: &[u8]) -> Vec<u8> {
        [&(bytes.len() as u32).to_be_bytes(), bytes].concat()
    }

    fn decompress(codec: Compression, bytes: &[u8], len: usize) -> Result<Vec<u8>> {
        let mut out = vec![7; len];
        Decompressor::new(codec).decompress(bytes, &mut out)?;
        Ok(out)
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
    fn large_pages_are_decompressed_in_blocks_that_can_be_stopped() {
        let all = text(2 * BLOCK_BYTES + 77);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&all).unwrap();
        let small = zstd::bulk::compress(&all, 1).unwrap();
        let pages = [
            (Compression::ZSTD(Default::default()), small.clone()),
            (Compression::GZIP(Default::default()), gzip.finish().unwrap()),
        ];
        for (codec, bytes) in pages {
            check(codec, &bytes, &all);
            let stop = || decompress(codec, &bytes, all.len()).unwrap_err().kind();
            let second = CancellationToken::after_checks(1);
            assert_eq!(with_cancellation(&second, stop), ErrorKind::Cancelled);
        }
        let first = zstd::bulk::compress(&all[..BLOCK_BYTES], 1).unwrap();
        let last = zstd::bulk::compress(&all[BLOCK_BYTES..], 1).unwrap();
        check(Compression::ZSTD(Default::default()), &[first, last].concat(), &all);
    }

    #[test]
    fn large_windows_of_zstd_are_no_error() {
        let all = text(2 * BLOCK_BYTES + 77);
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
        encoder.window_log(27).unwrap();
        encoder.write_all(&all).unwrap();
        let bytes = encoder.finish().unwrap();
        let mut out = vec![0; all.len()];
        assert!(decompress_zstd_in_blocks(&bytes, &mut out).is_err());
        check(Compression::ZSTD(Default::default()), &bytes, &all);
    }

    #[test]
    fn blocks_are_as_long_as_they_say() {
        let all = text(1000);
        check(Compression::SNAPPY, &snap::raw::Encoder::new().compress_vec(&all).unwrap(), &all);
        check(Compression::LZ4_RAW, &compress(&all), &all);
    }

    #[test]
    fn snappy_blocks_are_read_as_by_the_library() {
        let mut random = Generator::new(5);
        let words: [&[u8]; 4] = [b"the ", b"of ", b"ab", b"x"];
        for round in 0..2000 {
            // Numbers of a few bytes, text of a few words, and anything.
            let len = 10 + random.below(1000);
            let mut page = Vec::new();
            while page.len() < len {
                match round % 3 {
                    0 => page.extend((random.below(1 << 20) as u64).to_le_bytes()),
                    1 => page.extend_from_slice(random.choose::<&[u8]>(&words)),
                    _ => page.push(random.below(256) as u8),
                }
            }
            let mut block = snap::raw::Encoder::new().compress_vec(&page).unwrap();
            check(Compression::SNAPPY, &block, &page);
            for _ in 0..=random.below(3) {
                let place = random.below(block.len());
                block[place] = random.below(256) as u8;
            }
            let mut expected = vec![0; page.len()];
            let library = snap::raw::Decoder::new().decompress(&block, &mut expected);
            let found = decompress(Compression::SNAPPY, &block, page.len());
            match library.ok().filter(|it| *it == page.len()) {
                Some(_) => assert!(found.unwrap() == expected),
                None => assert!(found.is_err()),
            }
        }
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
