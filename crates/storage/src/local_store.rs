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
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};
use volley_error::{Error, Result};
use volley_io::RandomAccessFile;

/// The file whose lock keeps other writers out.
const LOCK: &str = "LOCK";

/// The file that every database has.
const CURRENT: &str = "CURRENT";

/// What the folder of a database may have before it has [`CURRENT`].
const OWN_NAMES: [&str; 5] = ["CURRENT.tmp", LOCK, "manifest", "log", "data"];

/// What names of files that are being written end with. They are garbage after a crash.
const UNFINISHED: &str = ".tmp";

/// A folder that this process alone writes to, or that it only reads.
#[derive(Debug)]
pub struct LocalStore {
    folder: PathBuf,
    /// One put at a time, so that what it expects holds until it has written.
    puts: Mutex<()>,
    /// `None` of a store that is only read.
    lock: Option<File>,
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
        let lock =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path);
        let mut lock = lock.map_err(|it| not_writable(&path, it))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(&folder, lock)),
            Err(TryLockError::Error(error)) => return Err(io_error(&path, error)),
        }
        // For the message that a second writer gets; a full disk does not matter here.
        let _ = lock.set_len(0);
        let _ = writeln!(lock, "{}", std::process::id());
        Ok(LocalStore { folder, puts: Mutex::new(()), lock: Some(lock) })
    }

    /// Refuses to make a database among files of another kind.
    ///
    /// # Errors
    ///
    /// Invalid query: `folder` is not that of a database and has other files.
    pub fn check_new(folder: &Path) -> Result<()> {
        let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
        let names: Vec<_> = entries.flatten().map(|it| it.file_name()).collect();
        let is_new = !names.iter().any(|it| it == CURRENT);
        let other = names.iter().find(|it| !OWN_NAMES.iter().any(|own| *it == own));
        let Some(other) = other.filter(|_| is_new) else { return Ok(()) };
        let message = "the folder is not a database and has other files, such as";
        let error = Error::invalid_query(format!("{message} {}", other.display()));
        Err(error.hint("a database needs a folder of its own: name another one"))
    }

    /// The store in `folder` for reading. It takes no lock, creates nothing, and refuses to write.
    ///
    /// # Errors
    ///
    /// I/O: there is no such folder.
    pub fn open_read_only(folder: impl Into<PathBuf>) -> Result<LocalStore> {
        let folder = folder.into();
        match fs::metadata(&folder) {
            Ok(metadata) if metadata.is_dir() => {
                Ok(LocalStore { folder, puts: Mutex::new(()), lock: None })
            }
            Ok(_) => Err(io_error(&folder, ErrorKind::NotADirectory.into())),
            Err(error) => Err(io_error(&folder, error)),
        }
    }

    fn check_writable(&self) -> Result<()> {
        if self.lock.is_some() {
            return Ok(());
        }
        let error = Error::new(volley_error::ErrorKind::Io, "the folder was opened for reading");
        Err(error.at("folder", self.folder.display()))
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
        self.check_writable()?;
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
        self.check_writable()?;
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
        self.check_writable()?;
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

/// The error of a second writer.
#[cold]
fn in_use(folder: &Path, mut lock: File) -> Error {
    let mut holder = String::new();
    let holder = match lock.read_to_string(&mut holder) {
        Ok(_) => holder.trim().parse::<u32>().ok(),
        Err(_) => None,
    };
    let by = match holder {
        Some(process) if process == std::process::id() => "this process".to_owned(),
        Some(process) => format!("process {process}"),
        None => "another process".to_owned(),
    };
    let message = format!("the database is open for writing already, in {by}");
    let error = Error::new(volley_error::ErrorKind::Io, message).at("folder", folder.display());
    error.hint("close it there, or ATTACH it with READ_ONLY")
}

/// The error of a folder in which no file can be created.
#[cold]
fn not_writable(path: &Path, error: io::Error) -> Error {
    let is_refused = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem];
    let is_refused = is_refused.contains(&error.kind());
    let error = io_error(path, error);
    if is_refused {
        error.hint("ATTACH with READ_ONLY reads a database without writing")
    } else {
        error
    }
}

#[cold]
fn io_error(path: &Path, error: io::Error) -> Error {
    let hint = match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Some("free space on the disk: what was committed before is safe")
        }
        _ => None,
    };
    let error = Error::io(path.display(), error);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}
