//! Files as streams of bytes.

use crate::{
    csv_delimiter::LongDelimiter,
    encoding::{Encoding, Transcoder},
    json_array::ArrayElements,
    zstd_stream::ZstdStream,
};
use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;
use std::{
    fmt,
    io::{self, BufReader, Read},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use volley_error::{Error, Result};
use volley_io::RandomAccessFile;
use volley_memory::Pool;

/// Bytes per read.
pub(crate) const READ_BYTES: u64 = 1 << 20;

/// How a text file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// What a name's ending tells.
    pub fn of(path: &str) -> Compression {
        let lower = path.to_ascii_lowercase();
        match (lower.ends_with(".gz"), lower.ends_with(".zst")) {
            (true, _) => Compression::Gzip,
            (_, true) => Compression::Zstd,
            _ => Compression::None,
        }
    }
}

/// Reads a file from its beginning.
pub(crate) struct FileStream {
    input: Input,
    path: String,
    /// Of the file.
    size_bytes: u64,
    at: u64,
    buffer: Bytes,
    /// Whether the file is a JSON array, whose elements are returned.
    elements: Option<ArrayElements>,
}

enum Input {
    Plain(Arc<dyn RandomAccessFile>),
    /// What decompresses, and how many bytes of the file it has taken.
    Compressed(Box<dyn Read + Send>, Arc<AtomicU64>),
}

/// Counts the bytes that are read.
struct Counted {
    stream: FileStream,
    bytes: Arc<AtomicU64>,
}

impl fmt::Debug for FileStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStream").field("path", &self.path).field("at", &self.at).finish()
    }
}

impl FileStream {
    /// Begins; a byte order mark is passed over. `pool` is charged with what decompression keeps.
    pub fn new(
        file: &Arc<dyn RandomAccessFile>,
        compression: Compression,
        pool: &Pool,
    ) -> Result<FileStream> {
        let path = file.path().to_owned();
        let (size_bytes, taken) = (file.size_bytes(), Arc::new(AtomicU64::new(0)));
        let raw = || {
            let input = Input::Plain(Arc::clone(file));
            let stream = FileStream::of(input, path.clone(), size_bytes);
            BufReader::new(Counted { stream, bytes: Arc::clone(&taken) })
        };
        let input = match compression {
            Compression::None => Input::Plain(Arc::clone(file)),
            Compression::Gzip => Input::Compressed(Box::new(MultiGzDecoder::new(raw())), taken),
            Compression::Zstd => Input::Compressed(Box::new(ZstdStream::new(raw(), pool)?), taken),
        };
        FileStream::begin(input, path, size_bytes)
    }

    /// As [`FileStream::new`], of text in another encoding, which is read as UTF-8.
    pub fn transcoded(self, encoding: Encoding) -> Result<FileStream> {
        if encoding == Encoding::Utf8 {
            return Ok(self);
        }
        self.through(|it| Box::new(Transcoder::new(it, encoding)))
    }

    /// As [`FileStream::new`], of text with a delimiter of several bytes, if there is one.
    pub fn with_delimiter(self, delimiter: Option<&str>) -> Result<FileStream> {
        match delimiter.filter(|it| !it.is_empty()) {
            Some(delimiter) => self.through(|it| Box::new(LongDelimiter::new(it, delimiter))),
            None => Ok(self),
        }
    }

    /// What `filter` makes of the bytes.
    fn through(
        self,
        filter: impl FnOnce(Box<dyn Read + Send>) -> Box<dyn Read + Send>,
    ) -> Result<FileStream> {
        let (path, size_bytes) = (self.path.clone(), self.size_bytes);
        let input = match &self.input {
            Input::Plain(_) => {
                let taken = Arc::new(AtomicU64::new(0));
                let counted = Counted { stream: self, bytes: Arc::clone(&taken) };
                Input::Compressed(filter(Box::new(counted)), taken)
            }
            Input::Compressed(_, taken) => {
                let taken = Arc::clone(taken);
                Input::Compressed(filter(Box::new(self)), taken)
            }
        };
        FileStream::begin(input, path, size_bytes)
    }

    fn begin(input: Input, path: String, size_bytes: u64) -> Result<FileStream> {
        let mut stream = FileStream::of(input, path, size_bytes);
        if stream.fill()?.starts_with(b"\xef\xbb\xbf") {
            stream.consume(3);
        }
        Ok(stream)
    }

    fn of(input: Input, path: String, size_bytes: u64) -> FileStream {
        FileStream { input, path, size_bytes, at: 0, buffer: Bytes::new(), elements: None }
    }

    /// Returns the elements of the following JSON array one after the other.
    pub fn unwrap_array(&mut self) -> Result<()> {
        self.elements = Some(ArrayElements::default());
        let bytes = std::mem::take(&mut self.buffer);
        self.buffer = self.unwrapped(bytes)?;
        Ok(())
    }

    fn unwrapped(&mut self, bytes: Bytes) -> Result<Bytes> {
        let Some(elements) = &mut self.elements else { return Ok(bytes) };
        if bytes.is_empty() {
            elements.finish()?;
            return Ok(bytes);
        }
        let mut bytes = Vec::from(bytes);
        elements.unwrap(&mut bytes)?;
        Ok(bytes.into())
    }

    /// What is there next; empty at the end.
    pub fn fill(&mut self) -> Result<&[u8]> {
        if self.buffer.is_empty() {
            let bytes = match &mut self.input {
                Input::Plain(file) => {
                    let end = self.at.saturating_add(READ_BYTES).min(self.size_bytes);
                    file.read(self.at..end)?
                }
                Input::Compressed(input, _) => {
                    let mut bytes = Vec::new();
                    let read = input.take(READ_BYTES).read_to_end(&mut bytes);
                    read.map_err(|it| match it.downcast::<Error>() {
                        Ok(error) => error,
                        Err(other) => Error::corruption("compressed file is damaged or none")
                            .caused_by(other)
                            .at("file", &self.path),
                    })?;
                    bytes.into()
                }
            };
            self.at += bytes.len() as u64;
            self.buffer = self.unwrapped(bytes)?;
        }
        Ok(&self.buffer)
    }

    /// What [`FileStream::fill`] found and is not consumed.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// What is there next, and passes over it; empty at the end.
    pub fn take(&mut self) -> Result<Bytes> {
        self.fill()?;
        Ok(std::mem::take(&mut self.buffer))
    }

    /// Passes over `count` of the bytes that are there.
    pub fn consume(&mut self, count: usize) {
        let _ = self.buffer.split_to(count.min(self.buffer.len()));
    }

    /// Skips this number of lines.
    pub fn skip_lines(&mut self, count: u64) -> Result<()> {
        let mut left = count;
        while left > 0 {
            let bytes = self.fill()?;
            if bytes.is_empty() {
                return Ok(());
            }
            let end = bytes.iter().position(|it| *it == b'\n');
            left -= u64::from(end.is_some());
            let passed = end.map_or(bytes.len(), |it| it + 1);
            self.consume(passed);
        }
        Ok(())
    }

    /// Bytes consumed so far, decompressed.
    pub fn position(&self) -> u64 {
        self.at - self.buffer.len() as u64
    }

    /// How much of the file was consumed, from 0 to 1; of a compressed one, about.
    pub fn share(&self) -> f64 {
        let bytes = match &self.input {
            // A JSON array is held without what stands between its elements.
            Input::Plain(_) => self.at.saturating_sub(self.buffer.len() as u64),
            Input::Compressed(_, taken) => taken.load(Ordering::Relaxed),
        };
        (bytes as f64 / self.size_bytes.max(1) as f64).min(1.0)
    }
}

impl Read for Counted {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.stream.read(out)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
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
