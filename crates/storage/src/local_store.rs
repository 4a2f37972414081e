//! A folder of the local file system as a store.
//!
//! A whole file is written to another name, synced, renamed, and the folder is synced. A lock on
//! the file `LOCK` keeps other processes out for as long as the store exists; the system releases
//! it when the process ends in any way.

#[cfg(test)]
mod tests;

use crate::{Abilities, AppendFile, Expected, Listed, Name, Put, Store, WriteKind};
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Write},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};
use volley_error::{Error, Result};
use volley_io::RandomAccessFile;

/// The file whose lock keeps other writers out.
const LOCK: &str = "LOCK";

/// What names of files that are being written end with. They are garbage after a crash.
const UNFINISHED: &str = ".tmp";

/// A folder that this process alone writes to.
#[derive(Debug)]
pub struct LocalStore {
    folder: PathBuf,
    /// One put at a time, so that what it expects holds until it has written.
    puts: Mutex<()>,
    _lock: File,
}

impl LocalStore {
    /// The store in `folder`, which is created if it does not exist.
    ///
    /// # Errors
    ///
    /// I/O: the folder cannot be created or written to, another process has it open for writing.
    pub fn open(folder: impl Into<PathBuf>) -> Result<LocalStore> {
        let folder = folder.into();
        create_folder(&folder)?;
        let path = folder.join(LOCK);
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(|it| io_error(&path, it))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message =
                    "the database is open for writing already, in this process or another one";
                let error = Error::new(volley_error::ErrorKind::Io, message);
                let error = error.at("folder", folder.display());
                return Err(error.hint("close it there, or open it READ_ONLY"));
            }
            Err(TryLockError::Error(error)) => return Err(io_error(&path, error)),
        }
        Ok(LocalStore { folder, puts: Mutex::new(()), _lock: lock })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, name: &Name) -> PathBuf {
        if name.as_str().is_empty() { self.folder.clone() } else { self.folder.join(name.as_str()) }
    }

    /// The path of a file whose folder exists.
    fn path_in_folder(&self, name: &Name) -> Result<PathBuf> {
        let path = self.path(name);
        let folder = path.parent().unwrap_or(&self.folder);
        create_folder(folder)?;
        Ok(path)
    }

    fn holds(&self, path: &Path, expected: Expected<'_>) -> Result<bool> {
        let current = || match fs::read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error(path, error)),
        };
        Ok(match expected {
            Expected::Any => true,
            Expected::Nothing => current()?.is_none(),
            Expected::Bytes(bytes) => current()?.is_some_and(|it| it == bytes),
        })
    }

    fn list_folder(&self, folder: &Path, prefix: &Name, found: &mut Vec<Listed>) -> Result<()> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(io_error(folder, error)),
        };
        for entry in entries {
            let entry = entry.map_err(|it| io_error(folder, it))?;
            // A file that is not of a database's, such as one of a file manager.
            let Ok(name) = prefix.join(&entry.file_name().to_string_lossy()) else { continue };
            let metadata = entry.metadata().map_err(|it| io_error(folder, it))?;
            if metadata.is_dir() {
                self.list_folder(&entry.path(), &name, found)?;
            } else {
                found.push(Listed { name, bytes: metadata.len() });
            }
        }
        Ok(())
    }
}

impl Store for LocalStore {
    fn create(&self, name: &Name) -> Result<Box<dyn AppendFile>> {
        let path = self.path_in_folder(name)?;
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = file.map_err(|it| io_error(&path, it))?;
        Ok(Box::new(LocalAppend { path, file, len: 0 }))
    }

    fn open(&self, name: &Name) -> Result<Arc<dyn RandomAccessFile>> {
        let path = self.path(name);
        let open = || {
            let file = File::open(&path)?;
            let bytes = file.metadata()?.len();
            Ok((file, bytes))
        };
        let (file, bytes) = open().map_err(|it: io::Error| io_error(&path, it))?;
        let path = path.display().to_string();
        Ok(Arc::new(LocalRead { path, file, bytes }))
    }

    fn put(&self, name: &Name, bytes: &[u8], expected: Expected<'_>) -> Result<Put> {
        let _turn = self.puts.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.path_in_folder(name)?;
        if !self.holds(&path, expected)? {
            return Ok(Put::Refused);
        }
        let unfinished = self.path(&Name::new(format!("{name}{UNFINISHED}"))?);
        let write = || {
            let mut file = File::create(&unfinished)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&unfinished, &path)
        };
        write().map_err(|it| io_error(&path, it))?;
        sync_folder(path.parent().unwrap_or(&self.folder))?;
        Ok(Put::Written)
    }

    fn list(&self, folder: &Name) -> Result<Vec<Listed>> {
        let mut found = Vec::new();
        self.list_folder(&self.path(folder), folder, &mut found)?;
        found.sort();
        Ok(found)
    }

    fn remove(&self, name: &Name) -> Result<()> {
        let path = self.path(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(io_error(&path, error)),
            _ => Ok(()),
        }
    }

    fn sync_names(&self, folder: &Name) -> Result<()> {
        sync_folder(&self.path(folder))
    }

    fn abilities(&self) -> Abilities {
        Abilities { writes: WriteKind::AppendOnce, sector_bytes: 0 }
    }
}

/// A file that is being written.
#[derive(Debug)]
struct LocalAppend {
    path: PathBuf,
    file: File,
    len: u64,
}

impl AppendFile for LocalAppend {
    fn append(&mut self, bytes: &[u8]) -> Result<usize> {
        loop {
            match self.file.write(bytes) {
                Ok(0) if !bytes.is_empty() => {
                    return Err(io_error(&self.path, ErrorKind::WriteZero.into()));
                }
                Ok(count) => {
                    self.len += count as u64;
                    return Ok(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(io_error(&self.path, error)),
            }
        }
    }

    fn sync(&mut self) -> Result<()> {
        self.file.sync_data().map_err(|it| io_error(&self.path, it))
    }

    fn len(&self) -> u64 {
        self.len
    }
}

/// A file that was opened for reading.
#[derive(Debug)]
struct LocalRead {
    path: String,
    file: File,
    bytes: u64,
}

impl RandomAccessFile for LocalRead {
    fn path(&self) -> &str {
        &self.path
    }

    fn size_bytes(&self) -> u64 {
        self.bytes
    }

    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
        self.check_range(&(start..start.saturating_add(out.len() as u64)))?;
        self.file.read_exact_at(out, start).map_err(|it| Error::io(&self.path, it))
    }
}

/// Creates a folder and those that it is in; their names are durable.
fn create_folder(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = folder.parent().filter(|it| !it.as_os_str().is_empty());
    parent.map_or(Ok(()), create_folder)?;
    match fs::create_dir(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(io_error(folder, error));
        }
        _ => {}
    }
    sync_folder(parent.unwrap_or(Path::new(".")))
}

fn sync_folder(folder: &Path) -> Result<()> {
    let sync = || File::open(folder)?.sync_all();
    sync().map_err(|it| io_error(folder, it))
}

#[cold]
fn io_error(path: &Path, error: io::Error) -> Error {
    Error::io(path.display(), error)
}
