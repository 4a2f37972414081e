//! Files that appear whole or not at all.

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

/// A file under a temporary name in its folder, renamed by [`OutputFile::finish`] and removed when
/// it is dropped before that.
///
/// A path that is there and no regular file (a device, a named pipe) is written as it goes: it must
/// not be replaced by a file. A symbolic link stays, and the file that it names is replaced.
#[derive(Debug)]
pub struct OutputFile {
    /// As it was given, for messages.
    path: PathBuf,
    /// What `path` names, links followed.
    target: PathBuf,
    /// `None` when there is nothing to rename.
    temporary: Option<PathBuf>,
    writer: Option<BufWriter<File>>,
}

impl OutputFile {
    /// Opens a file that will become `path`.
    ///
    /// # Errors
    ///
    /// I/O: no such folder, no permission, `path` is a folder.
    pub fn create(path: &str) -> Result<OutputFile> {
        let path = PathBuf::from(path);
        let target = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if path.is_dir() {
            return Err(Error::io(path.display(), io::ErrorKind::IsADirectory.into()));
        }
        if fs::metadata(&path).is_ok_and(|it| !it.is_file()) {
            let file = File::options().write(true).open(&path);
            let file = file.map_err(|it| Error::io(path.display(), it))?;
            return Ok(OutputFile::new(file, path, target, None));
        }
        let name = target.file_name().map(|it| it.to_string_lossy()).unwrap_or_default();
        let number = UNFINISHED.fetch_add(1, Ordering::Relaxed);
        let folder = target.parent().unwrap_or(Path::new(""));
        let temporary = folder.join(format!(".{name}.{}.{number}.unfinished", std::process::id()));
        let file = File::create(&temporary).map_err(|it| missing_folder(folder, &path, it))?;
        Ok(OutputFile::new(file, path, target, Some(temporary)))
    }

    fn new(file: File, path: PathBuf, target: PathBuf, temporary: Option<PathBuf>) -> OutputFile {
        let writer = Some(BufWriter::with_capacity(BUFFER_BYTES, file));
        OutputFile { path, target, temporary, writer }
    }

    /// The name that it will have.
    pub fn path(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// Gives the file its name.
    ///
    /// # Errors
    ///
    /// I/O.
    pub fn finish(&mut self) -> Result<()> {
        let Some(writer) = self.writer.take() else {
            return Err(Error::internal("output file finished twice"));
        };
        let file =
            writer.into_inner().map_err(|it| Error::io(self.path.display(), it.into_error()));
        let Some(temporary) = &self.temporary else { return file.map(drop) };
        let result = file.and_then(|_| {
            fs::rename(temporary, &self.target).map_err(|it| Error::io(self.path.display(), it))
        });
        if result.is_err() {
            let _ = fs::remove_file(temporary);
        }
        result
    }
}

/// Says that it is the folder that is missing, if so.
fn missing_folder(folder: &Path, path: &Path, error: io::Error) -> Error {
    let has_folder = folder.as_os_str().is_empty() || folder.exists();
    if error.kind() == io::ErrorKind::NotFound && !has_folder {
        let hint = format!("make the folder {} first", folder.display());
        return Error::io(path.display(), error).hint(hint);
    }
    Error::io(path.display(), error)
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.writer {
            Some(writer) => writer.write(bytes),
            None => Err(io::Error::other("output file is finished")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            // The content is not wanted: do not write what is still buffered.
            let _ = writer.into_parts();
            if let Some(temporary) = &self.temporary {
                let _ = fs::remove_file(temporary);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_when_finished_and_leaves_nothing_when_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv").to_string_lossy().into_owned();
        let mut dropped = OutputFile::create(&path).unwrap();
        dropped.write_all(b"half").unwrap();
        drop(dropped);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut finished = OutputFile::create(&path).unwrap();
        finished.write_all(b"whole").unwrap();
        assert!(!Path::new(&path).exists());
        finished.finish().unwrap();
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
        let mut output = OutputFile::create(link.to_str().unwrap()).unwrap();
        output.write_all(b"new").unwrap();
        output.finish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
    }

    /// A socket stands for devices and pipes: something that is there and no regular file.
    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_never_replaced() {
        use std::os::unix::{fs::FileTypeExt, net::UnixListener};
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        // A socket cannot be opened as a file: an error, and it is still there.
        OutputFile::create(socket.to_str().unwrap()).unwrap_err();
        assert!(fs::metadata(&socket).unwrap().file_type().is_socket());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no/out.csv");
        let error = OutputFile::create(path.to_str().unwrap()).unwrap_err();
        let hint = format!("make the folder {} first", folder.path().join("no").display());
        assert_eq!(error.hint_text(), Some(hint.as_str()));
    }
}
