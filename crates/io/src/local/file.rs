//! Reads files.

use super::path_of;
use crate::{BufferPool, FileVersion, IoRuntime, Pending, RandomAccessFile};
use bytes::Bytes;
use std::{
    fs::{File, Metadata},
    io,
    ops::Range,
    os::unix::fs::{FileExt, MetadataExt},
    sync::Arc,
};
use volley_error::{Error, Result};
use volley_memory::check_cancelled;

/// One byte in 256 KiB tells whether the page cache holds them.
const PROBE_BYTES: usize = 256 << 10;

/// A read checks after this many bytes whether it was cancelled.
const SLICE_BYTES: usize = 8 << 20;

/// A file of the local file system.
#[derive(Debug)]
pub(super) struct LocalFile {
    path: String,
    size_bytes: u64,
    version: FileVersion,
    file: File,
    runtime: IoRuntime,
}

impl LocalFile {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// I/O: no such file, a folder, no permission.
    pub fn open(location: &str, runtime: &IoRuntime) -> Result<LocalFile> {
        let file = File::open(path_of(location)).map_err(|it| Error::io(location, it))?;
        let metadata = file.metadata().map_err(|it| Error::io(location, it))?;
        if metadata.is_dir() {
            return Err(Error::io(location, io::ErrorKind::IsADirectory.into()));
        }
        Ok(LocalFile {
            path: location.to_owned(),
            size_bytes: metadata.len(),
            version: version_of(&metadata),
            file,
            runtime: runtime.clone(),
        })
    }

    fn read_cancellable(&self, range: &Range<u64>, buffers: &BufferPool) -> Result<Bytes> {
        let mut buffer = buffers.take(self.check_range(range)?);
        let mut start = range.start;
        for slice in buffer.chunks_mut(SLICE_BYTES) {
            check_cancelled()?;
            self.read_into(start, slice)?;
            start += slice.len() as u64;
        }
        Ok(buffer.freeze())
    }
}

/// Changes with every write, as far as the clock of the file system tells them apart, and when
/// another file takes the name.
pub(super) fn version_of(metadata: &Metadata) -> FileVersion {
    let (seconds, nanos) = (metadata.mtime(), metadata.mtime_nsec());
    FileVersion::new(&format!("{}-{}-{seconds}.{nanos:09}", metadata.ino(), metadata.len()))
}

impl RandomAccessFile for LocalFile {
    fn path(&self) -> &str {
        &self.path
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn version(&self) -> Option<FileVersion> {
        Some(self.version.clone())
    }

    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
        let end = start.saturating_add(out.len() as u64);
        self.check_range(&(start..end))?;
        self.file.read_exact_at(out, start).map_err(|it| Error::io(&self.path, it))
    }

    fn start_read(self: Arc<Self>, range: Range<u64>, buffers: &BufferPool) -> Pending<Bytes> {
        let (runtime, buffers) = (self.runtime.clone(), buffers.clone());
        runtime.run(move || self.read_cancellable(&range, &buffers))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait;
    use volley_error::ErrorKind;

    fn open(path: &std::path::Path) -> Result<LocalFile> {
        LocalFile::open(path.to_str().unwrap(), &IoRuntime::new())
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_was_just_written_is_at_hand() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        io::Write::write_all(&mut file, &[7; 10_000]).unwrap();
        let file = open(file.path()).unwrap();
        file.will_read(&[0..10_000, 5..5, 9_000..20_000]);
        assert!(file.is_at_hand(&[0..10_000, 5..6, 7..7]));
        assert!(!file.is_at_hand(&[0..1, 9_000..10_001]));
    }

    #[test]
    fn ranges_beyond_the_file_are_errors_and_not_allocations() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"0123456789").unwrap();
        let file = open(&path).unwrap();
        assert_eq!(file.read(2..5).unwrap(), "234");
        assert_eq!(file.read(2..1 << 60).unwrap_err().kind(), ErrorKind::Corruption);
        let reversed = Range { start: 5, end: 2 };
        assert_eq!(file.read(reversed).unwrap_err().kind(), ErrorKind::Corruption);
        let buffers = BufferPool::default();
        let error = wait(Arc::new(file).start_read(2..1 << 60, &buffers)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        assert_eq!(open(folder.path()).unwrap_err().kind(), ErrorKind::Io);
    }

    #[test]
    fn long_reads_are_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        let bytes: Vec<u8> = (0..2 * SLICE_BYTES + 7).map(|it| (it % 251) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let file = Arc::new(open(&path).unwrap());
        let read = wait(file.start_read(3..bytes.len() as u64, &BufferPool::default())).unwrap();
        assert!(read == bytes[3..]);
    }
}
