//! Failures of reads, for tests.

use crate::RandomAccessFile;
use std::{
    io,
    ops::Range,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use volley_error::{Error, Result};

/// Makes reads of the files that it has wrapped fail. Cheap to clone; clones are the same.
#[derive(Clone, Debug, Default)]
pub struct ReadFaults(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    reads: AtomicU64,
    armed: Mutex<Option<(u64, io::ErrorKind)>>,
}

impl ReadFaults {
    /// The file, with reads that can be made to fail.
    pub fn wrap(&self, file: Arc<dyn RandomAccessFile>) -> Arc<dyn RandomAccessFile> {
        Arc::new(FaultyFile { file, faults: self.clone() })
    }

    /// Makes the read number `read` fail, counted as [`ReadFaults::reads`] does.
    pub fn inject(&self, read: u64, kind: io::ErrorKind) {
        *self.0.armed.lock().unwrap_or_else(PoisonError::into_inner) = Some((read, kind));
    }

    /// Reads of all files so far.
    pub fn reads(&self) -> u64 {
        self.0.reads.load(Ordering::Relaxed)
    }

    /// Counts a read; how it is to fail.
    fn next(&self) -> Option<io::ErrorKind> {
        let read = self.0.reads.fetch_add(1, Ordering::Relaxed);
        let mut armed = self.0.armed.lock().unwrap_or_else(PoisonError::into_inner);
        armed.take_if(|it| it.0 == read).map(|it| it.1)
    }
}

/// A file some of whose reads fail.
#[derive(Debug)]
struct FaultyFile {
    file: Arc<dyn RandomAccessFile>,
    faults: ReadFaults,
}

impl RandomAccessFile for FaultyFile {
    fn path(&self) -> &str {
        self.file.path()
    }

    fn size_bytes(&self) -> u64 {
        self.file.size_bytes()
    }

    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
        match self.faults.next() {
            Some(kind) => Err(Error::io(self.path(), kind.into())),
            None => self.file.read_into(start, out),
        }
    }

    fn is_at_hand(&self, ranges: &[Range<u64>]) -> bool {
        self.file.is_at_hand(ranges)
    }

    fn will_read(&self, ranges: &[Range<u64>]) {
        self.file.will_read(ranges);
    }
}
