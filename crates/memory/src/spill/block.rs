//! One block as bytes: header, checksum, compression.

use std::ops::Range;
use twox_hash::XxHash3_64;
use volley_error::{Error, Result};

/// The largest block, before compression.
pub const BLOCK_BYTES_MAX: usize = 1 << 30;

/// The header of a block.
pub(super) const HEADER_BYTES: usize = 16;

/// The maximum expansion of one byte of LZ4.
const RATIO_MAX: usize = 255;

/// A header, read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    /// Bytes of the block.
    pub(super) bytes: usize,
    /// Bytes as they are stored.
    pub(super) stored_bytes: usize,
    /// The two lengths as stored in the file.
    lengths: u64,
    checksum: u64,
}

impl Header {
    /// The header in the first bytes of `header`; `left` bytes of the file follow it.
    pub(super) fn read(header: [u8; HEADER_BYTES], left: u64) -> Result<Header> {
        let word = |range: Range<usize>| {
            header[range].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
        };
        let (bytes, stored_bytes) = (word(0..4) as usize, word(4..8) as usize);
        let fits = stored_bytes as u64 <= left
            && bytes <= BLOCK_BYTES_MAX
            && (stored_bytes..=stored_bytes.saturating_mul(RATIO_MAX)).contains(&bytes);
        if !fits {
            return Err(corruption("lengths that cannot be"));
        }
        Ok(Header { bytes, stored_bytes, lengths: word(0..8), checksum: word(8..16) })
    }

    /// Verifies the stored bytes and decompresses them to `block`.
    pub(super) fn unpack(&self, stored: &[u8], block: &mut Vec<u8>) -> Result<()> {
        if XxHash3_64::oneshot_with_seed(self.lengths, stored) != self.checksum {
            return Err(corruption("a checksum that differs"));
        }
        if self.stored_bytes == self.bytes {
            block.clear();
            block.extend_from_slice(stored);
            return Ok(());
        }
        block.resize(self.bytes, 0);
        match lz4_flex::block::decompress_into(stored, block) {
            Ok(bytes) if bytes == self.bytes => Ok(()),
            _ => Err(corruption("bytes that are no LZ4")),
        }
    }
}

/// Makes `packed` the header and the bytes of `block`.
pub(super) fn pack(block: &[u8], packed: &mut Vec<u8>) -> Result<()> {
    if block.len() > BLOCK_BYTES_MAX {
        let error = Error::unsupported(format!("spilling {} bytes at once", block.len()));
        return Err(error.hint("raise memory_limit so that rows as large as these stay in memory"));
    }
    packed.resize(HEADER_BYTES + lz4_flex::block::get_maximum_output_size(block.len()), 0);
    let compressed = lz4_flex::block::compress_into(block, &mut packed[HEADER_BYTES..]);
    // At least a sixteenth, or reading it again costs more than the disk.
    let pays = |bytes: &usize| *bytes < block.len() - block.len() / 16;
    let stored_bytes = match compressed.ok().filter(pays) {
        Some(bytes) => bytes,
        None => {
            packed[HEADER_BYTES..HEADER_BYTES + block.len()].copy_from_slice(block);
            block.len()
        }
    };
    packed.truncate(HEADER_BYTES + stored_bytes);
    let lengths = block.len() as u64 | (stored_bytes as u64) << 32;
    let checksum = XxHash3_64::oneshot_with_seed(lengths, &packed[HEADER_BYTES..]);
    packed[..8].copy_from_slice(&lengths.to_le_bytes());
    packed[8..HEADER_BYTES].copy_from_slice(&checksum.to_le_bytes());
    Ok(())
}

/// The error of bytes that are not those that were written.
pub(super) fn corruption(what: &str) -> Error {
    Error::corruption(format!("damaged spill file: {what}"))
        .hint("the disk lost data; SET spill_directory = '...' to another one and try again")
}
