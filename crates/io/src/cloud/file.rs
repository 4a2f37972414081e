//! Reads objects.
//!
//! Opening reads the end of the object, which tells its size and version and is what readers of
//! columns ask for first. The end is kept for them, and released when many other files are open.

use super::{
    TRANSFER_LIMITS,
    address::{Address, StoreKind},
    error::{changed, is_range_error, store_error, without_query},
    stores::Store,
};
use crate::{
    BufferPool, FileVersion, IoRuntime, KnownFile, Pending, RandomAccessFile, TransferLimits,
    ready, wait,
};
use bytes::Bytes;
use futures_util::{
    StreamExt,
    future::{Either, select},
};
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta, ObjectStoreExt, path::Path};
use std::{
    collections::VecDeque,
    fmt, io,
    ops::Range,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Instant,
};
use volley_error::{Error, Result};

/// The bytes at the end that are read when a file is opened: most footers fit.
const TAIL_BYTES: u64 = 64 << 10;

/// The bytes of ends that are kept for all files of an engine.
const TAILS_BYTES_MAX: usize = 16 << 20;

/// A read whose bytes end early is sent again this many times.
const TRUNCATED_RETRIES: usize = 3;

/// An object.
pub(super) struct RemoteFile {
    /// As the user wrote it.
    location: String,
    shown: String,
    key: Path,
    store: Arc<Store>,
    size_bytes: u64,
    e_tag: Option<String>,
    version: Option<FileVersion>,
    runtime: IoRuntime,
    /// The end of the object.
    tail: Mutex<Option<Bytes>>,
}

/// The files whose ends are kept, oldest first.
#[derive(Debug, Default)]
pub(super) struct Tails(Mutex<VecDeque<(Weak<RemoteFile>, usize)>>);

impl Tails {
    fn keep(&self, file: &Arc<RemoteFile>, bytes: usize) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|it| it.0.strong_count() > 0);
        kept.push_back((Arc::downgrade(file), bytes));
        let mut sum: usize = kept.iter().map(|it| it.1).sum();
        while sum > TAILS_BYTES_MAX {
            let Some((file, bytes)) = kept.pop_front() else { break };
            sum -= bytes;
            if let Some(file) = file.upgrade() {
                *file.tail() = None;
            }
        }
    }
}

impl RemoteFile {
    /// Opens an object, or one that is known from before: then it has no end to read if it has not
    /// changed.
    ///
    /// # Errors
    ///
    /// I/O: no such object, no permission, the store does not answer.
    pub async fn open(
        location: String,
        address: Address,
        shared: (Arc<Store>, IoRuntime, &Tails),
        known: Option<&KnownFile>,
    ) -> Result<Arc<RemoteFile>> {
        let (key, (store, runtime, tails)) = (address.key, shared);
        let at = |it: object_store::Error| store_error(&location, &it);
        let _permit = store.throttle.acquire().await;
        let Opened { meta, tail } = request_end(&store, &key, known).await.map_err(at)?;
        let tail = match tail {
            Some(result) => Some(result.bytes().await.map_err(at)?),
            None => None,
        };
        let tail_bytes = tail.as_ref().map_or(0, Bytes::len);
        if tail_bytes as u64 != meta.size.min(TAIL_BYTES) && tail_bytes > 0 {
            return Err(ended_early(&location));
        }
        let version = version_of(&meta);
        let e_tag = meta.e_tag.filter(|it| is_strong(it));
        let file = Arc::new(RemoteFile {
            shown: without_query(&location).to_owned(),
            location,
            key,
            store,
            size_bytes: meta.size,
            e_tag,
            version,
            runtime,
            tail: Mutex::new(tail),
        });
        tails.keep(&file, tail_bytes);
        Ok(file)
    }

    fn tail(&self) -> MutexGuard<'_, Option<Bytes>> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of a range, if the end that is kept has them.
    fn kept(&self, range: &Range<u64>) -> Option<Bytes> {
        if range.is_empty() {
            return Some(Bytes::new());
        }
        let tail = self.tail();
        let tail = tail.as_ref()?;
        let start = range.start.checked_sub(self.size_bytes - tail.len() as u64)? as usize;
        let len = (range.end - range.start) as usize;
        (start + len <= tail.len()).then(|| tail.slice(start..start + len))
    }

    /// Reads a range; a second request is sent if the first is a straggler, and the first answer
    /// is taken.
    async fn fetch(&self, range: Range<u64>, buffers: &BufferPool) -> Result<Bytes> {
        let _permit = self.store.throttle.acquire().await;
        let first = pin!(self.fetch_whole(&range, buffers));
        let Some(limit) = self.store.throttle.straggles_after(range.end - range.start) else {
            return first.await;
        };
        let first = match select(first, pin!(tokio::time::sleep(limit))).await {
            Either::Left((result, _)) => return result,
            Either::Right(((), first)) => first,
        };
        let second = pin!(self.fetch_whole(&range, buffers));
        match select(first, second).await {
            Either::Left((Ok(bytes), _)) | Either::Right((Ok(bytes), _)) => Ok(bytes),
            Either::Left((Err(_), second)) => second.await,
            Either::Right((Err(_), first)) => first.await,
        }
    }

    async fn fetch_whole(&self, range: &Range<u64>, buffers: &BufferPool) -> Result<Bytes> {
        for _ in 0..TRUNCATED_RETRIES {
            if let Some(bytes) = self.fetch_once(range, buffers).await? {
                return Ok(bytes);
            }
        }
        Err(ended_early(&self.location))
    }

    /// One request; `None` when its bytes end early.
    async fn fetch_once(&self, range: &Range<u64>, buffers: &BufferPool) -> Result<Option<Bytes>> {
        let at = |it: object_store::Error| store_error(&self.location, &it);
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            if_match: self.e_tag.clone(),
            ..GetOptions::default()
        };
        let start = Instant::now();
        let result = self.store.objects.get_opts(&self.key, options).await.map_err(at)?;
        let first_byte = start.elapsed();
        if result.meta.size != self.size_bytes {
            return Err(changed(&self.shown));
        }
        let len = (range.end - range.start) as usize;
        let mut buffer = buffers.take(len);
        let mut filled = 0;
        let mut chunks = result.into_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(at)?;
            let Some(out) = buffer.get_mut(filled..filled + chunk.len()) else { return Ok(None) };
            out.copy_from_slice(&chunk);
            filled += chunk.len();
        }
        if filled < len {
            return Ok(None);
        }
        self.store.throttle.finished(first_byte, start.elapsed() - first_byte, len as u64);
        Ok(Some(buffer.freeze()))
    }
}

/// What tells an object from others: its entity tag, or its time and size.
pub(super) fn version_of(meta: &ObjectMeta) -> Option<FileVersion> {
    let e_tag = meta.e_tag.as_deref().filter(|it| is_strong(it));
    e_tag.map(FileVersion::new).or_else(|| {
        let changed_at = meta.last_modified.timestamp_micros();
        (changed_at != 0).then(|| FileVersion::new(&format!("{changed_at}-{}", meta.size)))
    })
}

/// A weak tag does not say that bytes are equal, and cannot be a condition of a read.
fn is_strong(e_tag: &str) -> bool {
    !e_tag.starts_with("W/")
}

struct Opened {
    meta: ObjectMeta,
    /// The end, to be read.
    tail: Option<GetResult>,
}

/// Requests the end of an object. A known one that has not changed is answered without bytes.
async fn request_end(
    store: &Store,
    key: &Path,
    known: Option<&KnownFile>,
) -> object_store::Result<Opened> {
    if store.kind == StoreKind::Azure {
        return open_by_size(store, key, known).await;
    }
    // A version that is not in quotes is made of size and time, and no tag of the store.
    let known = known.filter(|it| it.version.as_str().starts_with('"'));
    let options = GetOptions {
        range: Some(GetRange::Suffix(TAIL_BYTES)),
        if_none_match: known.map(|it| it.version.to_string()),
        ..GetOptions::default()
    };
    match (store.objects.get_opts(key, options).await, known) {
        (Ok(result), _) => Ok(Opened { meta: result.meta.clone(), tail: Some(result) }),
        (Err(object_store::Error::NotModified { .. }), Some(known)) => {
            let meta = ObjectMeta {
                location: key.clone(),
                last_modified: Default::default(),
                size: known.size_bytes,
                e_tag: Some(known.version.to_string()),
                version: None,
            };
            Ok(Opened { meta, tail: None })
        }
        // An empty object has no range.
        (Err(error), _) if is_range_error(&error) && store.kind != StoreKind::Http => {
            let meta = store.objects.head(key).await?;
            if meta.size > 0 { Err(error) } else { Ok(Opened { meta, tail: None }) }
        }
        (Err(error), _) => Err(error),
    }
}

/// Opens an object of a store that does not read the end of an object of unknown size.
async fn open_by_size(
    store: &Store,
    key: &Path,
    known: Option<&KnownFile>,
) -> object_store::Result<Opened> {
    let meta = store.objects.head(key).await?;
    let is_known = known.is_some_and(|it| meta.e_tag.as_deref() == Some(it.version.as_str()));
    if meta.size == 0 || is_known {
        return Ok(Opened { meta, tail: None });
    }
    let options = GetOptions {
        range: Some(GetRange::Bounded(meta.size.saturating_sub(TAIL_BYTES)..meta.size)),
        if_match: meta.e_tag.clone(),
        ..GetOptions::default()
    };
    let tail = store.objects.get_opts(key, options).await?;
    Ok(Opened { meta, tail: Some(tail) })
}

fn ended_early(location: &str) -> Error {
    let source = io::Error::from(io::ErrorKind::UnexpectedEof);
    Error::io(without_query(location), source).at("store", "the answer ends early")
}

impl RandomAccessFile for RemoteFile {
    fn path(&self) -> &str {
        &self.shown
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn version(&self) -> Option<FileVersion> {
        self.version.clone()
    }

    fn transfer_limits(&self) -> TransferLimits {
        TRANSFER_LIMITS
    }

    fn read_into(&self, start: u64, out: &mut [u8]) -> Result<()> {
        let range = start..start.saturating_add(out.len() as u64);
        self.check_range(&range)?;
        let bytes = match self.kept(&range) {
            Some(bytes) => bytes,
            None => wait(self.clone_handle().start_read(range, &BufferPool::default()))?,
        };
        out.copy_from_slice(&bytes);
        Ok(())
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes> {
        self.check_range(&range)?;
        match self.kept(&range) {
            Some(bytes) => Ok(bytes),
            None => wait(self.clone_handle().start_read(range, &BufferPool::default())),
        }
    }

    fn start_read(self: Arc<Self>, range: Range<u64>, buffers: &BufferPool) -> Pending<Bytes> {
        if let Err(error) = self.check_range(&range) {
            return ready(Err(error));
        }
        if let Some(bytes) = self.kept(&range) {
            return ready(Ok(bytes));
        }
        let (runtime, buffers) = (self.runtime.clone(), buffers.clone());
        runtime.spawn(async move { self.fetch(range, &buffers).await })
    }

    fn is_at_hand(&self, ranges: &[Range<u64>]) -> bool {
        ranges.iter().all(|it| self.kept(it).is_some())
    }
}

impl RemoteFile {
    /// The same file, to read it on another thread.
    fn clone_handle(&self) -> Arc<RemoteFile> {
        Arc::new(RemoteFile {
            location: self.location.clone(),
            shown: self.shown.clone(),
            key: self.key.clone(),
            store: Arc::clone(&self.store),
            size_bytes: self.size_bytes,
            e_tag: self.e_tag.clone(),
            version: self.version.clone(),
            runtime: self.runtime.clone(),
            tail: Mutex::new(None),
        })
    }
}

impl fmt::Debug for RemoteFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteFile({}, {} bytes)", self.shown, self.size_bytes)
    }
}
