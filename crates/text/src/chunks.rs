//! Chunks of a text file that several concurrent readers share.

use crate::input::FileStream;
use bytes::Bytes;
use std::{collections::VecDeque, fmt};
use volley_error::Result;

/// The rows of a file that no reader has taken, as chunks of whole rows.
pub struct FileChunks(Box<dyn ChunkSource>);

/// Takes chunks from a file.
pub(crate) trait ChunkSource: Send + Sync {
    /// Some rows, about as many as are read at once; `None` when all are taken. Errors come once.
    fn next(&self) -> Result<Option<Chunk>>;

    /// How much of the file was taken, from 0 to 1.
    fn share(&self) -> f64;
}

/// Whole rows.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// The number of the first line; 0 where lines do not count.
    pub line: u64,
    /// Chunks of a file are numbered from 0, in its order.
    pub number: u32,
    pub pieces: VecDeque<Bytes>,
    /// The rest of the file, if it cannot be cut: the reader of the chunk reads it, too.
    pub rest: Option<Box<FileStream>>,
}

impl FileChunks {
    pub(crate) fn new(source: impl ChunkSource + 'static) -> FileChunks {
        FileChunks(Box::new(source))
    }

    pub(crate) fn next(&self) -> Result<Option<Chunk>> {
        self.0.next()
    }

    /// How much of the file was taken, from 0 to 1.
    pub(crate) fn share(&self) -> f64 {
        self.0.share()
    }
}

impl fmt::Debug for FileChunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FileChunks")
    }
}
