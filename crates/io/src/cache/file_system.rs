//! A file system whose files are cached.

use super::{BlockCache, FileKey, file::CachedFile};
use crate::{
    Capabilities, EntryKind, EntryStream, FileEntry, FileSystem, FileWriter, ListScope, Pending,
    RandomAccessFile, WriteMode, WriteOutcome, ready,
};
use bytes::Bytes;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use volley_error::{ErrorKind, Result};

/// A file that was opened to see whether it exists is opened without a request within this time.
const PROBED_MAX: Duration = Duration::from_secs(2);

/// A file system; blocks of its files are kept in a cache.
#[derive(Clone, Debug)]
pub struct CachedFileSystem {
    inner: Arc<dyn FileSystem>,
    cache: BlockCache,
    /// Files that were opened by [`FileSystem::entry`], for the opening that follows.
    probed: Arc<Mutex<HashMap<String, Probed>>>,
}

#[derive(Debug)]
struct Probed {
    opened_at: Instant,
    file: Arc<dyn RandomAccessFile>,
}

impl CachedFileSystem {
    /// The files of `inner`.
    pub fn new(inner: Arc<dyn FileSystem>, cache: &BlockCache) -> CachedFileSystem {
        CachedFileSystem { inner, cache: cache.clone(), probed: Arc::default() }
    }

    fn probed(&self) -> MutexGuard<'_, HashMap<String, Probed>> {
        let mut probed = self.probed.lock().unwrap_or_else(PoisonError::into_inner);
        probed.retain(|_, it| it.opened_at.elapsed() < PROBED_MAX);
        probed
    }

    /// Begins to open a file, with what is known of it.
    fn open_inner(&self, location: &str) -> Pending<Arc<dyn RandomAccessFile>> {
        match self.cache.known(location) {
            Some(known) => self.inner.reopen(location, &known),
            None => self.inner.open(location),
        }
    }

    /// The file with its blocks in the cache; as it is without a version.
    fn cached(
        &self,
        location: &str,
        inner: Arc<dyn RandomAccessFile>,
    ) -> Arc<dyn RandomAccessFile> {
        let Some(version) = inner.version() else { return inner };
        let key = FileKey { location: Arc::from(location), version };
        self.cache.opened(&key, inner.size_bytes());
        Arc::new(CachedFile { inner, cache: self.cache.clone(), key })
    }

    /// The entry of a file that is known: it is opened, since that most likely comes next.
    async fn known_entry(
        &self,
        location: String,
        opening: Pending<Arc<dyn RandomAccessFile>>,
    ) -> Result<Option<FileEntry>> {
        match opening.await {
            Ok(inner) => {
                let file = self.cached(&location, inner);
                let size_bytes = Some(file.size_bytes());
                let probed = Probed { opened_at: Instant::now(), file };
                self.probed().insert(location.clone(), probed);
                Ok(Some(FileEntry { location, kind: EntryKind::File, size_bytes }))
            }
            // It may be a folder now.
            Err(error) if error.kind() == ErrorKind::Io => self.inner.entry(&location).await,
            Err(error) => Err(error),
        }
    }
}

impl FileSystem for CachedFileSystem {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn entry(&self, location: &str) -> Pending<Option<FileEntry>> {
        if let Some(probed) = self.probed().get(location) {
            let size_bytes = Some(probed.file.size_bytes());
            let location = location.to_owned();
            return ready(Ok(Some(FileEntry { location, kind: EntryKind::File, size_bytes })));
        }
        let Some(known) = self.cache.known(location) else { return self.inner.entry(location) };
        let opening = self.inner.reopen(location, &known);
        let (this, location) = (self.clone(), location.to_owned());
        Box::pin(async move { this.known_entry(location, opening).await })
    }

    fn list(&self, folder: &str, scope: ListScope) -> Box<dyn EntryStream> {
        self.inner.list(folder, scope)
    }

    fn open(&self, location: &str) -> Pending<Arc<dyn RandomAccessFile>> {
        if let Some(probed) = self.probed().remove(location) {
            return ready(Ok(probed.file));
        }
        let opening = self.open_inner(location);
        let (this, location) = (self.clone(), location.to_owned());
        Box::pin(async move { Ok(this.cached(&location, opening.await?)) })
    }

    fn create(&self, location: &str, mode: WriteMode) -> Pending<Box<dyn FileWriter>> {
        self.probed().remove(location);
        self.inner.create(location, mode)
    }

    fn write(&self, location: &str, bytes: Bytes, mode: WriteMode) -> Pending<WriteOutcome> {
        self.probed().remove(location);
        self.inner.write(location, bytes, mode)
    }

    fn append(&self, location: &str) -> Pending<Box<dyn FileWriter>> {
        self.probed().remove(location);
        self.inner.append(location)
    }

    fn create_folder(&self, location: &str) -> Pending<()> {
        self.inner.create_folder(location)
    }

    fn remove(&self, location: &str) -> Pending<()> {
        self.probed().remove(location);
        self.inner.remove(location)
    }
}
