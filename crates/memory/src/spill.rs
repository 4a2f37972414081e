//! Blocks on disk, for data that does not fit in memory.
//!
//! ```text
//! SpillSpace ── where, how much at most, how much now        one per session
//!   └─ folder   <directory>/volley-spill-<pid>-<random>/lock made with the first file
//!        └─ SpillFile ── append(block) ... reader().next(&mut block)
//!
//! block  bytes 0..4   length
//!              4..8   length as stored; the same: not compressed
//!              8..16  XXH3-64 of the stored bytes, seeded with bytes 0..8
//!              16..   the block, as LZ4 if that pays
//! ```
//!
//! Read [`SpillSpace`] and [`SpillFile`] first. A file is unlinked as soon as it is open, so that
//! it disappears with its process, however that ends. Its bytes count in the space until its last
//! reference is dropped; then it is truncated and used again. A lock in the folder is held while
//! the folder is in use. A space that creates its folder removes folders without a held lock, which
//! crashes have left. Numbers are little-endian. No data is used before its checksum is verified.
//!
//! Blocks are compressed and read in buffers that the space keeps ([`SpillSpace::buffer`]), one per
//! thread that processes a block at the same time. This module does not know the contents of
//! blocks.

mod block;
mod faults;
mod file;
mod folder;
mod space;
#[cfg(test)]
mod tests;

pub use block::BLOCK_BYTES_MAX;
pub use faults::Fault;
pub use file::{SpillFile, SpillFileReader};
pub use space::{SpillBuffer, SpillSpace, SpillStats};
