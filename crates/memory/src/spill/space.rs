//! The spill space: the folder of spill files, and their maximum size.

use super::{Fault, SpillFile, faults::Faults, folder::Folder};
use crate::format_bytes;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    fs::File,
    io::{self, ErrorKind},
    mem,
    ops::{Deref, DerefMut},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use volley_error::{Error, Result};

/// Buffers kept for the next block: 2 MiB at most.
const BUFFERS_KEPT: usize = 16;

/// Larger buffers are not kept: a block of usual size fits.
const BUFFER_BYTES_KEPT: usize = 128 << 10;

/// Where spill files go, how much they may take, and how much they take. Cheap to clone; clones are
/// the same space.
#[derive(Clone, Debug)]
pub struct SpillSpace(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    place: Mutex<Place>,
    /// `u64::MAX` for no limit.
    bytes_max: AtomicU64,
    bytes: AtomicU64,
    bytes_peak: AtomicU64,
    bytes_written: AtomicU64,
    buffers: Mutex<Vec<Vec<u8>>>,
    faults: Faults,
}

#[derive(Debug)]
struct Place {
    directory: PathBuf,
    /// Made with the first file.
    folder: Option<Arc<Folder>>,
}

/// What a space's files take on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpillStats {
    /// Bytes of all files that there are now.
    pub bytes: u64,
    /// The maximum number of bytes at one time.
    pub bytes_peak: u64,
    /// Bytes written to all files that there ever were.
    pub bytes_written: u64,
}

/// A buffer of a space, empty at first; the space gets its memory back.
#[derive(Debug)]
pub struct SpillBuffer {
    bytes: Vec<u8>,
    space: SpillSpace,
}

impl SpillSpace {
    /// Files below `directory`, at most `bytes_max` bytes of them (`None`: no limit). Touches the
    /// disk with the first file.
    pub fn new(directory: impl Into<PathBuf>, bytes_max: Option<u64>) -> SpillSpace {
        SpillSpace(Arc::new(Shared {
            place: Mutex::new(Place { directory: directory.into(), folder: None }),
            bytes_max: AtomicU64::new(bytes_max.unwrap_or(u64::MAX)),
            bytes: AtomicU64::new(0),
            bytes_peak: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
            buffers: Mutex::default(),
            faults: Faults::default(),
        }))
    }

    /// Changes where further files go.
    pub fn set_directory(&self, directory: impl Into<PathBuf>) {
        let directory = directory.into();
        let mut place = lock(&self.0.place);
        if place.directory != directory {
            *place = Place { directory, folder: None };
        }
    }

    /// Changes the limit; what is written already stays.
    pub fn set_bytes_max(&self, bytes_max: Option<u64>) {
        self.0.bytes_max.store(bytes_max.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// What the files take.
    pub fn stats(&self) -> SpillStats {
        SpillStats {
            bytes: self.0.bytes.load(Ordering::Relaxed),
            bytes_peak: self.0.bytes_peak.load(Ordering::Relaxed),
            bytes_written: self.0.bytes_written.load(Ordering::Relaxed),
        }
    }

    /// Makes an empty file. Raises the process's limit of open files when that is reached.
    ///
    /// # Errors
    ///
    /// Whatever the file system reports.
    pub fn create_file(&self) -> Result<SpillFile> {
        let mut place = lock(&self.0.place);
        let created = self.try_create_file(&mut place);
        let (file, folder) =
            created.map_err(|it| disk_error("make a spill file", &place.directory, it))?;
        Ok(SpillFile::new(file, folder, self.clone()))
    }

    fn try_create_file(&self, place: &mut Place) -> io::Result<(Arc<File>, Arc<Folder>)> {
        if let Some(Fault::Error(kind)) = self.next_fault() {
            return Err(kind.into());
        }
        let folder = match &place.folder {
            Some(folder) => folder,
            None => place.folder.insert(Arc::new(Folder::create(&place.directory)?)),
        };
        let file = match folder.open_file() {
            Err(error) if is_too_many(&error) && raise_open_files() => folder.open_file(),
            opened => opened,
        };
        Ok((file?, Arc::clone(folder)))
    }

    /// Memory for the bytes of a block, or for encoding one. The space keeps what it gets back, up
    /// to 2 MiB; none of this is charged to a pool.
    pub fn buffer(&self) -> SpillBuffer {
        let bytes = lock(&self.0.buffers).pop().unwrap_or_default();
        SpillBuffer { bytes, space: self.clone() }
    }

    /// For tests: makes an operation on files go wrong, counted as [`SpillSpace::operations`] does.
    pub fn inject(&self, operation: u64, fault: Fault) {
        self.0.faults.arm(operation, fault);
    }

    /// Operations on files so far: each file made, each write, each read.
    pub fn operations(&self) -> u64 {
        self.0.faults.operations()
    }

    pub(super) fn next_fault(&self) -> Option<Fault> {
        self.0.faults.next()
    }

    /// Counts bytes that are about to be written.
    pub(super) fn reserve(&self, bytes: u64) -> Result<()> {
        let bytes_max = self.0.bytes_max.load(Ordering::Relaxed);
        let before = self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        let after = before.saturating_add(bytes);
        if after > bytes_max {
            self.0.bytes.fetch_sub(bytes, Ordering::Relaxed);
            return Err(limit_error(bytes, before, bytes_max));
        }
        self.0.bytes_peak.fetch_max(after, Ordering::Relaxed);
        self.0.bytes_written.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Takes back what [`SpillSpace::reserve`] counted.
    pub(super) fn give_back(&self, bytes: u64) {
        self.0.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Deref for SpillBuffer {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for SpillBuffer {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

impl Drop for SpillBuffer {
    fn drop(&mut self) {
        let mut bytes = mem::take(&mut self.bytes);
        bytes.clear();
        let mut kept = lock(&self.space.0.buffers);
        if bytes.capacity() <= BUFFER_BYTES_KEPT && kept.len() < BUFFERS_KEPT {
            kept.push(bytes);
        }
    }
}

fn limit_error(bytes: u64, held: u64, bytes_max: u64) -> Error {
    let size = |bytes| format_bytes(usize::try_from(bytes).unwrap_or(usize::MAX));
    let message = format!(
        "max_spill_size exceeded: {} more to write, {} of {} are on disk",
        size(bytes),
        size(held),
        size(bytes_max)
    );
    Error::new(volley_error::ErrorKind::Io, message)
        .hint("SET max_spill_size = '100GB' (or 'none'), or raise memory_limit to spill less")
}

/// The error of an operation that the file system refuses: `what` it was, and `place`.
pub(super) fn disk_error(what: &str, place: &Path, source: io::Error) -> Error {
    let (why, hint) = match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::WriteZero => (
            "no space left".to_owned(),
            "make room there, SET spill_directory = '...' to another disk, or raise memory_limit",
        ),
        _ if is_too_many(&source) => (
            "too many open files".to_owned(),
            "raise the limit of open files (ulimit -n), or memory_limit to spill less",
        ),
        _ => (
            source.to_string(),
            "SET spill_directory = '...' to a directory that can be written to",
        ),
    };
    let message = format!("cannot {what} in {}: {why}", place.display());
    Error::new(volley_error::ErrorKind::Io, message).hint(hint).caused_by(source)
}

fn is_too_many(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error())
}

/// Raises the process's limit of open files as far as it may go itself; whether that is further.
fn raise_open_files() -> bool {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    current != maximum && setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok()
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
