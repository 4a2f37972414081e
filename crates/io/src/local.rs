//! Files of the operating system.
//!
//! Locations are paths, or `file://` and an absolute path, which is taken as it is (`%20` is no
//! space). Opening, listing and writing happen on the calling thread; reads of bytes that are not
//! in the page cache run on the threads of the [`IoRuntime`].

mod file;
mod list;
mod writer;

use crate::{
    Capabilities, EntryKind, EntryStream, FileEntry, FileSystem, FileWriter, IoRuntime, ListScope,
    Pending, RandomAccessFile, TransferLimits, WriteMode, WriteOutcome, ready,
    runtime::BLOCKING_THREADS,
};
use bytes::Bytes;
use file::LocalFile;
use list::LocalEntries;
use std::{fs, io, path::Path, sync::Arc};
use volley_error::{Error, Result};
use writer::LocalWriter;

/// On solid-state disks 20 KiB in between cost less than another request. A joined read ends at
/// 32 MiB. The kernel cuts reads itself.
pub(crate) const TRANSFER_LIMITS: TransferLimits = TransferLimits {
    range_gap_bytes: 20 << 10,
    joined_read_bytes: 32 << 20,
    part_bytes: u64::MAX,
    requests_in_flight: BLOCKING_THREADS,
};

/// The files of the operating system.
#[derive(Clone, Debug, Default)]
pub struct LocalFileSystem {
    runtime: IoRuntime,
}

impl LocalFileSystem {
    /// The files, read on the threads of `runtime`.
    pub fn new(runtime: IoRuntime) -> LocalFileSystem {
        LocalFileSystem { runtime }
    }
}

impl FileSystem for LocalFileSystem {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            can_list: true,
            can_write: true,
            can_create_new: true,
            can_append: true,
            has_folders: true,
            transfer: TRANSFER_LIMITS,
        }
    }

    fn entry(&self, location: &str) -> Pending<Option<FileEntry>> {
        ready(entry(location))
    }

    fn list(&self, folder: &str, scope: ListScope) -> Box<dyn EntryStream> {
        Box::new(LocalEntries::new(folder, scope))
    }

    fn open(&self, location: &str) -> Pending<Arc<dyn RandomAccessFile>> {
        let file = LocalFile::open(location, &self.runtime);
        ready(file.map(|it| Arc::new(it) as Arc<dyn RandomAccessFile>))
    }

    fn create(&self, location: &str, mode: WriteMode) -> Pending<Box<dyn FileWriter>> {
        let writer = LocalWriter::create(location, mode);
        ready(writer.map(|it| Box::new(it) as Box<dyn FileWriter>))
    }

    fn write(&self, location: &str, bytes: Bytes, mode: WriteMode) -> Pending<WriteOutcome> {
        ready(writer::write(location, &bytes, mode))
    }

    fn append(&self, location: &str) -> Pending<Box<dyn FileWriter>> {
        let writer = LocalWriter::append(location);
        ready(writer.map(|it| Box::new(it) as Box<dyn FileWriter>))
    }

    fn create_folder(&self, location: &str) -> Pending<()> {
        let created = fs::create_dir_all(path_of(location));
        ready(created.map_err(|it| Error::io(location, it)))
    }

    fn remove(&self, location: &str) -> Pending<()> {
        ready(match fs::remove_file(path_of(location)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::io(location, error))
            }
            _ => Ok(()),
        })
    }
}

/// The path that a location means.
fn path_of(location: &str) -> &Path {
    Path::new(location.strip_prefix("file://").unwrap_or(location))
}

fn entry(location: &str) -> Result<Option<FileEntry>> {
    let metadata = match fs::metadata(path_of(location)) {
        Ok(metadata) => metadata,
        Err(error) if is_absent(error.kind()) => return Ok(None),
        Err(error) => return Err(Error::io(location, error)),
    };
    let kind = if metadata.is_dir() { EntryKind::Folder } else { EntryKind::File };
    let size_bytes = (kind == EntryKind::File).then_some(metadata.len());
    Ok(Some(FileEntry { location: location.to_owned(), kind, size_bytes, version: None }))
}

/// Whether an error means that nothing is there: a name, or a folder on the way to it, is missing,
/// or what should be a folder on the way is a file.
fn is_absent(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
