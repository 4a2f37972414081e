//! The folder of a spill space, and those that crashes have left.

use super::space::lock;
use std::{
    collections::hash_map::RandomState,
    fs::{self, DirBuilder, DirEntry, File, OpenOptions},
    hash::BuildHasher,
    io::{Error, ErrorKind, Result},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

/// How the names of all spill folders begin.
const NAME_PREFIX: &str = "volley-spill-";

const LOCK_NAME: &str = "lock";

/// Number of names to try: each fails only if another process removes the folder meanwhile.
const ATTEMPTS: usize = 8;

/// Empty files kept for further use while others are in use: to make one and remove its name takes
/// longer than a small file's writes and reads, and the more so the more were made lately.
const FILES_KEPT: usize = 1024;

/// The same, while none is in use: they count as open files of the process.
const FILES_KEPT_IDLE: usize = 256;

/// A folder for one space, locked while it is in use. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Files that there ever were.
    files: AtomicU64,
    kept: Mutex<Kept>,
    /// Held, not used.
    _lock: File,
}

#[derive(Debug, Default)]
struct Kept {
    /// Empty, and not in use by others.
    files: Vec<Arc<File>>,
    /// Files that are in use.
    used: usize,
}

impl Folder {
    /// Makes a folder in `directory`, which is made, too, if it is not there. Removes what crashes
    /// have left in it.
    pub(super) fn create(directory: &Path) -> Result<Folder> {
        fs::create_dir_all(directory)?;
        remove_abandoned(directory);
        for _ in 0..ATTEMPTS {
            let random = RandomState::new().hash_one(process::id());
            let path = directory.join(format!("{NAME_PREFIX}{}-{random:016x}", process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                created => created?,
            }
            if let Some(lock) = make_lock(&path.join(LOCK_NAME))? {
                let (files, kept) = (AtomicU64::new(0), Mutex::default());
                return Ok(Folder { path, files, kept, _lock: lock });
            }
        }
        Err(Error::other("the folder is removed again and again"))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// An empty, unlinked file, which is returned to [`Folder::keep_file`].
    pub(super) fn open_file(&self) -> Result<Arc<File>> {
        let kept = lock(&self.kept).files.pop();
        let file = kept.map_or_else(|| self.make_file(), Ok)?;
        lock(&self.kept).used += 1;
        Ok(file)
    }

    /// Keeps a file that is no longer used.
    pub(super) fn keep_file(&self, file: &Arc<File>) {
        let is_empty = file.set_len(0).is_ok();
        let mut kept = lock(&self.kept);
        kept.used = kept.used.saturating_sub(1);
        if is_empty && kept.files.len() < FILES_KEPT {
            kept.files.push(Arc::clone(file));
        }
        if kept.used == 0 {
            kept.files.truncate(FILES_KEPT_IDLE);
        }
    }

    fn make_file(&self) -> Result<Arc<File>> {
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let path = self.path.join(number.to_string());
        let file =
            OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        fs::remove_file(&path)?;
        Ok(Arc::new(file))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed now, the next space removes when the lock is gone.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// A new lock file, locked; `None` if another process considered the folder abandoned before.
fn make_lock(path: &Path) -> Result<Option<File>> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let file = match opened {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    match file.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        // Without locks on this file system no process considers the folder abandoned.
        Err(fs::TryLockError::Error(_)) => Ok(Some(file)),
        // The previous holder of the lock has removed the folder.
        Ok(()) => Ok(path.exists().then_some(file)),
    }
}

/// Removes spill folders in `directory` that no process uses. Folders that cannot be removed stay:
/// they may belong to another user.
fn remove_abandoned(directory: &Path) {
    let is_folder = |it: &DirEntry| {
        it.file_name().to_string_lossy().starts_with(NAME_PREFIX)
            && it.file_type().is_ok_and(|it| it.is_dir())
    };
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten().filter(is_folder) {
        // For writing, too, or a pipe of that name would hold us up.
        match OpenOptions::new().read(true).write(true).open(entry.path().join(LOCK_NAME)) {
            Ok(lock) if lock.try_lock().is_ok() => drop(fs::remove_dir_all(entry.path())),
            // Ended before it had a lock. A process that is about to create one tries again.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                drop(fs::remove_dir(entry.path()));
            }
            _ => {}
        }
    }
}
