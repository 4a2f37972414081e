//! Files and ranged reads.
//!
//! ```text
//! list_files(path, glob or folder) ──> paths ── open_file ──> RandomAccessFile
//! RangeReads::start(file, ranges)  ──> coalesced reads ── poll(waker) ──> one Bytes per range
//! ```
//!
//! Read [`RandomAccessFile`] and [`RangeReads`] first. Nobody outside this crate blocks on a file
//! that may be slow: whoever needs bytes starts reads and polls them. This crate does not know
//! formats.

mod buffers;
mod file;
mod list;
mod output;
mod reads;

pub use buffers::{BufferPool, PooledBuffer};
pub use file::{LocalFile, RandomAccessFile, open_file};
pub use list::list_files;
pub use output::OutputFile;
pub use reads::RangeReads;
