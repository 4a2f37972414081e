//! A file whose bytes are looked for in the cache.

use super::{
    BlockCache, FileKey,
    loads::{LoadEnd, Loads},
};
use crate::{
    BufferPool, FileVersion, Pending, RandomAccessFile, TransferLimits, reads::planned_reads,
    ready, wait,
};
use bytes::Bytes;
use std::{
    ops::Range,
    sync::{Arc, atomic::Ordering},
};
use volley_error::{Error, Result};

/// Bytes of reads ahead that are under way at the same time, at most, for all files.
const AHEAD_BYTES_MAX: u64 = 64 << 20;

/// A file with its version.
#[derive(Clone, Debug)]
pub(super) struct CachedFile {
    pub inner: Arc<dyn RandomAccessFile>,
    pub cache: BlockCache,
    pub key: FileKey,
}

impl CachedFile {
    /// Reads bytes that are not in memory, or waits for another read that has them.
    async fn load(&self, range: &Range<u64>, buffers: &BufferPool) -> Result<Bytes> {
        let loads = &self.cache.0.loads;
        loop {
            if let Some(load) = loads.find(&self.key, range)
                && let Some(bytes) = load.bytes().await
            {
                let start = (range.start - load.range.start) as usize;
                return Ok(bytes.slice(start..start + (range.end - range.start) as usize));
            }
            let owner = Arc::clone(&self.cache.0);
            if let Some(end) = Loads::begin(owner, &self.key, range.clone()) {
                return self.load_alone(range, buffers, end).await;
            }
        }
    }

    async fn load_alone(
        &self,
        range: &Range<u64>,
        buffers: &BufferPool,
        end: LoadEnd,
    ) -> Result<Bytes> {
        // A load that ended before this one began has left its bytes in memory.
        let found = self.cache.memory().find(&self.key, range).joined(range, buffers);
        if let Some(bytes) = found {
            self.count(&self.cache.0.counts.memory_bytes, bytes.len());
            end.done(&bytes);
            return Ok(bytes);
        }
        let bytes = match self.read_disk(range).await? {
            Some(bytes) => bytes,
            None => {
                let read = Arc::clone(&self.inner).start_read(range.clone(), buffers);
                let bytes = read.await?;
                self.count(&self.cache.0.counts.missed_bytes, bytes.len());
                self.cache.keep(&self.key, range.start, &bytes);
                bytes
            }
        };
        end.done(&bytes);
        Ok(bytes)
    }

    /// Reads bytes from the disk, if all are there.
    async fn read_disk(&self, range: &Range<u64>) -> Result<Option<Bytes>> {
        let Some(disk) = self.cache.disk() else { return Ok(None) };
        if !disk.has(&self.key, range) {
            return Ok(None);
        }
        let (key, wanted, buffers) =
            (self.key.clone(), range.clone(), self.cache.0.buffers.clone());
        let read = self.cache.0.runtime.run(move || Ok(disk.read(&key, &wanted, &buffers)));
        let bytes = read.await?;
        if let Some(bytes) = &bytes {
            self.count(&self.cache.0.counts.disk_bytes, bytes.len());
            self.cache.memory().insert(&self.key, range.start, bytes);
        }
        Ok(bytes)
    }

    fn count(&self, counter: &std::sync::atomic::AtomicU64, bytes: usize) {
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Begins to read bytes that will be read soon, as far as memory permits.
    fn read_ahead(&self, range: Range<u64>) {
        let shared = &self.cache.0;
        let bytes = range.end - range.start;
        let fits = |held: u64| Some(held + bytes).filter(|it| *it <= AHEAD_BYTES_MAX);
        let ahead = &shared.ahead_bytes;
        if ahead.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_err() {
            return;
        }
        let counted = AheadBytes { cache: self.cache.clone(), bytes };
        // The read that needs the bytes finds the load from now on.
        let Some(end) = Loads::begin(Arc::clone(shared), &self.key, range.clone()) else { return };
        let this = self.clone();
        // Without a thread for it, the bytes are read when they are needed.
        let _ = shared.runtime.spawn_detached(async move {
            // After a failure, the read that needs the bytes sends a request of its own.
            let _ = this.load_alone(&range, &this.cache.0.buffers, end).await;
            drop(counted);
        });
    }
}

/// Bytes of a read ahead, counted until it is dropped.
struct AheadBytes {
    cache: BlockCache,
    bytes: u64,
}

impl Drop for AheadBytes {
    fn drop(&mut self) {
        self.cache.0.ahead_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl RandomAccessFile for CachedFile {
    fn path(&self) -> &str {
        self.inner.path()
    }

    fn size_bytes(&self) -> u64 {
        self.inner.size_bytes()
    }

    fn version(&self) -> Option<FileVersion> {
        self.inner.version()
    }

    fn transfer_limits(&self) -> TransferLimits {
        self.inner.transfer_limits()
    }

    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
        let bytes = self.read(start..start.saturating_add(out.len() as u64))?;
        out.copy_from_slice(&bytes);
        Ok(())
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        self.check_range(&range)?;
        wait(Arc::new(self.clone()).start_read(range, &BufferPool::default()))
    }

    fn start_read(self: Arc<Self>, range: Range<u64>, buffers: &BufferPool) -> Pending<Bytes> {
        if let Err(error) = self.check_range(&range) {
            return ready(Err(error));
        }
        if range.is_empty() {
            return ready(Ok(Bytes::new()));
        }
        let mut found = self.cache.memory().find(&self.key, &range);
        let incomplete = || Error::internal("a range was not read");
        let Some(missing) = found.missing(&range) else {
            self.count(&self.cache.0.counts.memory_bytes, (range.end - range.start) as usize);
            return ready(found.joined(&range, buffers).ok_or_else(incomplete));
        };
        // What came with the opening needs no thread.
        if self.inner.is_at_hand(std::slice::from_ref(&range)) {
            let read = self.inner.read(range.clone());
            return ready(read.inspect(|it| self.cache.keep(&self.key, range.start, it)));
        }
        let (runtime, buffers) = (self.cache.0.runtime.clone(), buffers.clone());
        runtime.spawn(async move {
            let bytes = self.load(&missing, &buffers).await?;
            if missing == range {
                return Ok(bytes);
            }
            found.add(missing.start, &bytes);
            found.joined(&range, &buffers).ok_or_else(incomplete)
        })
    }

    fn is_at_hand(&self, ranges: &[Range<u64>]) -> bool {
        let mut memory = self.cache.memory();
        ranges.iter().all(|it| memory.has(&self.key, it)) || self.inner.is_at_hand(ranges)
    }

    fn is_near(&self, range: &Range<u64>) -> bool {
        self.cache.has(&self.key, range)
            || self.cache.0.loads.find(&self.key, range).is_some()
            || self.inner.is_at_hand(std::slice::from_ref(range))
    }

    fn will_read(&self, ranges: &[Range<u64>]) {
        if !self.cache.memory().has_room() {
            return;
        }
        let far = ranges.iter().filter(|it| !it.is_empty() && !self.is_near(it)).cloned();
        let far: Vec<Range<u64>> = far.collect();
        let reads = planned_reads(&far, &self.transfer_limits());
        reads.into_iter().for_each(|it| self.read_ahead(it));
    }
}
