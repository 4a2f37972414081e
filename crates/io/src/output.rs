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
#[derive(Debug)]
pub struct OutputFile {
    path: PathBuf,
    temporary: PathBuf,
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
        if path.is_dir() {
            return Err(Error::io(path.display(), io::ErrorKind::IsADirectory.into()));
        }
        let name = path.file_name().map(|it| it.to_string_lossy()).unwrap_or_default();
        let number = UNFINISHED.fetch_add(1, Ordering::Relaxed);
        let folder = path.parent().unwrap_or(Path::new(""));
        let temporary = folder.join(format!(".{name}.{}.{number}.unfinished", std::process::id()));
        let file = File::create(&temporary).map_err(|it| Error::io(path.display(), it))?;
        let writer = Some(BufWriter::with_capacity(BUFFER_BYTES, file));
        Ok(OutputFile { path, temporary, writer })
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
        let result = file.and_then(|_| {
            fs::rename(&self.temporary, &self.path).map_err(|it| Error::io(self.path.display(), it))
        });
        if result.is_err() {
            let _ = fs::remove_file(&self.temporary);
        }
        result
    }
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
            let _ = fs::remove_file(&self.temporary);
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
}
