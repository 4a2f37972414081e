//! Bytes on disk, for what does not fit into memory.
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
//! Read [`SpillSpace`] and [`SpillFile`] first. A file loses its name as soon as it is open, so
//! that it goes with the process that made it, however that ends; its bytes count in the space
//! until its last holder drops it. Then it is emptied and used again. The folder's lock is held for
//! as long as the folder is in use: a space that makes its folder removes those whose lock nobody
//! holds, which a crash has left.
//! Numbers are little-endian. What is read is not trusted before its checksum is right.
//!
//! A block is compressed and read in buffers that the space keeps ([`SpillSpace::buffer`]): as many
//! as threads work on blocks at the same time. This module does not know what a block means.

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
