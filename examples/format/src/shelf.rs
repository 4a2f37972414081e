//! A file system: the files below one folder, as `shelf://name`.

use bytes::Bytes;
use std::{
    path::Path,
    sync::Arc,
    task::{Context, Poll},
};
use volley::{
    Error, Result,
    io::{
        Capabilities, EntryStream, FileEntry, FileSystem, FileWriter, IoRuntime, ListScope,
        LocalFileSystem, Pending, RandomAccessFile, WriteMode, WriteOutcome, ready,
    },
};

const SCHEME: &str = "shelf://";

/// The file system, for `SessionBuilder::add_file_system`. Locations never leave its folder.
#[derive(Debug)]
pub struct Shelf {
    files: LocalFileSystem,
    folder: String,
}

impl Shelf {
    /// The files below `folder`, read by the threads of an engine.
    pub fn new(folder: &Path, runtime: &IoRuntime) -> Shelf {
        let folder = folder.to_string_lossy().into_owned();
        Shelf { files: LocalFileSystem::new(runtime.clone()), folder }
    }

    /// The path of a location.
    fn path(&self, location: &str) -> Result<String> {
        let name = location.strip_prefix(SCHEME).unwrap_or(location);
        if name.split('/').any(|it| it == "..") {
            return Err(Error::invalid_query(format!("a location leaves the shelf: {location}")));
        }
        Ok(format!("{}/{name}", self.folder))
    }

    /// Runs an operation on the path of a location.
    fn with_path<T: Send + 'static>(
        &self,
        location: &str,
        operation: impl FnOnce(&str) -> Pending<T>,
    ) -> Pending<T> {
        match self.path(location) {
            Ok(path) => operation(&path),
            Err(error) => ready(Err(error)),
        }
    }
}

/// The location of an entry below a folder.
fn located(mut entry: FileEntry, folder: &str) -> FileEntry {
    let name = entry.location.strip_prefix(folder).unwrap_or(&entry.location);
    entry.location = format!("{SCHEME}{}", name.trim_start_matches('/'));
    entry
}

impl FileSystem for Shelf {
    fn capabilities(&self) -> Capabilities {
        self.files.capabilities()
    }

    fn entry(&self, location: &str) -> Pending<Option<FileEntry>> {
        let (location, folder) = (location.to_owned(), self.folder.clone());
        let found = self.with_path(&location, |path| self.files.entry(path));
        Box::pin(async move { Ok(found.await?.map(|it| located(it, &folder))) })
    }

    fn list(&self, folder: &str, scope: ListScope) -> Box<dyn EntryStream> {
        let entries = self.path(folder).map(|it| self.files.list(&it, scope));
        Box::new(ShelfEntries { entries: Some(entries), folder: self.folder.clone() })
    }

    fn open(&self, location: &str) -> Pending<Arc<dyn RandomAccessFile>> {
        self.with_path(location, |path| self.files.open(path))
    }

    fn create(&self, location: &str, mode: WriteMode) -> Pending<Box<dyn FileWriter>> {
        self.with_path(location, |path| {
            // Folders come with the files in them.
            if let Some(folder) = Path::new(path).parent()
                && let Err(error) = std::fs::create_dir_all(folder)
            {
                return ready(Err(Error::io(path, error)));
            }
            self.files.create(path, mode)
        })
    }

    fn write(&self, location: &str, bytes: Bytes, mode: WriteMode) -> Pending<WriteOutcome> {
        self.with_path(location, |path| self.files.write(path, bytes, mode))
    }

    fn remove(&self, location: &str) -> Pending<()> {
        self.with_path(location, |path| self.files.remove(path))
    }
}

struct ShelfEntries {
    /// Taken by an error.
    entries: Option<Result<Box<dyn EntryStream>>>,
    folder: String,
}

impl EntryStream for ShelfEntries {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<FileEntry>>> {
        match self.entries.take() {
            Some(Ok(mut entries)) => {
                let next = entries.poll_next(cx);
                self.entries = Some(Ok(entries));
                next.map(|it| Ok(it?.map(|it| located(it, &self.folder))))
            }
            Some(Err(error)) => Poll::Ready(Err(error)),
            None => Poll::Ready(Ok(None)),
        }
    }
}
