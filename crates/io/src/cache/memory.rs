//! Blocks in memory.

use super::{FileKey, KnownFile, blocks::Blocks};
use bytes::Bytes;
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    ops::Range,
    sync::Arc,
};
use volley_memory::{Pool, Reservation};

/// What a block takes apart from its bytes, about.
const BLOCK_OVERHEAD: u64 = 256;

/// Blocks of files.
#[derive(Default)]
pub(super) struct MemoryTier {
    by_location: HashMap<Arc<str>, CachedFile>,
    /// Blocks in the order in which they are looked at to be replaced.
    clock: VecDeque<(FileKey, u64)>,
    bytes: u64,
    limit_bytes: u64,
    reservation: Option<Reservation>,
}

struct CachedFile {
    known: KnownFile,
    /// By their starts; they do not overlap.
    blocks: BTreeMap<u64, Block>,
}

struct Block {
    bytes: Bytes,
    was_used: bool,
}

impl MemoryTier {
    /// Takes memory of a pool.
    pub fn reserve_in(&mut self, pool: Pool, limit_bytes: u64) {
        self.release(u64::MAX);
        self.reservation = Some(pool.reservation());
        self.limit_bytes = limit_bytes;
    }

    /// The most bytes that it may take.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Changes the limit.
    pub fn set_limit(&mut self, bytes: u64) {
        self.limit_bytes = bytes;
        self.release(self.bytes.saturating_sub(bytes));
    }

    /// The version and size of a file that was opened.
    pub fn known(&self, location: &str) -> Option<KnownFile> {
        self.by_location.get(location).map(|it| it.known.clone())
    }

    /// Notes a file's current version, and drops blocks of another one.
    pub fn opened(&mut self, key: &FileKey, size_bytes: u64) {
        if self.limit_bytes == 0 {
            return;
        }
        let known = KnownFile { version: key.version.clone(), size_bytes };
        match self.by_location.get_mut(&key.location) {
            Some(file) if file.known == known => {}
            Some(file) => {
                let old: u64 = file.blocks.values().map(Block::charge).sum();
                *file = CachedFile { known, blocks: BTreeMap::new() };
                self.bytes -= old;
                self.shrink(old);
            }
            None => {
                let file = CachedFile { known, blocks: BTreeMap::new() };
                self.by_location.insert(Arc::clone(&key.location), file);
            }
        }
    }

    /// The bytes of a range that are here.
    pub fn find(&mut self, key: &FileKey, range: &Range<u64>) -> Blocks {
        let mut found = Vec::new();
        if let Some(file) = self.file(key) {
            for (start, block) in overlapping(&mut file.blocks, range) {
                block.was_used = true;
                let from = range.start.max(start);
                let to = range.end.min(start + block.bytes.len() as u64);
                found.push((
                    from,
                    block.bytes.slice((from - start) as usize..(to - start) as usize),
                ));
            }
        }
        Blocks(found)
    }

    /// Whether all bytes of a range are here.
    pub fn has(&mut self, key: &FileKey, range: &Range<u64>) -> bool {
        let Some(file) = self.file(key) else { return range.is_empty() };
        let mut next = range.start;
        for (start, block) in overlapping(&mut file.blocks, range) {
            if start > next {
                return false;
            }
            next = start + block.bytes.len() as u64;
        }
        next >= range.end
    }

    fn file(&mut self, key: &FileKey) -> Option<&mut CachedFile> {
        let file = self.by_location.get_mut(&key.location);
        file.filter(|it| it.known.version == key.version)
    }

    /// Keeps bytes, as far as they are not here yet and memory permits.
    pub fn insert(&mut self, key: &FileKey, start: u64, bytes: &Bytes) {
        let range = start..start + bytes.len() as u64;
        let Some(file) = self.file(key) else { return };
        let mut gaps = Vec::new();
        let mut next = start;
        for (block_start, block) in overlapping(&mut file.blocks, &range) {
            if block_start > next {
                gaps.push(next..block_start);
            }
            next = block_start + block.bytes.len() as u64;
        }
        if next < range.end {
            gaps.push(next..range.end);
        }
        for gap in gaps {
            // A slice would keep all bytes in memory.
            let block = match gap == range {
                true => bytes.clone(),
                false => {
                    let slice = (gap.start - start) as usize..(gap.end - start) as usize;
                    Bytes::copy_from_slice(bytes.get(slice).unwrap_or_default())
                }
            };
            self.add_block(key, gap.start, Block { bytes: block, was_used: false });
        }
    }

    fn add_block(&mut self, key: &FileKey, start: u64, block: Block) {
        let charge = block.charge();
        if !self.make_room(charge) {
            return;
        }
        let Some(file) = self.file(key) else { return self.shrink(charge) };
        file.blocks.insert(start, block);
        self.bytes += charge;
        self.clock.push_back((key.clone(), start));
    }

    /// Whether blocks can be kept at all.
    pub fn has_room(&self) -> bool {
        self.limit_bytes > 0 && self.reservation.as_ref().is_some_and(|it| !it.pool().is_scarce())
    }

    /// Reserves bytes, and drops other blocks for that; whether there are enough.
    fn make_room(&mut self, bytes: u64) -> bool {
        let Some(reservation) = &self.reservation else { return false };
        // What queries have left; the bytes of the cache do not count as used there.
        let limit = self.limit_bytes.min(reservation.pool().spare_bytes() as u64);
        if bytes > limit {
            return false;
        }
        self.release((self.bytes + bytes).saturating_sub(limit));
        let grown = self.reservation.as_mut().map(|it| it.grow(bytes as usize));
        grown.is_some_and(|it| it.is_ok())
    }

    fn shrink(&mut self, bytes: u64) {
        if let Some(reservation) = &mut self.reservation {
            reservation.shrink(bytes as usize);
        }
    }

    /// Drops blocks of at least this number of bytes, as far as there are any; returns how many
    /// bytes they had.
    pub fn release(&mut self, bytes: u64) -> u64 {
        let mut released = 0;
        while released < bytes {
            let Some((key, start)) = self.clock.pop_front() else { break };
            let Some(file) = self.file(&key) else { continue };
            match file.blocks.get_mut(&start) {
                Some(block) if block.was_used => {
                    block.was_used = false;
                    self.clock.push_back((key, start));
                }
                Some(block) => {
                    released += block.charge();
                    file.blocks.remove(&start);
                }
                None => {}
            }
        }
        self.bytes -= released;
        self.shrink(released);
        released
    }

    /// The bytes of each file.
    pub fn sizes(&self) -> Vec<(FileKey, u64)> {
        let size = |(location, file): (&Arc<str>, &CachedFile)| {
            let bytes = file.blocks.values().map(|it| it.bytes.len() as u64).sum();
            let version = file.known.version.clone();
            (FileKey { location: Arc::clone(location), version }, bytes)
        };
        self.by_location.iter().map(size).filter(|it| it.1 > 0).collect()
    }
}

impl Block {
    fn charge(&self) -> u64 {
        self.bytes.len() as u64 + BLOCK_OVERHEAD
    }
}

/// The blocks that have bytes of a range, in order.
fn overlapping<'b>(
    blocks: &'b mut BTreeMap<u64, Block>,
    range: &Range<u64>,
) -> impl Iterator<Item = (u64, &'b mut Block)> {
    let before = blocks.range(..range.start).next_back();
    let before = before.filter(|(start, it)| *start + it.bytes.len() as u64 > range.start);
    let first = before.map_or(range.start, |it| *it.0);
    let end = range.end.max(first);
    blocks.range_mut(first..end).map(|(start, block)| (*start, block))
}
