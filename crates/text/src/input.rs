//! Files as streams.

use bytes::Bytes;
use std::{
    io::{self, Read},
    sync::Arc,
};
use volley_io::RandomAccessFile;

/// Bytes per read.
const READ_BYTES: u64 = 1 << 20;

/// Reads a file from its beginning.
pub(crate) struct FileStream {
    file: Arc<dyn RandomAccessFile>,
    at: u64,
    buffer: Bytes,
}

impl FileStream {
    pub fn new(file: Arc<dyn RandomAccessFile>) -> FileStream {
        FileStream { file, at: 0, buffer: Bytes::new() }
    }

    /// What is there next; empty at the end.
    pub fn fill(&mut self) -> volley_error::Result<&[u8]> {
        if self.buffer.is_empty() {
            let end = self.at.saturating_add(READ_BYTES).min(self.file.size_bytes());
            self.buffer = self.file.read(self.at..end)?;
            self.at = end;
        }
        Ok(&self.buffer)
    }

    /// Passes over `count` of the bytes that are there.
    pub fn consume(&mut self, count: usize) {
        let _ = self.buffer.split_to(count.min(self.buffer.len()));
    }

    /// Bytes consumed so far.
    pub fn position(&self) -> u64 {
        self.at - self.buffer.len() as u64
    }
}

impl Read for FileStream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill().map_err(io::Error::other)?;
        let count = bytes.len().min(out.len());
        if let (Some(from), Some(to)) = (bytes.get(..count), out.get_mut(..count)) {
            to.copy_from_slice(from);
        }
        self.consume(count);
        Ok(count)
    }
}
