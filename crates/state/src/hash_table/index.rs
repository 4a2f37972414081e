//! From a hash to a row.
//!
//! ```text
//! entry   bits 0..48: address of a row   bits 48..64: tag, the lowest 16 bits of the hash
//!         0: empty
//! ```
//!
//! A hash's highest bits are the first position; probing continues with the next entries and wraps
//! around. At most two thirds of the entries are used. There is no deletion.

use crate::rows::RowContainer;
use volley_error::Result;
use volley_memory::{Pool, Reservation, RowPtr, check_cancelled, zeroed_words};

const TAG_SHIFT: u32 = 48;
const ADDRESS_MASK: u64 = (1 << TAG_SHIFT) - 1;

/// Entries of an index that is used for the first time: 8 KiB.
const ENTRIES_MIN: usize = 1 << 10;

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
            let entry = self.entries[position];
            if entry == 0 {
                return Err(position);
            }
            if (entry >> TAG_SHIFT) as u16 == hash as u16 {
                let row = RowPtr::from_exposed(entry & ADDRESS_MASK);
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
            prefetch(RowPtr::from_exposed(entry & ADDRESS_MASK));
        }
    }

    /// Puts a row where [`Index::find`] said.
    #[inline]
    pub(super) fn insert(&mut self, position: usize, word: u64, row: RowPtr) {
        debug_assert_eq!(self.entries[position], 0);
        self.entries[position] = row.expose() | mix_word(word) << TAG_SHIFT;
        self.used += 1;
    }

    /// Doubles the entries and finds new places for the rows.
    ///
    /// # Errors
    ///
    /// Out of memory; nothing has changed then. Cancelled; the index is of no use then.
    #[cold]
    pub(super) fn grow(&mut self) -> Result<()> {
        let len = (self.entries.len() * 2).max(ENTRIES_MIN);
        self.reservation.resize((self.entries.len() + len) * 8)?;
        let old = std::mem::replace(&mut self.entries, zeroed_words(len));
        self.shift = 64 - len.trailing_zeros();
        for (chunk, entries) in old.chunks(MOVE_ENTRIES).enumerate() {
            if (chunk * MOVE_ENTRIES).is_multiple_of(CHECK_ENTRIES) {
                check_cancelled()?;
            }
            let rows = entries.iter().filter(|it| **it != 0).map(|it| it & ADDRESS_MASK);
            rows.for_each(|it| prefetch(RowPtr::from_exposed(it)));
            entries.iter().filter(|it| **it != 0).for_each(|it| self.move_in(*it));
        }
        drop(old);
        self.reservation.resize(len * 8)
    }

    /// Finds a place for an entry from before.
    fn move_in(&mut self, entry: u64) {
        let row = RowPtr::from_exposed(entry & ADDRESS_MASK);
        // SAFETY: entries hold rows of the container that the index belongs to.
        let hash = mix_word(unsafe { RowContainer::word(row) });
        let mut position = (hash >> self.shift) as usize;
        while self.entries[position] != 0 {
            position = (position + 1) & (self.entries.len() - 1);
        }
        self.entries[position] = entry;
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

/// The hash of a word. Words that are hashes may have chosen the driver already, by their highest
/// bits, and words that are keys are small integers: both need mixing.
#[inline]
pub(super) fn mix_word(word: u64) -> u64 {
    // Multiply and fold, with two constants of wyhash (https://github.com/wangyi-fudan/wyhash).
    let product = u128::from(word ^ 0x2d35_8dcc_aa6c_78a5) * 0x8bb8_4b93_962e_acc9;
    product as u64 ^ (product >> 64) as u64
}

/// Asks the cache for the beginning of a row; does nothing where that is not known how.
#[inline]
pub(super) fn prefetch(row: RowPtr) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: prefetching has no effect on memory, whatever the address is.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(row.field::<i8>(0)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}
