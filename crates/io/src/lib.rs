//! Files and ranged reads.
//!
//! ```text
//! list_files(path, glob or folder) ──> paths ── open_file ──> RandomAccessFile
//! RangeReads::start(file, ranges)  ──> coalesced reads ── poll(waker) ──> one Bytes per range
//! ```
//!
//! Read [`RandomAccessFile`] and [`RangeReads`] first. Whoever needs bytes that are not at hand, in
//! the operating system's page cache, starts reads and polls them. (What leaves the page cache in
//! between is waited for.) This crate does not know formats.

mod buffers;
mod faults;
mod file;
mod list;
mod output;
mod reads;

pub use buffers::{BufferPool, PooledBuffer};
pub use faults::ReadFaults;
pub use file::{LocalFile, RandomAccessFile, open_file};
pub use list::list_files;
pub use output::OutputFile;
pub use reads::RangeReads;
