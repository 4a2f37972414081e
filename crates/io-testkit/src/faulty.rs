//! A file system whose operations fail.

use bytes::Bytes;
use std::{
    io::{self, Write},
    ops::Range,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};
use volley_error::{Error, Result};
use volley_io::{
    BufferPool, Capabilities, EntryStream, FileEntry, FileSystem, FileVersion, FileWriter,
    ListScope, Pending, RandomAccessFile, TransferLimits, WriteMode, WriteOutcome, ready,
};

/// Makes operations of file systems fail. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct FileFaults(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    operations: AtomicU64,
    armed: Mutex<Option<(u64, io::ErrorKind)>>,
}

impl FileFaults {
    /// Makes the operation number `operation` fail, counted as [`FileFaults::operations`] does.
    pub fn inject(&self, operation: u64, kind: io::ErrorKind) {
        *self.0.armed.lock().unwrap_or_else(PoisonError::into_inner) = Some((operation, kind));
    }

    /// Operations so far, of all file systems and files with these faults: requests for an entry,
    /// steps of lists, opens, reads, beginnings of files, writes, syncs, commits, new folders,
    /// removals.
    pub fn operations(&self) -> u64 {
        self.0.operations.load(Ordering::Relaxed)
    }

    /// Counts an operation, and fails if it has to.
    fn check(&self, location: &str) -> Result<()> {
        self.next().map_or(Ok(()), |kind| Err(Error::io(location, kind.into())))
    }

    /// Counts an operation; how it fails, if it has to.
    fn next(&self) -> Option<io::ErrorKind> {
        let operation = self.0.operations.fetch_add(1, Ordering::Relaxed);
        let mut armed = self.0.armed.lock().unwrap_or_else(PoisonError::into_inner);
        armed.take_if(|it| it.0 == operation).map(|it| it.1)
    }
}

/// A file system whose operations can be made to fail.
#[derive(Debug)]
pub struct FaultyFileSystem {
    inner: Arc<dyn FileSystem>,
    faults: FileFaults,
}

impl FaultyFileSystem {
    /// The operations of `inner`, apart from those that `faults` makes fail.
    pub fn new(inner: Arc<dyn FileSystem>, faults: &FileFaults) -> FaultyFileSystem {
        FaultyFileSystem { inner, faults: faults.clone() }
    }
}

impl FileSystem for FaultyFileSystem {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn entry(&self, location: &str) -> Pending<Option<FileEntry>> {
        match self.faults.check(location) {
            Ok(()) => self.inner.entry(location),
            Err(error) => ready(Err(error)),
        }
    }

    fn list(&self, folder: &str, scope: ListScope) -> Box<dyn EntryStream> {
        let inner = self.inner.list(folder, scope);
        Box::new(FaultyEntries { inner, folder: folder.to_owned(), faults: self.faults.clone() })
    }

    fn open(&self, location: &str) -> Pending<Arc<dyn RandomAccessFile>> {
        if let Err(error) = self.faults.check(location) {
            return ready(Err(error));
        }
        let (opened, faults) = (self.inner.open(location), self.faults.clone());
        Box::pin(async move {
            let inner = opened.await?;
            Ok(Arc::new(FaultyFile { inner, faults }) as Arc<dyn RandomAccessFile>)
        })
    }

    fn create(&self, location: &str, mode: WriteMode) -> Pending<Box<dyn FileWriter>> {
        match self.faults.check(location) {
            Ok(()) => self.faulty(self.inner.create(location, mode)),
            Err(error) => ready(Err(error)),
        }
    }

    fn write(&self, location: &str, bytes: Bytes, mode: WriteMode) -> Pending<WriteOutcome> {
        match self.faults.check(location) {
            Ok(()) => self.inner.write(location, bytes, mode),
            Err(error) => ready(Err(error)),
        }
    }

    fn append(&self, location: &str) -> Pending<Box<dyn FileWriter>> {
        match self.faults.check(location) {
            Ok(()) => self.faulty(self.inner.append(location)),
            Err(error) => ready(Err(error)),
        }
    }

    fn create_folder(&self, location: &str) -> Pending<()> {
        match self.faults.check(location) {
            Ok(()) => self.inner.create_folder(location),
            Err(error) => ready(Err(error)),
        }
    }

    fn remove(&self, location: &str) -> Pending<()> {
        match self.faults.check(location) {
            Ok(()) => self.inner.remove(location),
            Err(error) => ready(Err(error)),
        }
    }
}

impl FaultyFileSystem {
    fn faulty(&self, created: Pending<Box<dyn FileWriter>>) -> Pending<Box<dyn FileWriter>> {
        let faults = self.faults.clone();
        Box::pin(async move {
            let inner = created.await?;
            Ok(Box::new(FaultyWriter { inner, faults }) as Box<dyn FileWriter>)
        })
    }
}

struct FaultyEntries {
    inner: Box<dyn EntryStream>,
    folder: String,
    faults: FileFaults,
}

impl EntryStream for FaultyEntries {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<FileEntry>>> {
        match self.faults.check(&self.folder) {
            Ok(()) => self.inner.poll_next(cx),
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

#[derive(Debug)]
struct FaultyFile {
    inner: Arc<dyn RandomAccessFile>,
    faults: FileFaults,
}

impl RandomAccessFile for FaultyFile {
    fn path(&self) -> &str {
        self.inner.path()
    }

    fn size_bytes(&self) -> u64 {
        self.inner.size_bytes()
    }

    fn version(&self) -> Option<FileVersion> {
        self.inner.version()
    }

    fn transfer_limits(&self) -> TransferLimits {
        self.inner.transfer_limits()
    }

    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
        self.faults.check(self.path())?;
        self.inner.read_into(start, out)
    }

    fn start_read(self: Arc<Self>, range: Range<u64>, buffers: &BufferPool) -> Pending<Bytes> {
        match self.faults.check(self.path()) {
            Ok(()) => Arc::clone(&self.inner).start_read(range, buffers),
            Err(error) => ready(Err(error)),
        }
    }

    fn is_at_hand(&self, ranges: &[Range<u64>]) -> bool {
        self.inner.is_at_hand(ranges)
    }

    fn will_read(&self, ranges: &[Range<u64>]) {
        self.inner.will_read(ranges);
    }
}

struct FaultyWriter {
    inner: Box<dyn FileWriter>,
    faults: FileFaults,
}

impl Write for FaultyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.faults.next().map_or(Ok(()), |kind| Err(io::Error::from(kind)))?;
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl FileWriter for FaultyWriter {
    fn location(&self) -> &str {
        self.inner.location()
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.inner.poll_ready(cx)
    }

    fn sync(&mut self) -> Pending<()> {
        match self.faults.check(self.inner.location()) {
            Ok(()) => self.inner.sync(),
            Err(error) => ready(Err(error)),
        }
    }

    fn commit(self: Box<Self>) -> Pending<WriteOutcome> {
        match self.faults.check(self.inner.location()) {
            Ok(()) => self.inner.commit(),
            Err(error) => ready(Err(error)),
        }
    }

    fn abort(self: Box<Self>) -> Pending<()> {
        self.inner.abort()
    }
}
