//! Blocks: bytes with a checksum and an identity, in chunk files.
//!
//! ```text
//!  0  "VBLK"
//!  4  u8   major version: 1
//!  5  u8   minor version: 0
//!  6  u8   kind: 1 column, 2 zones, 3 run, 4 description of a table
//!  7  u8   cipher: 0 none
//!  8  u32  bytes of the payload
//! 12  u32  0
//! 16  u64  table
//! 24  u32  column; 2^32 - 1 of other kinds
//! 28  u32  segment
//! 32  u32  number among the blocks of the column
//! 36  u32  first row
//! 40  u32  rows
//! 44  u32  file
//! 48  u64  offset of the header in the file
//! 56  u64  XXH3-64 of bytes 0 to 55 and the payload, with the database's salt as seed
//! 64  payload
//! ```
//!
//! A block that was written to another place, or that another block's read returns, has another
//! identity than the one that was asked for.

use std::hash::Hasher;
use twox_hash::XxHash3_64;
use volley_error::{Error, Result};

/// Bytes before the payload.
pub(crate) const HEADER_BYTES: usize = 64;

/// The largest payload.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 1 << 31;

pub(crate) const MAGIC: [u8; 4] = *b"VBLK";
const VERSION_MAJOR: u8 = 1;
const VERSION_MINOR: u8 = 0;

/// The column of blocks that have none.
pub(crate) const NO_COLUMN: u32 = u32::MAX;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Column = 1,
    Zones = 2,
    Run = 3,
    Table = 4,
}

/// Which block it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockIdentity {
    pub(crate) kind: BlockKind,
    pub(crate) table: u64,
    pub(crate) column: u32,
    pub(crate) segment: u32,
    pub(crate) number: u32,
    pub(crate) first_row: u32,
    pub(crate) rows: u32,
}

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockAddress {
    pub(crate) file: u32,
    pub(crate) offset: u64,
    /// Bytes of the payload.
    pub(crate) bytes: u32,
}

/// The header of a block.
pub(crate) fn header(
    identity: &BlockIdentity,
    address: &BlockAddress,
    payload: &[u8],
    salt: u64,
) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        if let Some(to) = header.get_mut(at..at + bytes.len()) {
            to.copy_from_slice(bytes);
        }
        at += bytes.len();
    };
    put(&MAGIC);
    put(&[VERSION_MAJOR, VERSION_MINOR, identity.kind as u8, 0]);
    put(&address.bytes.to_le_bytes());
    put(&0u32.to_le_bytes());
    put(&identity.table.to_le_bytes());
    for number in [
        identity.column,
        identity.segment,
        identity.number,
        identity.first_row,
        identity.rows,
        address.file,
    ] {
        put(&number.to_le_bytes());
    }
    put(&address.offset.to_le_bytes());
    let (fields, sum) = header.split_at_mut(HEADER_BYTES - 8);
    sum.copy_from_slice(&checksum(fields, payload, salt).to_le_bytes());
    header
}

/// Checks that `bytes`, a header and a payload, are the block that is meant to be there.
///
/// # Errors
///
/// Corruption: other bytes, or another block; unsupported: a newer format.
pub(crate) fn check(
    bytes: &[u8],
    identity: &BlockIdentity,
    address: &BlockAddress,
    salt: u64,
) -> Result<()> {
    let damaged = |what: &str| damaged(identity, address, what);
    let Some((header_bytes, payload)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        return Err(damaged("it ends early"));
    };
    let (fields, sum) = header_bytes.split_at(HEADER_BYTES - 8);
    if sum != checksum(fields, payload, salt).to_le_bytes() {
        return Err(damaged("its checksum is wrong"));
    }
    let [_, _, _, _, major, minor, ..] = *header_bytes;
    if header_bytes.starts_with(&MAGIC) && (major != VERSION_MAJOR || minor > VERSION_MINOR) {
        let message = format!("a block of format {major}.{minor}");
        return Err(Error::unsupported(message).hint("use a newer version of volley"));
    }
    if *header_bytes != header(identity, address, payload, salt) {
        return Err(damaged("another block is in its place"));
    }
    Ok(())
}

/// The error of a block that cannot be read.
#[cold]
pub(crate) fn damaged(identity: &BlockIdentity, address: &BlockAddress, what: &str) -> Error {
    let error = Error::corruption(format!("damaged block: {what}"));
    let error = error.at("offset", address.offset).at("table", identity.table);
    let error = error.at("segment", identity.segment);
    let error = match identity.column {
        NO_COLUMN => error,
        column => error.at("column", column),
    };
    error.hint(crate::RESTORE)
}

/// The block whose header these bytes are, by its fields alone: the payload may be damaged.
pub(crate) fn parse(header: &[u8; HEADER_BYTES]) -> Option<(BlockIdentity, BlockAddress)> {
    let [b'V', b'B', b'L', b'K', VERSION_MAJOR, _, kind, 0, ..] = *header else { return None };
    let bytes = |at: usize| header.get(at..at + 4)?.try_into().ok();
    let u32_at = |at: usize| bytes(at).map(u32::from_le_bytes);
    let u64_at = |at: usize| Some(u64::from(u32_at(at)?) | u64::from(u32_at(at + 4)?) << 32);
    let kinds = [BlockKind::Column, BlockKind::Zones, BlockKind::Run, BlockKind::Table];
    let identity = BlockIdentity {
        kind: kinds.into_iter().find(|it| *it as u8 == kind)?,
        table: u64_at(16)?,
        column: u32_at(24)?,
        segment: u32_at(28)?,
        number: u32_at(32)?,
        first_row: u32_at(36)?,
        rows: u32_at(40)?,
    };
    let address = BlockAddress { file: u32_at(44)?, offset: u64_at(48)?, bytes: u32_at(8)? };
    (u32_at(12)? == 0).then_some((identity, address))
}

fn checksum(fields: &[u8], payload: &[u8], salt: u64) -> u64 {
    let mut hasher = XxHash3_64::with_seed(salt);
    hasher.write(fields);
    hasher.write(payload);
    hasher.finish()
}
