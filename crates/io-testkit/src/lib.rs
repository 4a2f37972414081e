//! Checks of file systems, and file systems for tests.
//!
//! ```text
//! conformance::file_system(file system, folder)   panics where the contract is broken
//! MemoryFileSystem    files in memory, whose reads are asynchronous and in small parts
//! FaultyFileSystem    another one, whose operations fail where a test says so
//! ```
//!
//! Read [`conformance`] first: a new file system is checked by one call. This crate is for tests
//! only: no other crate depends on it outside its tests.

#![expect(clippy::panic, reason = "a failed check panics")]

pub mod conformance;
mod faulty;
mod memory;

pub use faulty::{FaultyFileSystem, FileFaults};
pub use memory::MemoryFileSystem;
