//! A file system whose files are cached.

use super::{
    BlockCache, FileKey,
    file::CachedFile,
    listings::{self, KeptEntries, Listings, RecordedEntries},
    validation::{Answering, Ask, DeferredFile, Question, Validations, Validity},
    writer::CachedWriter,
};
use crate::{
    Capabilities, EntryKind, EntryStream, FileEntry, FileSystem, FileVersion, FileWriter,
    ListScope, Pending, RandomAccessFile, WriteMode, WriteOutcome, ready,
};
use bytes::Bytes;
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use volley_error::{ErrorKind, Result};

/// A file that was opened to see whether it exists is opened without a request within this time.
const PROBED_MAX: Duration = Duration::from_secs(2);

/// Files whose validation is remembered, for `BlockCache::set_validation_interval`.
const VALIDATED_MAX: usize = 100_000;

/// A file system; blocks of its files are kept in a cache.
#[derive(Clone, Debug)]
pub struct CachedFileSystem {
    inner: Arc<dyn FileSystem>,
    cache: BlockCache,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Files that were opened by [`FileSystem::entry`], for the opening that follows.
    probed: Mutex<HashMap<String, Probed>>,
    /// The versions that the file system told last, and when it was asked.
    validated: Mutex<HashMap<Arc<str>, (FileVersion, Instant)>>,
    listings: Arc<Listings>,
    /// Files that the cache knows, and that were written since.
    written: Mutex<HashSet<String>>,
}

#[derive(Debug)]
struct Probed {
    opened_at: Instant,
    file: Arc<dyn RandomAccessFile>,
}

impl Shared {
    fn probed(&self) -> MutexGuard<'_, HashMap<String, Probed>> {
        let mut probed = self.probed.lock().unwrap_or_else(PoisonError::into_inner);
        probed.retain(|_, it| it.opened_at.elapsed() < PROBED_MAX);
        probed
    }

    fn validated(&self) -> MutexGuard<'_, HashMap<Arc<str>, (FileVersion, Instant)>> {
        self.validated.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_validated(&self, location: &Arc<str>, version: &FileVersion, asked_at: Instant) {
        let mut validated = self.validated();
        if validated.len() >= VALIDATED_MAX {
            validated.clear();
        }
        validated.insert(Arc::clone(location), (version.clone(), asked_at));
    }

    fn written(&self) -> MutexGuard<'_, HashSet<String>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CachedFileSystem {
    /// The files of `inner`.
    pub fn new(inner: Arc<dyn FileSystem>, cache: &BlockCache) -> CachedFileSystem {
        CachedFileSystem { inner, cache: cache.clone(), shared: Arc::default() }
    }

    /// Drops what is known of a file that is written or removed.
    fn forget(&self, location: &str) {
        self.shared.probed().remove(location);
        self.shared.validated().remove(location);
        self.shared.listings.forget(location);
        if self.cache.known(location).is_some() {
            self.shared.written().insert(location.to_owned());
        }
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
        asked_at: Instant,
    ) -> Arc<dyn RandomAccessFile> {
        let Some(version) = inner.version() else { return inner };
        let key = FileKey { location: Arc::from(location), version };
        self.cache.opened(&key, inner.size_bytes());
        self.shared.note_validated(&key.location, &key.version, asked_at);
        self.shared.written().remove(location);
        Arc::new(CachedFile { inner, cache: self.cache.clone(), key })
    }

    /// A file that the cache knows, without waiting for the file system: it was asked a moment
    /// ago, or is asked meanwhile, for the statement that this thread begins.
    fn open_known(&self, location: &str) -> Option<Arc<dyn RandomAccessFile>> {
        let statement = Validations::current();
        let known = self.cache.known(location)?;
        if self.shared.written().contains(location) {
            return None;
        }
        let is_validated = self.is_validated(location, &known.version)
            || statement.as_ref().is_some_and(|it| it.has_listed(location, &known.version));
        if !is_validated && statement.is_none() {
            return None;
        }
        let location: Arc<str> = Arc::from(location);
        let limits = self.inner.capabilities().transfer;
        let deferred = DeferredFile::new(&location, known.clone(), limits, self.ask());
        let key = FileKey { location: Arc::clone(&location), version: known.version };
        let inner: Arc<dyn RandomAccessFile> = Arc::clone(&deferred) as _;
        let file: Arc<dyn RandomAccessFile> =
            Arc::new(CachedFile { inner, cache: self.cache.clone(), key });
        if !is_validated {
            deferred.ask();
        }
        if let Some(statement) = statement {
            statement.keep_file(&location, &file);
            if !is_validated {
                statement.add(&deferred.question);
            }
        }
        Some(file)
    }

    fn is_validated(&self, location: &str, version: &FileVersion) -> bool {
        let interval = self.cache.validation_interval();
        let validated = self.shared.validated();
        let last = validated.get(location).filter(|it| it.0 == *version);
        last.is_some_and(|it| it.1.elapsed() < interval)
    }

    /// How a file that the cache knows is opened later.
    fn ask(&self) -> Ask {
        let this = self.clone();
        Box::new(move |file| {
            let this = this.clone();
            let answering = Answering(Arc::clone(&file.question));
            let asked_at = Instant::now();
            let opening = this.inner.reopen(&file.location, &file.known);
            let runtime = this.cache.0.runtime.clone();
            runtime.spawn_detached(async move {
                this.opened(&file, opening.await, asked_at, &answering);
            })
        })
    }

    /// Notes what the file system answered for a file that the cache knows.
    fn opened(
        &self,
        file: &DeferredFile,
        opened: Result<Arc<dyn RandomAccessFile>>,
        asked_at: Instant,
        answering: &Answering,
    ) {
        match opened {
            Ok(inner) if inner.version().as_ref() == Some(&file.known.version) => {
                self.shared.note_validated(&file.location, &file.known.version, asked_at);
                let _: std::result::Result<(), _> = file.file.set(inner);
                answering.0.answer(Validity::Unchanged);
            }
            Ok(inner) => {
                // The statement that begins anew opens this one.
                let opened = self.cached(&file.location, inner, asked_at);
                let probed = Probed { opened_at: Instant::now(), file: opened };
                self.shared.probed().insert(file.location.to_string(), probed);
            }
            Err(_) => {
                self.shared.validated().remove(&file.location);
            }
        }
    }

    /// The entry of a file that is known: it is opened, since that most likely comes next.
    async fn known_entry(
        &self,
        location: String,
        opening: Pending<Arc<dyn RandomAccessFile>>,
        asked_at: Instant,
    ) -> Result<Option<FileEntry>> {
        match opening.await {
            Ok(inner) => {
                let file = self.cached(&location, inner, asked_at);
                let entry = file_entry(&location, &*file);
                let probed = Probed { opened_at: Instant::now(), file };
                self.shared.probed().insert(location, probed);
                Ok(Some(entry))
            }
            // It may be a folder now.
            Err(error) if error.kind() == ErrorKind::Io => self.inner.entry(&location).await,
            Err(error) => Err(error),
        }
    }
}

fn file_entry(location: &str, file: &dyn RandomAccessFile) -> FileEntry {
    FileEntry {
        location: location.to_owned(),
        kind: EntryKind::File,
        size_bytes: Some(file.size_bytes()),
        version: file.version(),
    }
}

/// A file that the statement which this thread begins has opened before: it sees one version, even
/// if the answer that there is another one arrives meanwhile.
fn of_statement(location: &str) -> Option<Arc<dyn RandomAccessFile>> {
    Validations::current()?.file(location)
}

impl FileSystem for CachedFileSystem {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn entry(&self, location: &str) -> Pending<Option<FileEntry>> {
        if let Some(file) = of_statement(location) {
            return ready(Ok(Some(file_entry(location, &*file))));
        }
        if let Some(probed) = self.shared.probed().get(location) {
            return ready(Ok(Some(file_entry(location, &*probed.file))));
        }
        if let Some(file) = self.open_known(location) {
            return ready(Ok(Some(file_entry(location, &*file))));
        }
        let Some(known) = self.cache.known(location) else { return self.inner.entry(location) };
        let asked_at = Instant::now();
        let opening = self.inner.reopen(location, &known);
        let (this, location) = (self.clone(), location.to_owned());
        Box::pin(async move { this.known_entry(location, opening, asked_at).await })
    }

    fn list(&self, folder: &str, scope: ListScope) -> Box<dyn EntryStream> {
        let listings = &self.shared.listings;
        let statement = Validations::current();
        if let Some(kept) = listings.get(folder, scope) {
            if kept.is_younger(self.cache.validation_interval()) {
                return Box::new(KeptEntries::new(kept));
            }
            if let Some(statement) = statement {
                let question = Arc::new(Question::default());
                let answering = Answering(Arc::clone(&question));
                let (inner, listings) = (Arc::clone(&self.inner), Arc::clone(listings));
                let what = (folder.to_owned(), scope);
                let asking = listings::ask_again(inner, listings, what, kept.clone(), answering);
                if self.cache.0.runtime.spawn_detached(asking).is_ok() {
                    statement.add(&question);
                    return Box::new(KeptEntries::new(kept));
                }
            }
        }
        let entries = self.inner.list(folder, scope);
        Box::new(RecordedEntries::new(entries, listings, folder, scope))
    }

    fn open(&self, location: &str) -> Pending<Arc<dyn RandomAccessFile>> {
        if let Some(file) = of_statement(location) {
            return ready(Ok(file));
        }
        if let Some(probed) = self.shared.probed().remove(location) {
            return ready(Ok(probed.file));
        }
        if let Some(file) = self.open_known(location) {
            return ready(Ok(file));
        }
        let asked_at = Instant::now();
        let opening = self.open_inner(location);
        let (this, location) = (self.clone(), location.to_owned());
        Box::pin(async move { Ok(this.cached(&location, opening.await?, asked_at)) })
    }

    fn create(&self, location: &str, mode: WriteMode) -> Pending<Box<dyn FileWriter>> {
        self.forget(location);
        let creating = self.inner.create(location, mode);
        self.written(location, creating)
    }

    fn write(&self, location: &str, bytes: Bytes, mode: WriteMode) -> Pending<WriteOutcome> {
        let writing = self.inner.write(location, bytes, mode);
        self.forgetting(location, writing)
    }

    fn append(&self, location: &str) -> Pending<Box<dyn FileWriter>> {
        self.forget(location);
        let appending = self.inner.append(location);
        self.written(location, appending)
    }

    fn create_folder(&self, location: &str) -> Pending<()> {
        let making = self.inner.create_folder(location);
        self.forgetting(location, making)
    }

    fn remove(&self, location: &str) -> Pending<()> {
        let removing = self.inner.remove(location);
        self.forgetting(location, removing)
    }
}

impl CachedFileSystem {
    /// A writer after whose end nothing is known of the file.
    fn written(
        &self,
        location: &str,
        writer: Pending<Box<dyn FileWriter>>,
    ) -> Pending<Box<dyn FileWriter>> {
        let (this, location) = (self.clone(), location.to_owned());
        let forget = move || this.forget(&location);
        Box::pin(async move {
            let writer = CachedWriter { inner: writer.await?, forget: Arc::new(forget) };
            Ok(Box::new(writer) as Box<dyn FileWriter>)
        })
    }

    /// An operation before and after which nothing is known of a file.
    fn forgetting<T: Send + 'static>(&self, location: &str, operation: Pending<T>) -> Pending<T> {
        self.forget(location);
        let (this, location) = (self.clone(), location.to_owned());
        Box::pin(async move {
            let result = operation.await;
            this.forget(&location);
            result
        })
    }
}
