//! File systems and ranged reads.
//!
//! ```text
//! FileSystems ── scheme of a location ──> FileSystem: local files, object stores and HTTP servers
//!    │                                    (feature `cloud`), others that are added
//!    │ list(location, glob or folder) ──> locations
//!    │ open(location)   ──> RandomAccessFile
//!    └ create(location) ──> FileWriter: bytes in, commit: the file appears
//! RangeReads::start(file, ranges) ──> joined reads, many in flight
//!    └ poll(waker) ──> one Bytes per range
//! ```
//!
//! Read [`FileSystem`], [`RandomAccessFile`] and [`RangeReads`] first. A caller that needs bytes
//! that are not at hand, in the operating system's page cache, starts reads and polls them. (Bytes
//! that leave the page cache in between are waited for.) Results that arrive later are [`Pending`]:
//! standard futures. The threads that wait for I/O are those of an [`IoRuntime`], which belongs to
//! an engine and not to the process. This crate does not know formats.

mod access;
mod buffers;
mod cache;
#[cfg(feature = "cloud")]
mod cloud;
mod file;
mod file_system;
mod list;
mod local;
mod pending;
mod reads;
mod registry;
mod runtime;
mod secret;

pub use access::{AccessGate, widening};
pub use buffers::{BufferPool, PooledBuffer};
pub use cache::{
    BlockCache, CACHE_DISK_BYTES_DEFAULT, CacheCounts, CachedFileStats, CachedFileSystem,
    KnownFile, Validations, Validity,
};
#[cfg(feature = "cloud")]
pub use cloud::{CloudEnvironment, CloudFileSystem};
pub use file::RandomAccessFile;
pub use file_system::{
    Capabilities, EntryKind, EntryStream, FileEntry, FileSystem, FileVersion, FileWriter,
    ListScope, TransferLimits, WriteMode, WriteOutcome,
};
pub use list::is_hidden;
pub use local::LocalFileSystem;
pub use pending::{Pending, ready, wait, wait_polling};
pub use reads::RangeReads;
pub use registry::{FileSystems, LOCAL_SCHEME, OpenEach};
pub use runtime::{IoRuntime, check_process};
pub use secret::{OnExistingSecret, Secret, SecretKind, SecretProvider, Secrets};
