//! What the engine asks of a file system.

use crate::{KnownFile, Pending, RandomAccessFile, ready};
use bytes::Bytes;
use std::{
    fmt,
    io::Write,
    sync::Arc,
    task::{Context, Poll},
};
use volley_error::{Error, Result};

/// Where files are: a disk, an object store.
///
/// A location is a text as users write it: `data/a.csv`, `s3://bucket/a.csv`. A file system gets
/// locations whole, with their scheme, since one file system may serve several schemes. Folders
/// have no slash at the end. Operations begin at once, not with the first poll of their result;
/// dropping a result cancels what is left of the operation.
///
/// The function `file_system` of the crate `volley-io-testkit` checks an implementation.
pub trait FileSystem: Send + Sync + fmt::Debug {
    /// What it can do, and how it is read and written best.
    fn capabilities(&self) -> Capabilities;

    /// What is at a location; `None` without anything. Where folders exist by their files alone, a
    /// folder is there when a file is in it.
    fn entry(&self, location: &str) -> Pending<Option<FileEntry>>;

    /// Lists a folder, in any order. A folder that does not exist is an error, or has no entries
    /// where folders exist by their files alone.
    fn list(&self, folder: &str, scope: ListScope) -> Box<dyn EntryStream>;

    /// Opens a file for reading. The error of a missing file has the kind I/O.
    fn open(&self, location: &str) -> Pending<Arc<dyn RandomAccessFile>>;

    /// As [`FileSystem::open`], of a file that was opened before. If it is still the known one, the
    /// answer needs no bytes of it.
    fn reopen(&self, location: &str, _known: &KnownFile) -> Pending<Arc<dyn RandomAccessFile>> {
        self.open(location)
    }

    /// Begins a file that appears whole when it is committed, and not at all if it is dropped.
    fn create(&self, location: &str, mode: WriteMode) -> Pending<Box<dyn FileWriter>>;

    /// Writes a whole file at once. The file is durable when the result is there: after a crash it
    /// has the new bytes.
    fn write(&self, location: &str, bytes: Bytes, mode: WriteMode) -> Pending<WriteOutcome>;

    /// Begins to add to the end of a file, which is created if it does not exist. Bytes that were
    /// added stay, whether or not the writer is committed.
    fn append(&self, location: &str) -> Pending<Box<dyn FileWriter>> {
        ready(Err(Error::unsupported("adding to files is unsupported here").at("file", location)))
    }

    /// Makes a folder and those above it, where folders exist apart from the files in them.
    /// Nothing happens if it exists.
    fn create_folder(&self, _location: &str) -> Pending<()> {
        ready(Ok(()))
    }

    /// Removes a file. Nothing happens if there is none.
    fn remove(&self, location: &str) -> Pending<()>;
}

/// Which entries of a folder a list has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListScope {
    /// The files and folders in it.
    Children,
    /// The files in it and in folders below, apart from hidden ones: those with a name, or below a
    /// folder with a name, that begins with a dot or an underscore.
    VisibleTree,
    /// The files in it and in folders below.
    Tree,
}

/// Entries as they arrive.
pub trait EntryStream: Send {
    /// The next entry; `None` at the end.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<FileEntry>>>;
}

/// A file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Where it is.
    pub location: String,
    /// What it is.
    pub kind: EntryKind,
    /// The size of a file, if the file system tells it without another request.
    pub size_bytes: Option<u64>,
    /// The version of a file, if the file system tells it without another request: that which
    /// [`RandomAccessFile::version`] has when the file is opened.
    pub version: Option<FileVersion>,
}

/// What is at a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// Bytes.
    File,
    /// Files.
    Folder,
    /// Another name of a file or folder. [`FileSystem::entry`] follows it, and does not answer it.
    Link,
}

impl FileEntry {
    /// The last part of the location.
    pub fn name(&self) -> &str {
        self.location.rsplit_once('/').map_or(self.location.as_str(), |it| it.1)
    }
}

/// What a file system can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Files can be listed.
    pub can_list: bool,
    /// Files can be written and removed.
    pub can_write: bool,
    /// [`WriteMode::CreateNew`] is atomic: of several writers, one succeeds.
    pub can_create_new: bool,
    /// [`FileSystem::append`] works.
    pub can_append: bool,
    /// Folders exist apart from the files in them. Otherwise they are parts of the names of files,
    /// and a tree is listed as fast as a folder.
    pub has_folders: bool,
    /// How reads and writes are cut.
    pub transfer: TransferLimits,
}

/// How a file system is read and written best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferLimits {
    /// Ranges with at most this many bytes between them are read together: the bytes in between
    /// cost less than another request.
    pub range_gap_bytes: u64,
    /// Reads are not joined beyond this size, so that they arrive and are released apart.
    pub joined_read_bytes: u64,
    /// A longer read is cut into parts that are requested at the same time.
    pub part_bytes: u64,
    /// Requests that the file system runs at the same time; it queues those beyond.
    pub requests_in_flight: usize,
}

/// What happens to a file that exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// The new one replaces it.
    Replace,
    /// It stays (HTTP's if-none-match).
    CreateNew,
}

/// How a write ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The file has the new bytes.
    Written(FileVersion),
    /// Nothing was written: there is a file, and the mode is [`WriteMode::CreateNew`].
    AlreadyExists,
}

impl WriteOutcome {
    /// The version of the new file.
    ///
    /// # Errors
    ///
    /// I/O, when there was one at `location` already.
    pub fn written(self, location: &str) -> Result<FileVersion> {
        match self {
            WriteOutcome::Written(version) => Ok(version),
            WriteOutcome::AlreadyExists => {
                Err(Error::io(location, std::io::ErrorKind::AlreadyExists.into()))
            }
        }
    }
}

/// Tells the contents of a file at one time from those at another: an entity tag, or what the
/// system knows of the last change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileVersion(Arc<str>);

impl FileVersion {
    /// A version with this text.
    pub fn new(text: &str) -> FileVersion {
        FileVersion(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FileVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A file that is being written. Dropping it aborts it.
///
/// [`Write::write`] may keep bytes, and may wait for a local device. It never waits for a remote
/// store: a caller that writes more than one part asks [`FileWriter::poll_ready`] before each.
pub trait FileWriter: Write + Send {
    /// Where the file will be.
    fn location(&self) -> &str;

    /// Ready when a part's bytes can be taken without keeping more in memory than the parts in
    /// flight.
    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Makes the bytes written so far durable; of a file that is not committed yet, the commit is
    /// durable, too.
    fn sync(&mut self) -> Pending<()>;

    /// Completes the file, which appears whole.
    fn commit(self: Box<Self>) -> Pending<WriteOutcome>;

    /// Removes what was written, and tells if that fails.
    fn abort(self: Box<Self>) -> Pending<()>;
}
