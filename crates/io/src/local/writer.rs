//! Writes files that appear whole or not at all, and adds to files.

use super::{file::version_of, path_of};
use crate::{FileWriter, Pending, WriteMode, WriteOutcome, ready};
use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};
use volley_error::{Error, Result};

/// How much is collected before a system call.
const BUFFER_BYTES: usize = 256 << 10;

/// Makes names of unfinished files of one process differ.
static UNFINISHED: AtomicU64 = AtomicU64::new(0);

/// A file under a temporary name in its folder, renamed by the commit and removed when it is
/// dropped before that; or a file that is written as it goes.
///
/// A path that exists and is no regular file (a device, a named pipe) is written as it goes: it
/// must not be replaced by a file. A symbolic link stays, and the file that it names is replaced.
#[derive(Debug)]
pub(super) struct LocalWriter {
    /// As users wrote it.
    location: String,
    /// What it names, links followed.
    target: PathBuf,
    /// `None` when the file is written as it goes.
    temporary: Option<PathBuf>,
    mode: WriteMode,
    /// Whether the commit has to be durable.
    is_synced: bool,
    /// `None` once it is committed or aborted.
    writer: Option<BufWriter<File>>,
}

impl LocalWriter {
    /// Opens a file that will be at `location`.
    ///
    /// # Errors
    ///
    /// I/O: no such folder, no permission, a folder is there.
    pub fn create(location: &str, mode: WriteMode) -> Result<LocalWriter> {
        let path = path_of(location);
        let at = |it: io::Error| Error::io(location, it);
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        if path.is_dir() {
            return Err(at(io::ErrorKind::IsADirectory.into()));
        }
        if mode == WriteMode::Replace && fs::metadata(path).is_ok_and(|it| !it.is_file()) {
            let file = File::options().write(true).open(path).map_err(at)?;
            return Ok(LocalWriter::new(location, file, target, None));
        }
        let name = target.file_name().map(|it| it.to_string_lossy()).unwrap_or_default();
        let number = UNFINISHED.fetch_add(1, Ordering::Relaxed);
        let folder = target.parent().unwrap_or(Path::new(""));
        let temporary = folder.join(format!(".{name}.{}.{number}.unfinished", std::process::id()));
        let file = File::create(&temporary).map_err(|it| missing_folder(folder, location, it))?;
        let mut writer = LocalWriter::new(location, file, target, Some(temporary));
        writer.mode = mode;
        Ok(writer)
    }

    /// Opens a file to add to it.
    ///
    /// # Errors
    ///
    /// As [`LocalWriter::create`].
    pub fn append(location: &str) -> Result<LocalWriter> {
        let path = path_of(location);
        let folder = path.parent().unwrap_or(Path::new(""));
        let file = File::options().append(true).create(true).open(path);
        let file = file.map_err(|it| missing_folder(folder, location, it))?;
        Ok(LocalWriter::new(location, file, path.to_path_buf(), None))
    }

    fn new(location: &str, file: File, target: PathBuf, temporary: Option<PathBuf>) -> LocalWriter {
        let writer = Some(BufWriter::with_capacity(BUFFER_BYTES, file));
        let (location, mode) = (location.to_owned(), WriteMode::Replace);
        LocalWriter { location, target, temporary, mode, is_synced: false, writer }
    }

    fn finish(&mut self) -> io::Result<WriteOutcome> {
        let writer = self.writer.take().ok_or_else(ended)?;
        let temporary = self.temporary.take();
        let finished = self.publish(writer, temporary.as_deref());
        if let Some(temporary) = temporary
            && !matches!(finished, Ok(WriteOutcome::Written(_)))
        {
            let _ = fs::remove_file(temporary);
        }
        finished
    }

    /// Gives the file its name.
    fn publish(
        &self,
        writer: BufWriter<File>,
        temporary: Option<&Path>,
    ) -> io::Result<WriteOutcome> {
        let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
        if self.is_synced {
            file.sync_all()?;
        }
        let version = version_of(&file.metadata()?);
        let Some(temporary) = temporary else { return Ok(WriteOutcome::Written(version)) };
        match self.mode {
            WriteMode::Replace => fs::rename(temporary, &self.target)?,
            WriteMode::CreateNew => match rename_new(temporary, &self.target) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    return Ok(WriteOutcome::AlreadyExists);
                }
                renamed => renamed?,
            },
        }
        if self.is_synced {
            sync_folder(&self.target)?;
        }
        Ok(WriteOutcome::Written(version))
    }

    fn discard(&mut self) -> io::Result<()> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        match self.temporary.take() {
            Some(temporary) => {
                // The content is not needed: do not write what is still buffered.
                let _ = writer.into_parts();
                fs::remove_file(temporary)
            }
            None => writer.into_inner().map(drop).map_err(io::IntoInnerError::into_error),
        }
    }

    fn at<T>(&self, result: io::Result<T>) -> Result<T> {
        result.map_err(|it| Error::io(&self.location, it))
    }
}

/// Writes a whole file, durably.
pub(super) fn write(location: &str, bytes: &[u8], mode: WriteMode) -> Result<WriteOutcome> {
    let mut writer = LocalWriter::create(location, mode)?;
    writer.is_synced = true;
    let written = writer.write_all(bytes);
    writer.at(written)?;
    let finished = writer.finish();
    writer.at(finished)
}

/// Renames a file unless there is one with the new name: atomic.
#[cfg(target_os = "linux")]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::{
        fs::{CWD, RenameFlags, renameat_with},
        io::Errno,
    };
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems cannot.
        Err(Errno::INVAL | Errno::NOSYS) => link_new(from, to),
        renamed => Ok(renamed?),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    link_new(from, to)
}

/// As [`rename_new`], where files can have two names.
fn link_new(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to)?;
    fs::remove_file(from)
}

/// Makes the names in the folder of a file durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Says that it is the folder that is missing, if so.
fn missing_folder(folder: &Path, location: &str, error: io::Error) -> Error {
    let has_folder = folder.as_os_str().is_empty() || folder.exists();
    if error.kind() == io::ErrorKind::NotFound && !has_folder {
        let hint = format!("make the folder {} first", folder.display());
        return Error::io(location, error).hint(hint);
    }
    Error::io(location, error)
}

fn ended() -> io::Error {
    io::Error::other("file is committed or aborted")
}

impl Write for LocalWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.as_mut().ok_or_else(ended)?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl FileWriter for LocalWriter {
    fn location(&self) -> &str {
        &self.location
    }

    fn sync(&mut self) -> Pending<()> {
        let mut sync = || {
            let writer = self.writer.as_mut().ok_or_else(ended)?;
            writer.flush()?;
            writer.get_ref().sync_all()?;
            // Of a file that is new without a commit, the name has to be durable, too.
            if self.temporary.is_none() && !self.is_synced && self.target.is_file() {
                sync_folder(&self.target)?;
            }
            self.is_synced = true;
            Ok(())
        };
        let synced = sync();
        ready(self.at(synced))
    }

    fn commit(mut self: Box<Self>) -> Pending<WriteOutcome> {
        let finished = self.finish();
        ready(self.at(finished))
    }

    fn abort(mut self: Box<Self>) -> Pending<()> {
        let discarded = self.discard();
        ready(self.at(discarded))
    }
}

impl Drop for LocalWriter {
    fn drop(&mut self) {
        let _ = self.discard();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait;

    fn create(path: &Path) -> Result<Box<LocalWriter>> {
        LocalWriter::create(path.to_str().unwrap(), WriteMode::Replace).map(Box::new)
    }

    #[test]
    fn a_file_appears_when_committed_and_leaves_nothing_when_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        let mut dropped = create(&path).unwrap();
        dropped.write_all(b"half").unwrap();
        drop(dropped);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut finished = create(&path).unwrap();
        finished.write_all(b"whole").unwrap();
        assert!(!path.exists());
        wait(finished.commit()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_and_the_file_that_it_names_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut output = create(&link).unwrap();
        output.write_all(b"new").unwrap();
        wait(output.commit()).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
    }

    /// A socket stands for devices and pipes: something that exists and is no regular file.
    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_never_replaced() {
        use std::os::unix::{fs::FileTypeExt, net::UnixListener};
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        // A socket cannot be opened as a file: an error, and it is still there.
        create(&socket).unwrap_err();
        assert!(fs::metadata(&socket).unwrap().file_type().is_socket());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = create(&folder.path().join("no/out.csv")).unwrap_err();
        let hint = format!("make the folder {} first", folder.path().join("no").display());
        assert_eq!(error.hint_text(), Some(hint.as_str()));
    }

    #[test]
    fn a_hard_link_does_not_replace_a_file_either() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), "a").unwrap();
        fs::write(path("b"), "b").unwrap();
        let error = link_new(&path("a"), &path("b")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        link_new(&path("a"), &path("c")).unwrap();
        assert_eq!(fs::read(path("c")).unwrap(), b"a");
        assert!(!path("a").exists());
    }
}
