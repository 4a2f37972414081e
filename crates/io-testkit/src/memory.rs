//! A file system in memory.

use bytes::Bytes;
use std::{
    collections::BTreeMap,
    io::{self, Write},
    ops::Range,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};
use volley_error::{Error, Result};
use volley_io::{
    BufferPool, Capabilities, EntryKind, EntryStream, FileEntry, FileSystem, FileVersion,
    FileWriter, IoRuntime, ListScope, Pending, RandomAccessFile, TransferLimits, WriteMode,
    WriteOutcome, is_hidden, ready,
};

/// Small, so that short files have several parts and gaps.
const TRANSFER_LIMITS: TransferLimits = TransferLimits {
    range_gap_bytes: 100,
    joined_read_bytes: 10_000,
    part_bytes: 1000,
    requests_in_flight: 32,
};

/// Files in memory, as an object store has them: folders exist by their files alone, and reads come
/// later, from other threads. Clones share the files.
#[derive(Clone, Debug, Default)]
pub struct MemoryFileSystem(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    files: Mutex<Files>,
    runtime: IoRuntime,
}

#[derive(Debug, Default)]
struct Files {
    by_location: BTreeMap<String, Stored>,
    /// Writes so far.
    writes: u64,
}

#[derive(Clone, Debug)]
struct Stored {
    bytes: Bytes,
    version: FileVersion,
}

impl MemoryFileSystem {
    /// A file system without files, read on the threads of `runtime`.
    pub fn new(runtime: IoRuntime) -> MemoryFileSystem {
        MemoryFileSystem(Arc::new(Shared { files: Mutex::default(), runtime }))
    }

    /// The locations of all files.
    pub fn locations(&self) -> Vec<String> {
        self.lock().by_location.keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Files> {
        self.0.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, location: &str, bytes: Bytes, mode: WriteMode) -> WriteOutcome {
        let mut files = self.lock();
        if mode == WriteMode::CreateNew && files.by_location.contains_key(location) {
            return WriteOutcome::AlreadyExists;
        }
        files.writes += 1;
        let version = FileVersion::new(&files.writes.to_string());
        let stored = Stored { bytes, version: version.clone() };
        files.by_location.insert(location.to_owned(), stored);
        WriteOutcome::Written(version)
    }

    fn find(&self, location: &str) -> Option<FileEntry> {
        let files = self.lock();
        if let Some(stored) = files.by_location.get(location) {
            return Some(file_entry(location, stored));
        }
        let folder = folder_of(location);
        let (first, _) = files.by_location.range(folder.clone()..).next()?;
        let location = location.to_owned();
        let entry =
            FileEntry { location, kind: EntryKind::Folder, size_bytes: None, version: None };
        first.starts_with(&folder).then_some(entry)
    }
}

/// The folder with a slash at its end.
fn folder_of(location: &str) -> String {
    format!("{}/", location.trim_end_matches('/'))
}

fn file_entry(location: &str, stored: &Stored) -> FileEntry {
    let size_bytes = Some(stored.bytes.len() as u64);
    let version = Some(stored.version.clone());
    FileEntry { location: location.to_owned(), kind: EntryKind::File, size_bytes, version }
}

impl FileSystem for MemoryFileSystem {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            can_list: true,
            can_write: true,
            can_create_new: true,
            can_append: false,
            has_folders: false,
            transfer: TRANSFER_LIMITS,
        }
    }

    fn entry(&self, location: &str) -> Pending<Option<FileEntry>> {
        let (this, location) = (self.clone(), location.to_owned());
        self.0.runtime.spawn(async move { Ok(this.find(&location)) })
    }

    fn list(&self, folder: &str, scope: ListScope) -> Box<dyn EntryStream> {
        Box::new(MemoryEntries {
            files: self.clone(),
            folder: folder_of(folder),
            scope,
            last: None,
        })
    }

    fn open(&self, location: &str) -> Pending<Arc<dyn RandomAccessFile>> {
        let (this, location) = (self.clone(), location.to_owned());
        self.0.runtime.spawn(async move {
            let stored = this.lock().by_location.get(&location).cloned();
            let missing = || Error::io(&location, io::ErrorKind::NotFound.into());
            let stored = stored.ok_or_else(missing)?;
            let runtime = this.0.runtime.clone();
            Ok(Arc::new(MemoryFile { location, stored, runtime }) as Arc<dyn RandomAccessFile>)
        })
    }

    fn create(&self, location: &str, mode: WriteMode) -> Pending<Box<dyn FileWriter>> {
        let (files, location) = (self.clone(), location.to_owned());
        ready(Ok(Box::new(MemoryWriter { files, location, mode, bytes: Vec::new() })))
    }

    fn write(&self, location: &str, bytes: Bytes, mode: WriteMode) -> Pending<WriteOutcome> {
        ready(Ok(self.put(location, bytes, mode)))
    }

    fn remove(&self, location: &str) -> Pending<()> {
        self.lock().by_location.remove(location);
        ready(Ok(()))
    }
}

/// The files of a folder, in order of their names.
struct MemoryEntries {
    files: MemoryFileSystem,
    /// With a slash at its end.
    folder: String,
    scope: ListScope,
    last: Option<String>,
}

impl MemoryEntries {
    fn next(&mut self) -> Option<FileEntry> {
        let files = self.files.lock();
        loop {
            let after = self.last.as_ref().unwrap_or(&self.folder);
            let mut later = files.by_location.range::<String, _>(after..);
            let (location, stored) = later.find(|it| Some(it.0) != self.last.as_ref())?;
            let rest = location.strip_prefix(&self.folder)?;
            match (self.scope, rest.split_once('/')) {
                (ListScope::Children, Some((name, _))) => {
                    let location = format!("{}{name}", self.folder);
                    // Nothing in a folder comes behind this.
                    self.last = Some(format!("{location}/{}", char::MAX));
                    return Some(FileEntry {
                        location,
                        kind: EntryKind::Folder,
                        size_bytes: None,
                        version: None,
                    });
                }
                (ListScope::VisibleTree, _) if rest.split('/').any(is_hidden) => {
                    self.last = Some(location.clone());
                }
                _ => {
                    self.last = Some(location.clone());
                    return Some(file_entry(location, stored));
                }
            }
        }
    }
}

impl EntryStream for MemoryEntries {
    fn poll_next(&mut self, _cx: &mut Context<'_>) -> Poll<Result<Option<FileEntry>>> {
        Poll::Ready(Ok(self.next()))
    }
}

#[derive(Debug)]
struct MemoryFile {
    location: String,
    stored: Stored,
    runtime: IoRuntime,
}

impl RandomAccessFile for MemoryFile {
    fn path(&self) -> &str {
        &self.location
    }

    fn size_bytes(&self) -> u64 {
        self.stored.bytes.len() as u64
    }

    fn version(&self) -> Option<FileVersion> {
        Some(self.stored.version.clone())
    }

    fn transfer_limits(&self) -> TransferLimits {
        TRANSFER_LIMITS
    }

    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
        let range = start..start.saturating_add(out.len() as u64);
        let len = self.check_range(&range)?;
        let start = start as usize;
        out.copy_from_slice(&self.stored.bytes.slice(start..start + len));
        Ok(())
    }

    fn start_read(self: Arc<Self>, range: Range<u64>, _buffers: &BufferPool) -> Pending<Bytes> {
        let runtime = self.runtime.clone();
        runtime.spawn(async move { self.read(range) })
    }
}

struct MemoryWriter {
    files: MemoryFileSystem,
    location: String,
    mode: WriteMode,
    bytes: Vec<u8>,
}

impl Write for MemoryWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl FileWriter for MemoryWriter {
    fn location(&self) -> &str {
        &self.location
    }

    fn sync(&mut self) -> Pending<()> {
        ready(Ok(()))
    }

    fn commit(self: Box<Self>) -> Pending<WriteOutcome> {
        let MemoryWriter { files, location, mode, bytes } = *self;
        ready(Ok(files.put(&location, bytes.into(), mode)))
    }

    fn abort(self: Box<Self>) -> Pending<()> {
        ready(Ok(()))
    }
}
