//! Files of other writers are read as they wrote them.

use crate::{
    OrcFile, StripeReader,
    file::Compression,
    stream::{ByteStream, StoredBytes},
};
use bytes::Bytes;
use std::{
    ops::Range,
    sync::{Arc, LazyLock},
    task::Waker,
};
use volley_connector::{ScanRequest, SourceStep};
use volley_error::{Error, Result};
use volley_function::{QueryConstants, Registry};
use volley_io::{BufferPool, FileSystems, IoRuntime, Pending, RandomAccessFile};
use volley_memory::Pool;
use volley_types::Value;
use volley_vector::{Batch, random::Generator};

/// A file in memory.
#[derive(Debug)]
pub(crate) struct MemoryFile(pub Bytes);

impl RandomAccessFile for MemoryFile {
    fn path(&self) -> &str {
        "memory.orc"
    }

    fn size_bytes(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let (start, end) = (range.start as usize, range.end as usize);
        if start > end || end > self.0.len() {
            return Err(Error::corruption("beyond the file"));
        }
        Ok(self.0.slice(start..end))
    }

    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
        let bytes = self.read(start..start.saturating_add(out.len() as u64))?;
        out.copy_from_slice(&bytes);
        Ok(())
    }

    fn is_at_hand(&self, _ranges: &[Range<u64>]) -> bool {
        true
    }
}

/// A file that is read by other threads.
#[derive(Debug)]
pub(crate) struct DistantFile(pub MemoryFile);

impl RandomAccessFile for DistantFile {
    fn path(&self) -> &str {
        self.0.path()
    }

    fn size_bytes(&self) -> u64 {
        self.0.size_bytes()
    }

    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
        self.0.read_into(start, out)
    }

    fn start_read(self: Arc<Self>, range: Range<u64>, _: &BufferPool) -> Pending<Bytes> {
        static THREADS: LazyLock<IoRuntime> = LazyLock::new(IoRuntime::new);
        THREADS.run(move || self.read(range))
    }

    fn will_read(&self, ranges: &[Range<u64>]) {
        assert!(ranges.iter().all(|it| it.end <= self.size_bytes()));
    }
}

/// A local file, opened.
pub(crate) fn open_file(path: &str) -> Result<Arc<dyn RandomAccessFile>> {
    FileSystems::default().open(path)
}

/// One of both kinds.
pub(crate) fn any_file(random: &mut Generator, bytes: Bytes) -> Arc<dyn RandomAccessFile> {
    let file = MemoryFile(bytes);
    if random.below(2) == 0 { Arc::new(file) } else { Arc::new(DistantFile(file)) }
}

/// A stream without compression.
pub(crate) fn stream_of(bytes: &[u8]) -> ByteStream {
    let file = Arc::new(MemoryFile(Bytes::copy_from_slice(bytes)));
    let stored = StoredBytes::new(file, 0..bytes.len() as u64, Vec::new());
    let compression = Compression { codec: None, block_bytes: 1 << 18 };
    ByteStream::new(stored, compression, Pool::root("test", None).reservation())
}

/// A request for all of `columns` without filters.
pub(crate) fn request(columns: Vec<usize>, batch_rows: usize) -> ScanRequest {
    ScanRequest {
        columns,
        filters: Vec::new(),
        dynamic_filters: Vec::new(),
        batch_rows,
        registry: Arc::new(Registry::default()),
        query: Arc::new(QueryConstants::default()),
        pool: Pool::root("test", None),
    }
}

/// All batches of a file, loaded.
pub(crate) fn read_batches(file: &OrcFile, request: &ScanRequest) -> Result<Vec<Batch>> {
    let mut reader = StripeReader::new(request)?;
    let mut batches = Vec::new();
    for stripe in 0..file.stripes() {
        reader.start(file.clone(), stripe, &|column| (column, None))?;
        loop {
            match reader.step(Waker::noop())? {
                SourceStep::Batch(batch) => batches.push(batch.loaded()?),
                SourceStep::NeedSplit => break,
                SourceStep::Blocked => std::thread::yield_now(),
                SourceStep::Progress => {}
            }
        }
    }
    Ok(batches)
}

/// The values of all columns of batches.
pub(crate) fn columns_of(batches: &[Batch], columns: usize) -> Result<Vec<Vec<Value>>> {
    let mut values = vec![Vec::new(); columns];
    for batch in batches {
        for (column, values) in batch.columns().iter().zip(&mut values) {
            values.extend(column.to_values()?);
        }
    }
    Ok(values)
}

mod damage;
mod evolution;
mod files;
mod pruning;
mod writing;

/// The folder of the repository's test data.
pub(crate) fn data(name: &str) -> String {
    format!("../../tests/data/orc/{name}")
}

/// A file of the test data, in memory.
pub(crate) fn data_bytes(name: &str) -> Bytes {
    std::fs::read(data(name)).unwrap().into()
}

/// Opens bytes as a file.
pub(crate) fn open_bytes(bytes: Bytes) -> OrcFile {
    OrcFile::open(Arc::new(MemoryFile(bytes))).unwrap()
}

/// Checks that values are the same to the last bit, but for NaN.
#[track_caller]
pub(crate) fn check_identical(found: &[Value], expected: &[Value], place: &str) {
    assert_eq!(found.len(), expected.len(), "{place}");
    for (row, (found, expected)) in found.iter().zip(expected).enumerate() {
        let is_nan = |it: &Value| format!("{it:?}").contains("NaN");
        let same = found.is_identical(expected) || (is_nan(found) && is_nan(expected));
        assert!(same, "{place}, row {row}: {found:?}, expected {expected:?}");
    }
}
