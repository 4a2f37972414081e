//! What reads of single rows keep: opened blocks, and indexes of segments.
//!
//! Entries are evicted when there is no memory for others, those first that were used longest ago.

use crate::key_index::SegmentIndex;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use volley_codec::ColumnReader;
use volley_memory::{Pool, Reservation};

/// Entries take at most one of this many bytes of the memory limit.
const LIMIT_PART: usize = 8;

/// Entries of a database without a memory limit, in bytes.
const UNLIMITED_BYTES: usize = 2 << 30;

/// An opened block.
pub(crate) type SharedReader = Arc<Mutex<ColumnReader>>;

/// A cache for reads of single rows.
pub(crate) struct PointCache {
    pool: Pool,
    limit_bytes: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: BTreeMap<CacheKey, CacheEntry>,
    /// Indexes of large segments that were asked for once.
    asked: BTreeSet<CacheKey>,
    bytes: usize,
    uses: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CacheKey {
    /// File and offset.
    Block(u32, u64),
    /// Segment and columns of the key.
    Index(u32, Vec<usize>),
}

struct CacheEntry {
    value: Cached,
    bytes: usize,
    last_use: u64,
    /// Of entries that are not charged themselves.
    _charge: Option<Reservation>,
}

#[derive(Clone)]
enum Cached {
    Reader(SharedReader),
    Index(Arc<SegmentIndex>),
}

impl PointCache {
    /// An empty cache, charged to `pool`.
    pub(crate) fn new(pool: &Pool) -> Arc<PointCache> {
        let limit = pool.limit_bytes();
        let limit_bytes = if limit == usize::MAX { UNLIMITED_BYTES } else { limit / LIMIT_PART };
        let pool = pool.child("reads of single rows");
        Arc::new(PointCache { pool, limit_bytes, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves bytes for an entry, for which others are evicted; `None` if there is not enough
    /// memory even without them.
    pub(crate) fn reserve(&self, bytes: usize) -> Option<Reservation> {
        if bytes > self.limit_bytes {
            return None;
        }
        let mut state = self.state();
        while state.bytes + bytes > self.limit_bytes && state.evict() {}
        let mut reservation = self.pool.reservation();
        while reservation.grow(bytes).is_err() {
            if !state.evict() {
                return None;
            }
        }
        Some(reservation)
    }

    /// The index of a segment.
    pub(crate) fn index(&self, segment: u32, columns: &[usize]) -> Option<Arc<SegmentIndex>> {
        match self.state().get(&CacheKey::Index(segment, columns.to_vec()))? {
            Cached::Index(index) => Some(index),
            Cached::Reader(_) => None,
        }
    }

    /// Notes that the index of a large segment was asked for; whether it was before. To make one
    /// takes several times as long as to read the rows once.
    pub(crate) fn was_asked(&self, segment: u32, columns: &[usize]) -> bool {
        !self.state().asked.insert(CacheKey::Index(segment, columns.to_vec()))
    }

    /// Keeps the index of a segment.
    pub(crate) fn put_index(&self, segment: u32, columns: &[usize], index: &Arc<SegmentIndex>) {
        let key = CacheKey::Index(segment, columns.to_vec());
        self.state().put(key, Cached::Index(Arc::clone(index)), index.bytes(), None);
    }

    /// The opened block at an offset of a file.
    pub(crate) fn reader(&self, file: u32, offset: u64) -> Option<SharedReader> {
        match self.state().get(&CacheKey::Block(file, offset))? {
            Cached::Reader(reader) => Some(reader),
            Cached::Index(_) => None,
        }
    }

    /// Keeps an opened block of `bytes`, if there is memory for it.
    pub(crate) fn put_reader(&self, file: u32, offset: u64, bytes: usize, reader: &SharedReader) {
        if let Some(charge) = self.reserve(bytes) {
            let value = Cached::Reader(Arc::clone(reader));
            self.state().put(CacheKey::Block(file, offset), value, bytes, Some(charge));
        }
    }
}

impl State {
    fn get(&mut self, key: &CacheKey) -> Option<Cached> {
        self.uses += 1;
        let entry = self.entries.get_mut(key)?;
        entry.last_use = self.uses;
        Some(entry.value.clone())
    }

    fn put(&mut self, key: CacheKey, value: Cached, bytes: usize, charge: Option<Reservation>) {
        self.uses += 1;
        let entry = CacheEntry { value, bytes, last_use: self.uses, _charge: charge };
        self.bytes += bytes;
        if let Some(before) = self.entries.insert(key, entry) {
            self.bytes -= before.bytes;
        }
    }

    /// Removes the entry that was used longest ago; whether there was one.
    fn evict(&mut self) -> bool {
        let oldest = self.entries.iter().min_by_key(|it| it.1.last_use).map(|it| it.0.clone());
        let Some(entry) = oldest.and_then(|it| self.entries.remove(&it)) else { return false };
        self.bytes -= entry.bytes;
        true
    }
}

impl fmt::Debug for PointCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PointCache({} bytes)", self.state().bytes)
    }
}
