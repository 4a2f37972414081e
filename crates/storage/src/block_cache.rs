//! Blocks of columns in memory: read from their file, and checked, once.
//!
//! A block never changes, and the number of a file is never used again, so that blocks need no
//! validation. The cache takes memory that nothing else needs: a growth that the limit would refuse
//! takes it back first ([`Reclaimable`]). Blocks are replaced by the clock algorithm, in which a
//! block that was read again gets a second chance.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};
use volley_memory::{Pool, Reclaimable, Reservation};
use volley_vector::Buffer;

/// The cache takes at most one of this many bytes of the memory limit.
const LIMIT_PART: usize = 2;

/// Blocks of a database without a memory limit, in bytes.
const UNLIMITED_BYTES: usize = 4 << 30;

/// What a block takes apart from its bytes, about.
const BLOCK_OVERHEAD: usize = 128;

/// File and offset of a block.
type BlockKey = (u32, u64);

/// A cache of blocks that were checked.
pub(crate) struct BlockCache {
    limit_bytes: AtomicUsize,
    state: Mutex<State>,
    hits: AtomicU64,
}

#[derive(Default)]
struct State {
    blocks: HashMap<BlockKey, Block>,
    /// In the order in which they are looked at to be replaced.
    clock: VecDeque<BlockKey>,
    bytes: usize,
    /// Of all blocks.
    reservation: Option<Reservation>,
}

struct Block {
    payload: Buffer,
    was_used: bool,
}

impl BlockCache {
    /// An empty cache, whose memory is that of `pool`.
    pub(crate) fn new(pool: &Pool) -> Arc<BlockCache> {
        let limit = pool.limit_bytes();
        let limit = if limit == usize::MAX { UNLIMITED_BYTES } else { limit / LIMIT_PART };
        let (limit_bytes, hits) = (AtomicUsize::new(limit), AtomicU64::new(0));
        let cache = Arc::new(BlockCache { limit_bytes, state: Mutex::default(), hits });
        let reclaimable = Arc::clone(&cache) as Arc<dyn Reclaimable>;
        let pool = pool.reclaimable_child("blocks of tables", &reclaimable);
        cache.state().reservation = Some(pool.reservation());
        cache
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The payload of a block, if it is here.
    pub(crate) fn get(&self, file: u32, offset: u64) -> Option<Buffer> {
        let mut state = self.state();
        let block = state.blocks.get_mut(&(file, offset))?;
        block.was_used = true;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(block.payload.clone())
    }

    /// Keeps the payload of a block that was checked, if there is memory for it. Dropped blocks are
    /// freed after the lock.
    pub(crate) fn put(&self, file: u32, offset: u64, payload: &Buffer) {
        let mut dropped = Vec::new();
        let mut state = self.state();
        let bytes = payload.len() + BLOCK_OVERHEAD;
        let is_here = state.blocks.contains_key(&(file, offset));
        let limit = self.limit_bytes.load(Ordering::Relaxed);
        if is_here || !state.make_room(bytes, limit, &mut dropped) {
            return;
        }
        let block = Block { payload: payload.clone(), was_used: false };
        state.blocks.insert((file, offset), block);
        state.clock.push_back((file, offset));
        state.bytes += bytes;
        drop(state);
    }

    /// Changes how many bytes it may take.
    pub(crate) fn set_limit(&self, bytes: usize) {
        self.limit_bytes.store(bytes, Ordering::Relaxed);
        let (mut state, mut dropped) = (self.state(), Vec::new());
        let surplus = state.bytes.saturating_sub(bytes);
        state.release(surplus, &mut dropped);
    }

    /// Drops the blocks of files for which `is_removed` holds.
    pub(crate) fn forget(&self, is_removed: impl Fn(u32) -> bool) {
        let mut state = self.state();
        let removed = state.blocks.extract_if(|key, _| is_removed(key.0));
        let removed: Vec<Block> = removed.map(|it| it.1).collect();
        state.clock.retain(|it| !is_removed(it.0));
        state.shrink(removed.iter().map(Block::charge).sum());
    }

    /// Reads that a block of the cache answered.
    pub(crate) fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }
}

impl State {
    /// Reserves bytes, and moves other blocks to `dropped` for that; whether there are enough.
    fn make_room(&mut self, bytes: usize, limit: usize, dropped: &mut Vec<Block>) -> bool {
        let Some(reservation) = &self.reservation else { return false };
        // What queries have left; the bytes of the cache do not count as used there.
        let limit = limit.min(reservation.pool().spare_bytes());
        if bytes > limit {
            return false;
        }
        self.release((self.bytes + bytes).saturating_sub(limit), dropped);
        self.reservation.as_mut().is_some_and(|it| it.grow(bytes).is_ok())
    }

    /// Moves blocks of at least this number of bytes to `dropped`, as far as there are any; how
    /// many bytes they had.
    fn release(&mut self, bytes: usize, dropped: &mut Vec<Block>) -> usize {
        let mut released = 0;
        while released < bytes {
            let Some(key) = self.clock.pop_front() else { break };
            let Some(block) = self.blocks.get_mut(&key) else { continue };
            if std::mem::take(&mut block.was_used) {
                self.clock.push_back(key);
            } else if let Some(block) = self.blocks.remove(&key) {
                released += block.charge();
                dropped.push(block);
            }
        }
        self.shrink(released);
        released
    }

    fn shrink(&mut self, bytes: usize) {
        self.bytes -= bytes;
        if let Some(reservation) = &mut self.reservation {
            reservation.shrink(bytes);
        }
    }
}

impl Block {
    fn charge(&self) -> usize {
        self.payload.len() + BLOCK_OVERHEAD
    }
}

impl Reclaimable for BlockCache {
    fn reclaim(&self, bytes: usize) -> usize {
        let mut dropped = Vec::new();
        // A thread that holds the lock may be the one that asks: it reserves memory for a block.
        match self.state.try_lock() {
            Ok(mut state) => state.release(bytes, &mut dropped),
            Err(_) => 0,
        }
    }
}

impl fmt::Debug for BlockCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlockCache({} bytes)", self.state.try_lock().map_or(0, |it| it.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn payload(byte: u8) -> Buffer {
        Buffer::from_vec(vec![byte; MIB])
    }

    #[test]
    fn blocks_that_are_used_again_stay() {
        let cache = BlockCache::new(&Pool::root("test", Some(64 * MIB)));
        (0..20).for_each(|it| cache.put(it, 0, &payload(it as u8)));
        assert!(cache.get(0, 8).is_none());
        for number in 20..50 {
            assert_eq!(cache.get(3, 0).unwrap().as_slice().first(), Some(&3));
            cache.put(number, 0, &payload(number as u8));
        }
        assert!(cache.get(1, 0).is_none() && cache.get(49, 0).is_some());
        assert_eq!(cache.hits(), 31);
        let bytes = cache.state().bytes;
        assert!(bytes <= 32 * MIB && bytes > 16 * MIB, "{bytes}");
    }

    #[test]
    fn others_that_need_memory_get_it() {
        let pool = Pool::root("test", Some(64 * MIB));
        let cache = BlockCache::new(&pool);
        (0..20).for_each(|it| cache.put(it, 0, &payload(1)));
        assert_eq!(cache.state().bytes, 20 * (MIB + BLOCK_OVERHEAD));
        let mut reservation = pool.child("query").reservation();
        reservation.grow(60 * MIB).unwrap();
        assert!(cache.state().bytes < 5 * MIB);
        cache.put(99, 0, &payload(1));
        assert!(cache.get(99, 0).is_none());
        drop(reservation);
        cache.put(99, 0, &payload(1));
        assert!(cache.get(99, 0).is_some());
    }

    #[test]
    fn blocks_of_removed_files_are_dropped() {
        let cache = BlockCache::new(&Pool::root("test", None));
        (0..4).for_each(|it| cache.put(it, 7, &payload(1)));
        cache.forget(|it| it < 3);
        assert!(cache.get(2, 7).is_none() && cache.get(3, 7).is_some());
        assert_eq!(cache.state().bytes, MIB + BLOCK_OVERHEAD);
        cache.forget(|_| true);
        assert_eq!(cache.state().bytes, 0);
        assert!(cache.state().clock.is_empty());
        cache.put(1, 7, &payload(1));
        cache.set_limit(0);
        cache.put(2, 7, &payload(1));
        assert!(cache.get(1, 7).is_none() && cache.get(2, 7).is_none());
    }
}
