//! From words to groups.
//!
//! ```text
//! array   entries[word] = group     exact words, and few of them
//! index   see `index`               otherwise
//! ```

use super::{
    index::Index,
    tagged_entry::{TaggedEntry, array_is_better, prefetch},
};
use crate::rows::RowContainer;
use volley_error::Result;
use volley_memory::{Pool, Reservation, RowPtr, zeroed_words};

/// An array is used when it has at most this many entries per group: one cache line of entries.
const ARRAY_ENTRIES_PER_GROUP: u128 = 8;

/// How many rows' cache misses are in flight at once.
const CHUNK_ROWS: usize = 64;

/// An index smaller than this (256 KiB) stays in the cache: prefetching costs more than it gives.
const PREFETCH_BYTES_MIN: usize = 256 << 10;

/// Groups by word.
#[derive(Debug)]
pub(super) struct GroupIndex {
    /// Untagged entries; none unless the array is used.
    array: Vec<u64>,
    array_charge: Reservation,
    index: Index,
}

/// The groups of a batch.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// One per row.
    pub(super) groups: Vec<RowPtr>,
    /// The rows that began a group, and these groups.
    pub(super) new_rows: Vec<u32>,
    pub(super) new_groups: Vec<RowPtr>,
}

impl GroupIndex {
    pub(super) fn new(pool: &Pool) -> GroupIndex {
        GroupIndex { array: Vec::new(), array_charge: pool.reservation(), index: Index::new(pool) }
    }

    /// Bytes charged.
    pub(super) fn bytes(&self) -> usize {
        self.array_charge.bytes() + self.index.bytes()
    }

    /// Whether the array is used.
    pub(super) fn is_array(&self) -> bool {
        !self.array.is_empty()
    }

    /// Whether an array would be worth it for `words` different words and `groups` groups.
    pub(super) fn wants_array(words: Option<u128>, groups: usize) -> bool {
        words.is_some_and(|it| array_is_better(it, groups, ARRAY_ENTRIES_PER_GROUP))
    }

    /// Whether the index must grow before another group is made.
    pub(super) fn is_full(&self) -> bool {
        !self.is_array() && self.index.is_full()
    }

    /// Whether the index may have to grow for `rows` more groups.
    pub(super) fn may_grow(&self, rows: usize) -> bool {
        !self.is_array() && self.index.may_grow(rows)
    }

    /// The index, to insert groups that are known to be new.
    pub(super) fn index(&mut self) -> &mut Index {
        &mut self.index
    }

    /// Forgets all groups; from now on uses an array of `words` entries, or the index.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn reset(&mut self, words: Option<u128>) -> Result<()> {
        self.index.clear();
        self.array = Vec::new();
        self.array_charge.clear();
        if let Some(words) = words {
            let len = (words as usize).max(1);
            self.array_charge.resize(len * 8)?;
            self.array = zeroed_words(len);
        }
        Ok(())
    }

    /// Gives the memory of the index back.
    pub(super) fn release(&mut self) {
        self.index.release();
    }

    /// Puts in a group that is known to be new.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn insert_new(&mut self, word: u64, group: RowPtr) -> Result<()> {
        if self.is_array() {
            self.array[word as usize] = TaggedEntry::untagged(group).0;
            return Ok(());
        }
        if self.index.is_full() {
            self.index.grow()?;
        }
        if let Err(position) = self.index.find(word, |_| false) {
            self.index.insert(position, word, group);
        }
        Ok(())
    }

    /// For each of `words`, the first group that carries it, or a new one. `container` has room
    /// for as many rows.
    ///
    /// # Errors
    ///
    /// Out of memory; `found` has the groups that were made.
    pub(super) fn find_or_make(
        &mut self,
        words: &[u64],
        container: &mut RowContainer,
        found: &mut Found,
    ) -> Result<()> {
        found.groups.clear();
        found.new_rows.clear();
        found.new_groups.clear();
        found.groups.reserve(words.len());
        if self.is_array() {
            self.find_in_array(words, container, found);
            return Ok(());
        }
        let must_prefetch = self.index.bytes() >= PREFETCH_BYTES_MIN;
        for (chunk, words) in words.chunks(CHUNK_ROWS).enumerate() {
            if must_prefetch {
                words.iter().for_each(|it| self.index.prefetch_entry(*it));
                words.iter().for_each(|it| self.index.prefetch_row(*it));
            }
            self.find_in_index(words, chunk * CHUNK_ROWS, container, found)?;
        }
        Ok(())
    }

    fn find_in_array(&mut self, words: &[u64], container: &mut RowContainer, found: &mut Found) {
        for (row, word) in words.iter().enumerate() {
            let entry = &mut self.array[*word as usize];
            if *entry == 0 {
                let group = container.take_row();
                *entry = TaggedEntry::untagged(group).0;
                found.new_rows.push(row as u32);
                found.new_groups.push(group);
            }
            found.groups.push(TaggedEntry(*entry).row());
        }
        if self.array_charge.bytes() >= PREFETCH_BYTES_MIN {
            // The states will be touched next.
            found.groups.iter().for_each(|it| prefetch(*it));
        }
    }

    fn find_in_index(
        &mut self,
        words: &[u64],
        first_row: usize,
        container: &mut RowContainer,
        found: &mut Found,
    ) -> Result<()> {
        for (row, &word) in words.iter().enumerate() {
            if self.index.is_full() {
                self.index.grow()?;
            }
            found.groups.push(match self.index.find(word, |_| true) {
                Ok(group) => group,
                Err(position) => {
                    let group = container.take_row();
                    // SAFETY: the row is new.
                    unsafe { RowContainer::set_word(group, word) };
                    self.index.insert(position, word, group);
                    found.new_rows.push((first_row + row) as u32);
                    found.new_groups.push(group);
                    group
                }
            });
        }
        Ok(())
    }
}
