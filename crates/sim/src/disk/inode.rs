//! The contents of one file: what reads show, and what is on the disk.

use super::{
    SECTOR_BYTES,
    fault::{Fault, Fired},
};
use std::ops::Range;

/// A file's contents.
#[derive(Clone, Debug, Default)]
pub(super) struct Inode {
    /// What reads show.
    pub(super) cache: Vec<u8>,
    /// What a crash leaves.
    pub(super) disk: Vec<u8>,
    /// Ranges of the cache that no sync was asked to write; they ascend.
    dirty: Vec<Range<usize>>,
}

impl Inode {
    /// A file that is on the disk.
    pub(super) fn durable(bytes: &[u8]) -> Inode {
        Inode { cache: bytes.to_vec(), disk: bytes.to_vec(), dirty: Vec::new() }
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        let start = self.cache.len();
        self.cache.extend_from_slice(bytes);
        match self.dirty.last_mut() {
            Some(last) if last.end == start => last.end = self.cache.len(),
            _ => self.dirty.push(start..self.cache.len()),
        }
    }

    /// Dirty bytes, sector by sector.
    pub(super) fn dirty_sectors(&self) -> Vec<Range<usize>> {
        let mut sectors = Vec::new();
        for range in &self.dirty {
            let mut start = range.start;
            while start < range.end {
                let end = ((start / SECTOR_BYTES + 1) * SECTOR_BYTES).min(range.end);
                sectors.push(start..end);
                start = end;
            }
        }
        sectors
    }

    /// Writes a range of the cache to the disk; bytes between it and the end before are zero.
    pub(super) fn write(&mut self, range: Range<usize>) {
        if self.disk.len() < range.end {
            self.disk.resize(range.end, 0);
        }
        self.disk[range.clone()].copy_from_slice(&self.cache[range]);
    }

    /// Writes everything.
    pub(super) fn sync(&mut self) {
        for range in std::mem::take(&mut self.dirty) {
            self.write(range);
        }
    }

    /// Writes some sectors and forgets the others, whose bytes reads show nevertheless.
    pub(super) fn fail_sync(&mut self, random: &mut fastrand::Rng) {
        let sectors = self.dirty_sectors();
        self.dirty.clear();
        for sector in sectors {
            if random.bool() {
                self.write(sector);
            }
        }
    }

    /// What a crash leaves of dirty sectors: any of them, some torn. Reads show the disk then.
    pub(super) fn crash(&mut self, random: &mut fastrand::Rng, fired: &mut Fired) {
        let mut was_lost = false;
        // Often all or nothing, as most crashes are.
        let survival = *random.choice(&[0, 30, 50, 70, 100]).unwrap_or(&50);
        for sector in self.dirty_sectors() {
            if random.u32(..100) >= survival {
                fired.count(Fault::LostSector);
                was_lost = true;
                continue;
            }
            if was_lost {
                fired.count(Fault::ReorderedSector);
            }
            if sector.len() > 1 && random.u32(..100) < 15 {
                fired.count(Fault::TornSector);
                let end = sector.start + random.usize(1..sector.len());
                self.write(sector.start..end);
                continue;
            }
            self.write(sector);
        }
        self.dirty.clear();
        self.cache.clone_from(&self.disk);
    }
}
