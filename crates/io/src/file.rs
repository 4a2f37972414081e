//! Files that are read at any place.

use bytes::Bytes;
use std::{fmt, fs::File, ops::Range, os::unix::fs::FileExt, path::Path, sync::Arc};
use volley_error::{Error, Result};

/// One byte of so many tells whether the page cache holds them.
const PROBE_BYTES: usize = 256 << 10;

/// A file that does not change while it is open, read at any place.
pub trait RandomAccessFile: Send + Sync + fmt::Debug {
    /// Its name, for messages.
    fn path(&self) -> &str;

    /// Its size in bytes.
    fn size_bytes(&self) -> u64;

    /// Fills `out` with the bytes from `start` on; may block the calling thread.
    ///
    /// # Errors
    ///
    /// I/O; corruption, when the range is not within the file.
    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()>;

    /// Reads a range; may block the calling thread.
    ///
    /// # Errors
    ///
    /// As [`RandomAccessFile::read_into`]; then nothing was allocated for bytes that are not there.
    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let mut buffer = vec![0; self.check_range(&range)?];
        self.read_into(range.start, &mut buffer)?;
        Ok(buffer.into())
    }

    /// The length of a range within the file.
    ///
    /// # Errors
    ///
    /// Corruption, when the range is not within the file.
    fn check_range(&self, range: &Range<u64>) -> Result<usize> {
        check_range(range, self.size_bytes()).map_err(|it| it.at("file", self.path()))
    }

    /// Whether reading these bytes most likely takes no waiting for a device, so that a driver may
    /// do it itself.
    fn is_at_hand(&self, _ranges: &[Range<u64>]) -> bool {
        false
    }

    /// Says that these bytes will be read soon; does not wait.
    fn will_read(&self, _ranges: &[Range<u64>]) {}
}

/// Opens a file by its path.
///
/// # Errors
///
/// I/O: no such file, a folder, no permission.
pub fn open_file(path: &str) -> Result<Arc<dyn RandomAccessFile>> {
    Ok(Arc::new(LocalFile::open(path)?))
}

/// A file of the local file system.
#[derive(Debug)]
pub struct LocalFile {
    path: String,
    size_bytes: u64,
    file: File,
}

impl LocalFile {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// I/O: no such file, a folder, no permission.
    pub fn open(path: &str) -> Result<LocalFile> {
        let file = File::open(Path::new(path)).map_err(|it| Error::io(path, it))?;
        let metadata = file.metadata().map_err(|it| Error::io(path, it))?;
        if metadata.is_dir() {
            return Err(Error::io(path, std::io::ErrorKind::IsADirectory.into()));
        }
        Ok(LocalFile { path: path.to_owned(), size_bytes: metadata.len(), file })
    }
}

impl RandomAccessFile for LocalFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
        let end = start.saturating_add(out.len() as u64);
        self.check_range(&(start..end))?;
        self.file.read_exact_at(out, start).map_err(|it| Error::io(&self.path, it))
    }

    fn is_at_hand(&self, ranges: &[Range<u64>]) -> bool {
        ranges.iter().filter(|it| it.start < it.end).all(|it| {
            let mut places = it.clone().step_by(PROBE_BYTES).chain([it.end - 1]);
            places.all(|place| page_cache::holds(&self.file, place))
        })
    }

    fn will_read(&self, ranges: &[Range<u64>]) {
        ranges.iter().for_each(|it| page_cache::fill(&self.file, it));
    }
}

/// What the operating system holds of files in memory.
#[cfg(target_os = "linux")]
mod page_cache {
    use rustix::{
        fs::{Advice, fadvise},
        io::{ReadWriteFlags, preadv2},
    };
    use std::{fs::File, io::IoSliceMut, num::NonZeroU64, ops::Range};

    /// Whether it has the byte at `place`. Some file systems cannot tell.
    pub fn holds(file: &File, place: u64) -> bool {
        let mut byte = [0];
        let read = preadv2(file, &mut [IoSliceMut::new(&mut byte)], place, ReadWriteFlags::NOWAIT);
        read == Ok(1)
    }

    /// Begins to read `range` into it.
    pub fn fill(file: &File, range: &Range<u64>) {
        if let Some(len) = NonZeroU64::new(range.end.saturating_sub(range.start)) {
            // A hint: without it the read waits longer.
            let _ = fadvise(file, range.start, Some(len), Advice::WillNeed);
        }
    }
}

/// Elsewhere nothing tells what is in memory: reads go to another thread.
#[cfg(not(target_os = "linux"))]
mod page_cache {
    use std::{fs::File, ops::Range};

    pub fn holds(_file: &File, _place: u64) -> bool {
        false
    }

    pub fn fill(_file: &File, _range: &Range<u64>) {}
}

/// The length of a range within a file.
fn check_range(range: &Range<u64>, size_bytes: u64) -> Result<usize> {
    let len = range.end.checked_sub(range.start).filter(|_| range.end <= size_bytes);
    len.and_then(|it| usize::try_from(it).ok()).ok_or_else(|| {
        Error::corruption(format!(
            "bytes {} to {} are asked of a file of {size_bytes}",
            range.start, range.end
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use volley_error::ErrorKind;

    #[test]
    #[cfg(target_os = "linux")]
    fn what_was_just_written_is_at_hand() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, &[7; 10_000]).unwrap();
        let file = open_file(file.path().to_str().unwrap()).unwrap();
        file.will_read(&[0..10_000, 5..5, 9_000..20_000]);
        assert!(file.is_at_hand(&[0..10_000, 5..6, 7..7]));
        assert!(!file.is_at_hand(&[0..1, 9_000..10_001]));
    }

    #[test]
    fn ranges_beyond_the_file_are_errors_and_not_allocations() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"0123456789").unwrap();
        let file = open_file(path.to_str().unwrap()).unwrap();
        assert_eq!(file.read(2..5).unwrap(), "234");
        assert_eq!(file.read(2..1 << 60).unwrap_err().kind(), ErrorKind::Corruption);
        let reversed = Range { start: 5, end: 2 };
        assert_eq!(file.read(reversed).unwrap_err().kind(), ErrorKind::Corruption);
        let folder = folder.path().to_str().unwrap();
        assert_eq!(open_file(folder).unwrap_err().kind(), ErrorKind::Io);
    }
}
