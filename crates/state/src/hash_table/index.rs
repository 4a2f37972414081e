//! An index that one driver fills: from a word to a row, over [`TaggedEntry`].
//!
//! The number of entries is a power of two, and at most two thirds of them are used. There is no
//! deletion.

use super::tagged_entry::{TaggedEntry, mix_word, prefetch};
use crate::rows::RowContainer;
use volley_error::Result;
use volley_memory::{Pool, Reservation, RowPtr, check_cancelled, zeroed_words};

/// Entries of an index that is used for the first time: 8 KiB.
const ENTRIES_MIN: usize = 1 << 10;

/// An index of at most this many entries (64 KiB) grows fourfold: fewer rows move.
const ENTRIES_FOURFOLD: usize = 1 << 13;

/// Entries moved at a time when the index grows: as many cache misses are in flight.
const MOVE_ENTRIES: usize = 64;

/// The number of entries between two checks for cancellation: some milliseconds' work.
const CHECK_ENTRIES: usize = 64 << 10;

/// Open addressing over tagged addresses.
#[derive(Debug)]
pub(super) struct Index {
    entries: Vec<u64>,
    /// A hash shifted right by this is a position.
    shift: u32,
    used: usize,
    reservation: Reservation,
}

impl Index {
    /// An index without entries.
    pub(super) fn new(pool: &Pool) -> Index {
        Index { entries: Vec::new(), shift: 63, used: 0, reservation: pool.reservation() }
    }

    /// Bytes charged.
    pub(super) fn bytes(&self) -> usize {
        self.reservation.bytes()
    }

    /// Whether one more row needs [`Index::grow`].
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.used * 3 >= self.entries.len() * 2
    }

    /// Whether `rows` more rows may need [`Index::grow`].
    pub(super) fn may_grow(&self, rows: usize) -> bool {
        (self.used + rows) * 3 >= self.entries.len() * 2
    }

    /// The row with `word` for which `is_match` holds, or the position where it belongs. The index
    /// must have an empty entry.
    #[inline]
    pub(super) fn find(
        &self,
        word: u64,
        is_match: impl Fn(RowPtr) -> bool,
    ) -> Result<RowPtr, usize> {
        let hash = mix_word(word);
        let mask = self.entries.len() - 1;
        let mut position = (hash >> self.shift) as usize & mask;
        loop {
            let entry = TaggedEntry(self.entries[position]);
            if entry.is_empty() {
                return Err(position);
            }
            if entry.has_tag(hash) {
                let row = entry.row();
                // SAFETY: entries hold rows of the container that the index belongs to.
                if unsafe { RowContainer::word(row) } == word && is_match(row) {
                    return Ok(row);
                }
            }
            position = (position + 1) & mask;
        }
    }

    /// Asks the cache for the entry where a word is first looked for.
    #[inline]
    pub(super) fn prefetch_entry(&self, word: u64) {
        let position = (mix_word(word) >> self.shift) as usize;
        prefetch(RowPtr::new(self.entries.as_ptr().wrapping_add(position).cast_mut().cast()));
    }

    /// Asks the cache for the row where a word is first looked for.
    #[inline]
    pub(super) fn prefetch_row(&self, word: u64) {
        if let Some(entry) = self.entries.get((mix_word(word) >> self.shift) as usize) {
            prefetch(TaggedEntry(*entry).row());
        }
    }

    /// Puts a row where [`Index::find`] said.
    #[inline]
    pub(super) fn insert(&mut self, position: usize, word: u64, row: RowPtr) {
        debug_assert_eq!(self.entries[position], 0);
        self.entries[position] = TaggedEntry::new(row, mix_word(word)).0;
        self.used += 1;
    }

    /// Doubles the entries, or more of few ones, and finds new places for the rows.
    ///
    /// # Errors
    ///
    /// Out of memory; nothing has changed then. Cancelled; the index is of no use then.
    #[cold]
    pub(super) fn grow(&mut self) -> Result<()> {
        let factor = if self.entries.len() <= ENTRIES_FOURFOLD { 4 } else { 2 };
        let len = (self.entries.len() * factor).max(ENTRIES_MIN);
        self.reservation.resize((self.entries.len() + len) * 8)?;
        let old = std::mem::replace(&mut self.entries, zeroed_words(len));
        self.shift = 64 - len.trailing_zeros();
        for (chunk, entries) in old.chunks(MOVE_ENTRIES).enumerate() {
            if (chunk * MOVE_ENTRIES).is_multiple_of(CHECK_ENTRIES) {
                check_cancelled()?;
            }
            let used = || entries.iter().map(|it| TaggedEntry(*it)).filter(|it| !it.is_empty());
            used().for_each(|it| prefetch(it.row()));
            used().for_each(|it| self.move_in(it));
        }
        drop(old);
        self.reservation.resize(len * 8)
    }

    /// Finds a place for an entry from before.
    fn move_in(&mut self, entry: TaggedEntry) {
        // SAFETY: entries hold rows of the container that the index belongs to.
        let hash = mix_word(unsafe { RowContainer::word(entry.row()) });
        let mut position = (hash >> self.shift) as usize;
        while self.entries[position] != 0 {
            position = (position + 1) & (self.entries.len() - 1);
        }
        self.entries[position] = entry.0;
    }

    /// Gives the memory back.
    pub(super) fn release(&mut self) {
        (self.entries, self.used) = (Vec::new(), 0);
        self.reservation.clear();
    }

    /// Forgets all rows; keeps the memory.
    pub(super) fn clear(&mut self) {
        if self.used > 0 {
            self.entries.fill(0);
        }
        self.used = 0;
    }
}
