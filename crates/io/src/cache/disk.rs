//! Blocks on a local disk.
//!
//! ```text
//! folder/lock              one process uses a folder
//! folder/region-00000007   records (`record.rs`), appended until the region is full
//! ```
//!
//! The index is in memory. It is made again from the heads of the records when the folder is
//! opened. When the regions take more than the limit, one is removed as a whole: the oldest that
//! was not read since the clock came by last. A block with another checksum than its record's is
//! not used. Nothing is synced: after a crash of the machine, damaged records are skipped.

use super::{
    FileKey, KnownFile,
    blocks::Blocks,
    record::{HEADER_BYTES, Record, checksum},
};
use crate::{BufferPool, IoRuntime};
use bytes::Bytes;
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    fs::{self, File, TryLockError},
    io,
    ops::Range,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};
use volley_error::{Error, Result};

/// A region is full at this size, or at 1/8 of the limit if that is less.
const REGION_BYTES_MAX: u64 = 256 << 20;
const REGION_SHARE: u64 = 8;

/// How often a folder that is locked is tried, and the time in between: a second in all.
const LOCK_ATTEMPTS: usize = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// Blocks that wait to be written; more are not kept on disk.
const WAITING_BYTES_MAX: u64 = 128 << 20;

/// The blocks of a folder.
pub(super) struct DiskTier {
    folder: PathBuf,
    limit_bytes: AtomicU64,
    index: Mutex<Index>,
    waiting: Arc<Waiting>,
    /// Held while the folder is used.
    _lock: File,
}

#[derive(Default)]
struct Index {
    by_location: HashMap<Arc<str>, CachedFile>,
    /// Oldest first; the last one is written.
    regions: VecDeque<Arc<Region>>,
    next_region: u64,
}

struct CachedFile {
    known: KnownFile,
    /// By their starts.
    blocks: BTreeMap<u64, DiskBlock>,
}

#[derive(Clone)]
struct DiskBlock {
    region: Arc<Region>,
    /// Where the block is in the region.
    at: u64,
    start: u64,
    len: u32,
    checksum: u64,
}

struct Region {
    number: u64,
    path: PathBuf,
    file: File,
    /// Where the next record begins.
    end: Mutex<u64>,
    /// Bytes of all records that were given a place, also of those that are not written yet.
    planned: AtomicU64,
    was_used: AtomicBool,
}

/// Bytes of blocks that wait to be written.
#[derive(Default)]
struct Waiting {
    bytes: Mutex<u64>,
    is_empty: Condvar,
}

impl DiskTier {
    /// Uses a folder.
    ///
    /// # Errors
    ///
    /// I/O; invalid value: another process uses it.
    pub fn open(folder: &Path, limit_bytes: u64) -> Result<DiskTier> {
        let at = |it: io::Error| Error::io(folder.to_string_lossy(), it);
        make_folder(folder).map_err(at)?;
        let lock = File::create(folder.join("lock")).map_err(at)?;
        if !try_lock(&lock).map_err(at)? {
            let message = format!("another process uses the cache in {}", folder.display());
            return Err(Error::invalid_value(message).hint("give each process a folder"));
        }
        let index = Mutex::new(Index::read(folder).map_err(at)?);
        let (folder, waiting) = (folder.to_path_buf(), Arc::default());
        let tier = DiskTier {
            folder,
            limit_bytes: AtomicU64::new(limit_bytes),
            index,
            waiting,
            _lock: lock,
        };
        tier.lock().shrink_to(limit_bytes);
        Ok(tier)
    }

    fn lock(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where the blocks are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Changes how many bytes the regions may have.
    pub fn set_limit(&self, bytes: u64) {
        self.limit_bytes.store(bytes, Ordering::Relaxed);
        self.lock().shrink_to(bytes);
    }

    /// The version and size of a file that has blocks.
    pub fn known(&self, location: &str) -> Option<KnownFile> {
        self.lock().by_location.get(location).map(|it| it.known.clone())
    }

    /// Notes a file's current version; blocks of another one are not found any more.
    pub fn opened(&self, key: &FileKey, size_bytes: u64) {
        let known = KnownFile { version: key.version.clone(), size_bytes };
        self.lock().file(&key.location, known);
    }

    /// Whether all bytes of a range are here.
    pub fn has(&self, key: &FileKey, range: &Range<u64>) -> bool {
        self.lock().find(key, range).is_some()
    }

    /// Reads a range; `None` if some bytes are not here, or are damaged. Blocks the thread.
    pub fn read(&self, key: &FileKey, range: &Range<u64>, buffers: &BufferPool) -> Option<Bytes> {
        let blocks = self.lock().find(key, range)?;
        let mut read = Blocks::default();
        for block in blocks {
            block.region.was_used.store(true, Ordering::Relaxed);
            let mut bytes = buffers.take(block.len as usize);
            let is_read = block.region.file.read_exact_at(&mut bytes, block.at).is_ok();
            if !is_read || checksum(&bytes) != block.checksum {
                self.lock().forget(key, block.start);
                return None;
            }
            read.add(block.start, &bytes.freeze());
        }
        read.joined(range, buffers)
    }

    /// Writes a block on a thread of `runtime`, unless it is here or too many wait.
    pub fn write_later(
        self: &Arc<Self>,
        key: &FileKey,
        start: u64,
        bytes: &Bytes,
        runtime: &IoRuntime,
    ) {
        let len = bytes.len() as u64;
        if self.has(key, &(start..start + len)) {
            return;
        }
        let Some(waits) = WaitingBlock::new(&self.waiting, len) else { return };
        let (this, key, bytes) = (Arc::clone(self), key.clone(), bytes.clone());
        // It is written whether or not the result is polled.
        drop(runtime.run(move || {
            // A block that is not written is read from its file again.
            let _ = this.write(&key, start, &bytes);
            // After the wait the folder may be opened again, which takes its lock.
            drop(this);
            drop(waits);
            Ok(())
        }));
    }

    /// Waits until all blocks are written.
    pub fn wait_written(&self) {
        let bytes = self.waiting.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.waiting.is_empty.wait_while(bytes, |it| *it > 0));
    }

    fn write(&self, key: &FileKey, start: u64, bytes: &Bytes) -> io::Result<()> {
        let known = self.known(&key.location).filter(|it| it.version == key.version);
        let Some(KnownFile { size_bytes, .. }) = known else { return Ok(()) };
        let Some(record) = Record::new(key, size_bytes, start, bytes) else { return Ok(()) };
        let head = record.head();
        let record_bytes = (head.len() + bytes.len()) as u64;
        let Some(region) = self.region_for(record_bytes)? else { return Ok(()) };
        // One thread appends to a region at a time, so that no gap stops reading it later.
        let mut end = region.end.lock().unwrap_or_else(PoisonError::into_inner);
        let at = *end + head.len() as u64;
        region.file.write_all_at(bytes, at)?;
        region.file.write_all_at(&head, *end)?;
        *end += record_bytes;
        drop(end);
        self.lock().add(&record, &region, at);
        Ok(())
    }

    /// The region for a record of this size; `None` if it is too large for any.
    fn region_for(&self, bytes: u64) -> io::Result<Option<Arc<Region>>> {
        let limit_bytes = self.limit_bytes.load(Ordering::Relaxed);
        let region_bytes = REGION_BYTES_MAX.min(limit_bytes / REGION_SHARE);
        if bytes > region_bytes {
            return Ok(None);
        }
        let mut index = self.lock();
        if let Some(last) = index.regions.back()
            && last.planned_bytes() + bytes <= region_bytes
        {
            last.planned.fetch_add(bytes, Ordering::Relaxed);
            return Ok(Some(Arc::clone(last)));
        }
        index.shrink_to(limit_bytes.saturating_sub(region_bytes));
        let region = Arc::new(Region::create(&self.folder, index.next_region)?);
        region.planned.store(bytes, Ordering::Relaxed);
        index.next_region += 1;
        index.regions.push_back(Arc::clone(&region));
        Ok(Some(region))
    }

    /// The bytes of each file.
    pub fn sizes(&self) -> Vec<(FileKey, u64)> {
        let index = self.lock();
        let size = |(location, file): (&Arc<str>, &CachedFile)| {
            let bytes = file.blocks.values().map(|it| u64::from(it.len)).sum();
            let version = file.known.version.clone();
            (FileKey { location: Arc::clone(location), version }, bytes)
        };
        index.by_location.iter().map(size).filter(|it| it.1 > 0).collect()
    }
}

/// A block that waits to be written, until it is dropped.
struct WaitingBlock {
    waiting: Arc<Waiting>,
    bytes: u64,
}

impl WaitingBlock {
    /// `None` if too many wait.
    fn new(waiting: &Arc<Waiting>, bytes: u64) -> Option<WaitingBlock> {
        let mut sum = waiting.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        if *sum + bytes > WAITING_BYTES_MAX {
            return None;
        }
        *sum += bytes;
        Some(WaitingBlock { waiting: Arc::clone(waiting), bytes })
    }
}

impl Drop for WaitingBlock {
    fn drop(&mut self) {
        let mut sum = self.waiting.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        *sum = sum.saturating_sub(self.bytes);
        if *sum == 0 {
            self.waiting.is_empty.notify_all();
        }
    }
}

impl Index {
    /// Reads the heads of all records of a folder.
    fn read(folder: &Path) -> io::Result<Index> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|it| it.strip_prefix("region-"));
            numbers.extend(number.and_then(|it| it.parse::<u64>().ok()));
        }
        numbers.sort_unstable();
        let mut index = Index::default();
        for number in numbers {
            index.next_region = number + 1;
            let region = Arc::new(Region::open(folder, number)?);
            index.regions.push_back(Arc::clone(&region));
            index.read_region(&region)?;
        }
        Ok(index)
    }

    fn read_region(&mut self, region: &Arc<Region>) -> io::Result<()> {
        let size = region.file.metadata()?.len();
        let mut next = 0;
        while let Some((record, at)) = region.record(next, size) {
            next = at + u64::from(record.len);
            self.add(&record, region, at);
        }
        *region.end.lock().unwrap_or_else(PoisonError::into_inner) = next;
        region.planned.store(next, Ordering::Relaxed);
        Ok(())
    }

    /// The file of a location; without blocks if it is of another version.
    fn file(&mut self, location: &Arc<str>, known: KnownFile) -> &mut CachedFile {
        let new = || CachedFile { known: known.clone(), blocks: BTreeMap::new() };
        let file = self.by_location.entry(Arc::clone(location)).or_insert_with(new);
        if file.known != known {
            *file = new();
        }
        file
    }

    fn add(&mut self, record: &Record, region: &Arc<Region>, at: u64) {
        let Record { key, start, len, checksum, .. } = record;
        let region = Arc::clone(region);
        let block = DiskBlock { region, at, start: *start, len: *len, checksum: *checksum };
        let blocks = &mut self.file(&key.location, record.known()).blocks;
        // Of two with the same start, the longer one has the bytes of both.
        if blocks.get(start).is_none_or(|it| it.len <= *len) {
            blocks.insert(*start, block);
        }
    }

    /// Blocks that have all bytes of a range together.
    fn find(&self, key: &FileKey, range: &Range<u64>) -> Option<Vec<DiskBlock>> {
        let file = self.by_location.get(&key.location)?;
        if file.known.version != key.version {
            return None;
        }
        let mut found: Vec<DiskBlock> = Vec::new();
        let mut next = range.start;
        while next < range.end {
            // Of those that begin at or before it, the last ones are most likely to have it.
            let before = file.blocks.range(..=next).rev().take(4).map(|it| it.1);
            let block = before.max_by_key(|it| it.start + u64::from(it.len))?;
            let end = block.start + u64::from(block.len);
            if end <= next {
                return None;
            }
            next = end;
            found.push(block.clone());
        }
        Some(found)
    }

    fn forget(&mut self, key: &FileKey, start: u64) {
        if let Some(file) = self.by_location.get_mut(&key.location) {
            file.blocks.remove(&start);
        }
    }

    /// Removes regions until the others have at most this number of bytes.
    fn shrink_to(&mut self, bytes_max: u64) {
        let mut bytes: u64 = self.regions.iter().map(|it| it.planned_bytes()).sum();
        while bytes > bytes_max {
            let Some(region) = self.regions.pop_front() else { return };
            if region.was_used.swap(false, Ordering::Relaxed) {
                self.regions.push_back(region);
                continue;
            }
            bytes -= region.planned_bytes();
            let _ = fs::remove_file(&region.path);
            self.by_location.retain(|_, file| {
                file.blocks.retain(|_, it| it.region.number != region.number);
                !file.blocks.is_empty()
            });
        }
    }
}

impl Region {
    fn path(folder: &Path, number: u64) -> PathBuf {
        folder.join(format!("region-{number:08}"))
    }

    fn create(folder: &Path, number: u64) -> io::Result<Region> {
        let path = Region::path(folder, number);
        let file =
            File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
        Ok(Region::new(number, path, file))
    }

    fn open(folder: &Path, number: u64) -> io::Result<Region> {
        let path = Region::path(folder, number);
        let file = File::options().read(true).write(true).open(&path)?;
        Ok(Region::new(number, path, file))
    }

    fn new(number: u64, path: PathBuf, file: File) -> Region {
        let (planned, was_used) = (AtomicU64::new(0), AtomicBool::new(false));
        Region { number, path, file, end: Mutex::new(0), planned, was_used }
    }

    fn planned_bytes(&self) -> u64 {
        self.planned.load(Ordering::Relaxed)
    }

    /// The record at a place, and where its block begins; `None` at the end of what is whole.
    fn record(&self, at: u64, size: u64) -> Option<(Record, u64)> {
        let mut header = [0; HEADER_BYTES];
        self.file.read_exact_at(&mut header, at).ok()?;
        let lengths = Record::lengths(&header)?;
        let mut head = vec![0; HEADER_BYTES + lengths.text];
        self.file.read_exact_at(&mut head, at).ok()?;
        let record = Record::parse(&head)?;
        let block = at + head.len() as u64;
        (block + u64::from(record.len) <= size).then_some((record, block))
    }
}

/// Locks a file; `false` if another process has it. One that is ending may take a moment.
fn try_lock(file: &File) -> io::Result<bool> {
    for _ in 0..LOCK_ATTEMPTS {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(false)
}

/// Makes a folder that other users cannot read: blocks are parts of files that they may not read.
fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    if folder.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
