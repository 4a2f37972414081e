//! Blocks of remote files, kept in memory and on a local disk.
//!
//! ```text
//! open ── known file? ──> FileSystem::reopen: one request, without data if the version is the same
//! read ── memory ── disk ── the file: what is missing is read with one request, and kept in both
//! ```
//!
//! A block is a range of bytes of one version of a file; blocks of one file do not overlap in
//! memory. A file whose version is not known is not cached. The version is asked for each time a
//! file is opened, so that a statement reads the bytes of one version, and what one version has
//! does not change: blocks need no other validation. A statement may begin while it is asked for
//! ([`Validations`]), and an interval may be set within which it is not asked for again.
//!
//! Memory is that of a pool, which releases it before any query has to ([`Reclaimable`]); blocks
//! are replaced by the clock algorithm, in which a block that was read again gets a second chance.
//! Disk blocks are in `disk.rs`. Reads of the same bytes at the same time share one request, and
//! so do a read and the [`RandomAccessFile::will_read`] before it.

mod blocks;
mod disk;
mod file;
mod file_system;
mod listings;
mod loads;
mod memory;
mod record;
mod validation;
mod writer;

pub use file_system::CachedFileSystem;
pub use validation::{Validations, Validity};

use crate::{BufferPool, FileVersion, IoRuntime};
use bytes::Bytes;
use disk::DiskTier;
use loads::Loads;
use memory::MemoryTier;
use std::{
    collections::BTreeMap,
    fmt,
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use volley_error::Result;
use volley_memory::{Pool, Reclaimable};

/// A cache of blocks. Clones are the same.
#[derive(Clone)]
pub struct BlockCache(Arc<Shared>);

struct Shared {
    runtime: IoRuntime,
    memory: Mutex<MemoryTier>,
    disk: RwLock<Option<Arc<DiskTier>>>,
    loads: Loads,
    counts: Counts,
    /// Bytes of reads ahead that are under way.
    ahead_bytes: AtomicU64,
    /// Memory of reads from the disk and of reads ahead, which no reader has buffers for.
    buffers: BufferPool,
    disk_bytes_max: AtomicU64,
    validation_interval: Mutex<Duration>,
}

/// How many bytes the files of a [`BlockCache`] on disk may have unless that is set.
pub const CACHE_DISK_BYTES_DEFAULT: u64 = 16 << 30;

/// One version of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct FileKey {
    location: Arc<str>,
    version: FileVersion,
}

/// A file as it was when it was opened last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFile {
    /// What tells its contents from others.
    pub version: FileVersion,
    /// Its size.
    pub size_bytes: u64,
}

/// What the cache has of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedFileStats {
    /// Where the file is.
    pub location: String,
    /// The version that the blocks are of.
    pub version: String,
    /// Bytes in memory.
    pub memory_bytes: u64,
    /// Bytes on disk; most are in memory, too.
    pub disk_bytes: u64,
}

/// Where the bytes of reads came from, since the cache exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Bytes from memory.
    pub memory_bytes: u64,
    /// Bytes from the disk.
    pub disk_bytes: u64,
    /// Bytes that the cache had not.
    pub missed_bytes: u64,
}

#[derive(Default)]
struct Counts {
    memory_bytes: AtomicU64,
    disk_bytes: AtomicU64,
    missed_bytes: AtomicU64,
}

/// At most this many bytes of buffers are kept for later reads. Blocks on disk have up to 8 MiB,
/// and some are read at the same time.
const BUFFER_BYTES_MAX: usize = 32 << 20;

impl BlockCache {
    /// A cache without memory and disk so far: it keeps nothing.
    pub fn new(runtime: IoRuntime) -> BlockCache {
        BlockCache(Arc::new(Shared {
            runtime,
            memory: Mutex::default(),
            disk: RwLock::default(),
            loads: Loads::default(),
            counts: Counts::default(),
            ahead_bytes: AtomicU64::new(0),
            buffers: BufferPool::keeping(BUFFER_BYTES_MAX),
            disk_bytes_max: AtomicU64::new(CACHE_DISK_BYTES_DEFAULT),
            validation_interval: Mutex::default(),
        }))
    }

    /// Takes memory below `pool`, up to `bytes`; the pool takes it back when it has none left.
    pub fn use_memory(&self, pool: &Pool, bytes: u64) {
        let this = Arc::clone(&self.0) as Arc<dyn Reclaimable>;
        self.memory().reserve_in(pool.reclaimable_child("block cache", &this), bytes);
    }

    /// Changes how many bytes of memory it may take; 0 turns memory off.
    pub fn set_memory_bytes(&self, bytes: u64) {
        self.memory().set_limit(bytes);
    }

    /// How many bytes of memory it may take.
    pub fn memory_bytes_max(&self) -> u64 {
        self.memory().limit_bytes()
    }

    /// Changes how many bytes files on disk may have, 16 GiB at first.
    pub fn set_disk_bytes(&self, bytes: u64) {
        self.0.disk_bytes_max.store(bytes, Ordering::Relaxed);
        if let Some(disk) = self.disk() {
            disk.set_limit(bytes);
        }
    }

    /// How many bytes files on disk may have.
    pub fn disk_bytes_max(&self) -> u64 {
        self.0.disk_bytes_max.load(Ordering::Relaxed)
    }

    /// Changes how long a file that the cache knows, and a list of a folder, are taken to be as the
    /// file system last said; 0, the default, asks for each statement. What this process writes is
    /// always seen. A file that another process replaced within the interval is read as it was as
    /// far as the cache has it; a read of other bytes is an error.
    pub fn set_validation_interval(&self, interval: Duration) {
        *self.0.validation_interval.lock().unwrap_or_else(PoisonError::into_inner) = interval;
    }

    /// How long the file system's last answers are taken to be true.
    pub fn validation_interval(&self) -> Duration {
        *self.0.validation_interval.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The folder that blocks are kept in.
    pub fn directory(&self) -> Option<PathBuf> {
        self.disk().map(|it| it.folder().to_path_buf())
    }

    /// Keeps blocks in a folder, too, which is made if it does not exist; `None` stops that. What
    /// the folder has from earlier is used.
    ///
    /// # Errors
    ///
    /// I/O; invalid value: another process uses the folder.
    pub fn set_directory(&self, directory: Option<&Path>) -> Result<()> {
        // The lock of the old one ends first: it may be of the same folder.
        self.wait_written();
        *self.0.disk.write().unwrap_or_else(PoisonError::into_inner) = None;
        let Some(directory) = directory else { return Ok(()) };
        let opened = DiskTier::open(directory, self.disk_bytes_max())?;
        *self.0.disk.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(opened));
        Ok(())
    }

    /// What it has, by location.
    pub fn files(&self) -> Vec<CachedFileStats> {
        let mut files: BTreeMap<FileKey, (u64, u64)> = BTreeMap::new();
        for (key, bytes) in self.memory().sizes() {
            files.entry(key).or_default().0 += bytes;
        }
        for (key, bytes) in self.disk().iter().flat_map(|it| it.sizes()) {
            files.entry(key).or_default().1 += bytes;
        }
        let stats = |(key, (memory_bytes, disk_bytes)): (FileKey, (u64, u64))| CachedFileStats {
            location: key.location.to_string(),
            version: key.version.to_string(),
            memory_bytes,
            disk_bytes,
        };
        files.into_iter().map(stats).collect()
    }

    /// Where bytes came from.
    pub fn counts(&self) -> CacheCounts {
        let counts = &self.0.counts;
        CacheCounts {
            memory_bytes: counts.memory_bytes.load(Ordering::Relaxed),
            disk_bytes: counts.disk_bytes.load(Ordering::Relaxed),
            missed_bytes: counts.missed_bytes.load(Ordering::Relaxed),
        }
    }

    /// Waits until blocks are on disk that were read so far.
    pub fn wait_written(&self) {
        if let Some(disk) = self.disk() {
            disk.wait_written();
        }
    }

    fn memory(&self) -> MutexGuard<'_, MemoryTier> {
        self.0.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn disk(&self) -> Option<Arc<DiskTier>> {
        self.0.disk.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The version of a file that blocks are of, if there are any.
    fn known(&self, location: &str) -> Option<KnownFile> {
        let in_memory = self.memory().known(location);
        in_memory.or_else(|| self.disk()?.known(location))
    }

    /// Notes the current version of a file; blocks of others are of no use any more.
    fn opened(&self, key: &FileKey, size_bytes: u64) {
        self.memory().opened(key, size_bytes);
        if let Some(disk) = self.disk() {
            disk.opened(key, size_bytes);
        }
    }

    /// Keeps bytes from `start` on.
    fn keep(&self, key: &FileKey, start: u64, bytes: &Bytes) {
        self.memory().insert(key, start, bytes);
        if let Some(disk) = self.disk() {
            disk.write_later(key, start, bytes, &self.0.runtime);
        }
    }

    /// Whether a read of a range would send no request.
    fn has(&self, key: &FileKey, range: &Range<u64>) -> bool {
        self.memory().has(key, range) || self.disk().is_some_and(|it| it.has(key, range))
    }
}

impl Reclaimable for Shared {
    fn reclaim(&self, bytes: usize) -> usize {
        // A thread that holds the lock may be the one that asks: it reserves memory for a block.
        match self.memory.try_lock() {
            Ok(mut memory) => memory.release(bytes as u64) as usize,
            Err(_) => 0,
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BlockCache")
    }
}

impl fmt::Debug for BlockCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
