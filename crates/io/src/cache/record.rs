//! One block in a region file.
//!
//! ```text
//!  0  u32  0x31424356 ("VCB1")
//!  4  u32  bytes of the location
//!  8  u32  bytes of the version
//! 12  u32  bytes of the block
//! 16  u64  start of the block in the file
//! 24  u64  size of the file
//! 32  u64  XXH3 of the block
//! 40  u64  XXH3 of bytes 0 to 40, location and version
//! 48       location, version, block
//! ```
//!
//! Numbers are little-endian. A region file is a sequence of records; what follows the last whole
//! one was not written completely, and is not read.

use super::{FileKey, KnownFile};
use crate::FileVersion;
use std::sync::Arc;
use twox_hash::XxHash3_64;

const MAGIC: u32 = u32::from_le_bytes(*b"VCB1");

/// The bytes before the location.
pub(super) const HEADER_BYTES: usize = 48;

/// Where the checksum of the header is.
const CHECKSUM_AT: usize = 40;

/// A location or version is at most this long in a record that is read: others are damaged.
const TEXT_BYTES_MAX: u32 = 16 << 10;

/// What a record says of its block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub key: FileKey,
    pub size_bytes: u64,
    pub start: u64,
    pub len: u32,
    pub checksum: u64,
}

/// The lengths that the first bytes of a record tell.
pub(super) struct RecordLengths {
    /// Of location and version.
    pub text: usize,
}

impl Record {
    /// The record of a block; `None` if it is too long for one.
    pub fn new(key: &FileKey, size_bytes: u64, start: u64, block: &[u8]) -> Option<Record> {
        let is_short = |it: &str| it.len() <= TEXT_BYTES_MAX as usize;
        if !is_short(&key.location) || !is_short(key.version.as_str()) {
            return None;
        }
        let len = u32::try_from(block.len()).ok()?;
        Some(Record { key: key.clone(), size_bytes, start, len, checksum: checksum(block) })
    }

    /// What is written before the block.
    pub fn head(&self) -> Vec<u8> {
        let (location, version) = (self.key.location.as_bytes(), self.key.version.as_str());
        let mut head = Vec::with_capacity(HEADER_BYTES + location.len() + version.len());
        for number in [MAGIC, location.len() as u32, version.len() as u32, self.len] {
            head.extend_from_slice(&number.to_le_bytes());
        }
        for number in [self.start, self.size_bytes, self.checksum, 0] {
            head.extend_from_slice(&number.to_le_bytes());
        }
        head.extend_from_slice(location);
        head.extend_from_slice(version.as_bytes());
        let checksum = head_checksum(&head).to_le_bytes();
        if let Some(place) = head.get_mut(CHECKSUM_AT..HEADER_BYTES) {
            place.copy_from_slice(&checksum);
        }
        head
    }

    /// The lengths of a record that begins with these bytes; `None` if it does not begin as one.
    pub fn lengths(header: &[u8; HEADER_BYTES]) -> Option<RecordLengths> {
        let [location, version] = [4, 8].map(|at| u32_at(header, at));
        let (location, version) = (location?, version?);
        let is_valid =
            u32_at(header, 0)? == MAGIC && location <= TEXT_BYTES_MAX && version <= TEXT_BYTES_MAX;
        is_valid.then_some(RecordLengths { text: (location + version) as usize })
    }

    /// What the bytes before a block say; `None` if they are damaged.
    pub fn parse(head: &[u8]) -> Option<Record> {
        if u64_at(head, CHECKSUM_AT)? != head_checksum(head) {
            return None;
        }
        let location_len = u32_at(head, 4)? as usize;
        let text = str::from_utf8(head.get(HEADER_BYTES..)?).ok()?;
        let (location, version) = text.split_at_checked(location_len)?;
        Some(Record {
            key: FileKey { location: Arc::from(location), version: FileVersion::new(version) },
            size_bytes: u64_at(head, 24)?,
            start: u64_at(head, 16)?,
            len: u32_at(head, 12)?,
            checksum: u64_at(head, 32)?,
        })
    }

    /// The file that the block is of.
    pub fn known(&self) -> KnownFile {
        KnownFile { version: self.key.version.clone(), size_bytes: self.size_bytes }
    }
}

/// The checksum of a block.
pub(super) fn checksum(block: &[u8]) -> u64 {
    XxHash3_64::oneshot(block)
}

/// That of all bytes before a block but its own.
fn head_checksum(head: &[u8]) -> u64 {
    let fields = head.get(..CHECKSUM_AT).unwrap_or_default();
    let text = head.get(HEADER_BYTES..).unwrap_or_default();
    XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(fields), text)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_back_and_damage_is_noticed() {
        let version = FileVersion::new("\"tag\"");
        let key = FileKey { location: Arc::from("s3://bucket/ä.parquet"), version };
        let record = Record::new(&key, 1000, 7, b"block").unwrap();
        let head = record.head();
        let header: &[u8; HEADER_BYTES] = head[..HEADER_BYTES].try_into().unwrap();
        assert_eq!(Record::lengths(header).unwrap().text, head.len() - HEADER_BYTES);
        assert_eq!(Record::parse(&head).as_ref(), Some(&record));
        for at in 0..head.len() {
            let mut damaged = head.clone();
            damaged[at] ^= 1;
            assert_eq!(Record::parse(&damaged), None, "byte {at}");
            assert_eq!(Record::parse(&head[..at]), None, "{at} bytes");
        }
        let long = FileKey { location: "x".repeat(20_000).into(), ..key };
        assert_eq!(Record::new(&long, 1, 0, b""), None);
    }
}
