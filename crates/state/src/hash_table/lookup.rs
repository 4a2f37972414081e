//! Probes a join's table.
//!
//! ```text
//! flat keys         words -> entries -> heads, row by row
//! one dictionary    the heads of its values, once for all batches that share it; then by codes
//! ```

use super::{
    join_table::{JoinTable, LOOKUP_ROWS},
    key_words::Words,
    pairs::PairCursor,
    tagged_entry::prefetch,
};
use crate::rows::RowContainer;
use std::sync::{Arc, Weak};
use volley_error::Result;
use volley_expression::filter::KeyFilterMemo;
use volley_memory::RowPtr;
use volley_vector::{Encoding, NullBuffer, Rows, Vector};

/// The maximum number of dictionary values per row of a batch for which the whole dictionary is
/// looked up: the next batches share it.
const VALUES_PER_ROW: usize = 4;

/// What a driver that probes one table keeps from batch to batch.
#[derive(Debug, Default)]
pub struct LookupMemory {
    words: Words,
    dictionary: Option<DictionaryHeads>,
    /// For a table without rows.
    members: KeyFilterMemo,
}

/// What the values of a dictionary found.
#[derive(Debug)]
struct DictionaryHeads {
    base: Weak<Vector>,
    /// By code.
    heads: Vec<RowPtr>,
    same_keys: bool,
}

/// Rows and the heads of their chains, being collected.
struct Found {
    rows: Vec<u32>,
    heads: Vec<RowPtr>,
    count: usize,
}

impl JoinTable {
    /// For each of `rows` probe rows, the head of the chain of rows with its word, if there is one.
    /// `memory` is of this table.
    ///
    /// # Errors
    ///
    /// What a lazy key's loader reports.
    pub fn lookup(
        &self,
        keys: &[Vector],
        rows: usize,
        memory: &mut LookupMemory,
    ) -> Result<PairCursor> {
        assert!(self.is_complete(), "lookup before all rows are inserted");
        if let (Some(set), [key]) = (self.set(), keys) {
            let found = set.filter.select(key, &Rows::all(rows), &mut memory.members)?;
            return Ok(PairCursor::without_pairs(found.to_indices()));
        }
        if let [key] = keys
            && let Encoding::Dictionary { codes, base } = key.encoding()
            && let Some(dictionary) = self.dictionary_heads(codes.len(), base, memory)?
        {
            let nulls = key.null_buffer();
            if nulls.is_none() || !self.nulls_equal()[0] {
                return Ok(self.lookup_codes(codes, nulls, dictionary));
            }
        }
        self.lookup_rows(keys, rows, &mut memory.words)
    }

    /// The heads of a dictionary's values, if they are known or worth looking up for `rows` rows.
    fn dictionary_heads<'a>(
        &self,
        rows: usize,
        base: &Arc<Vector>,
        memory: &'a mut LookupMemory,
    ) -> Result<Option<&'a DictionaryHeads>> {
        if !memory.dictionary.as_ref().is_some_and(|it| it.is_of(base)) {
            let is_flat = matches!(base.encoding(), Encoding::Flat(_));
            if !is_flat || base.len() > rows * VALUES_PER_ROW {
                return Ok(None);
            }
            memory.dictionary = Some(self.lookup_dictionary(base, &mut memory.words)?);
        }
        Ok(memory.dictionary.as_ref())
    }

    fn lookup_dictionary(&self, base: &Arc<Vector>, words: &mut Words) -> Result<DictionaryHeads> {
        let values = std::slice::from_ref(&**base);
        let found = self.lookup_rows(values, base.len(), words)?;
        let mut equal = vec![true; found.rows().len()];
        // Where no two rows have the same word, a value has at most one row, and is compared here.
        let compares = !self.is_exact() && !self.has_chains();
        if compares {
            self.match_keys(values, found.rows(), found.heads(), &mut equal)?;
        }
        let mut heads = vec![RowPtr::NULL; base.len()];
        for ((row, head), equal) in found.rows().iter().zip(found.heads().pointers()).zip(equal) {
            heads[*row as usize] = if equal { *head } else { RowPtr::NULL };
        }
        let same_keys = self.is_exact() || compares;
        Ok(DictionaryHeads { base: Arc::downgrade(base), heads, same_keys })
    }

    fn lookup_codes(
        &self,
        codes: &[u32],
        nulls: Option<&NullBuffer>,
        dictionary: &DictionaryHeads,
    ) -> PairCursor {
        let mut found = Found::new(codes.len());
        for (row, code) in codes.iter().enumerate() {
            found.push(row as u32, dictionary.heads[*code as usize]);
        }
        if let Some(nulls) = nulls {
            found.retain(|row| nulls.is_valid(row as usize));
        }
        found.into_cursor(self, dictionary.same_keys)
    }

    fn lookup_rows(&self, keys: &[Vector], rows: usize, words: &mut Words) -> Result<PairCursor> {
        self.keys.words(keys, self.nulls_equal(), rows, words)?;
        let mut found = Found::new(words.rows.len());
        if self.is_array() {
            for (word, row) in words.words.iter().zip(&words.rows) {
                found.push(*row, self.entry(*word as usize).row());
            }
            return Ok(found.into_cursor(self, true));
        }
        let mut heads = [RowPtr::NULL; LOOKUP_ROWS];
        let chunks = words.words.chunks(LOOKUP_ROWS).zip(words.rows.chunks(LOOKUP_ROWS));
        for (words, rows) in chunks {
            self.find_heads(words, &mut heads);
            rows.iter().zip(&heads).for_each(|(row, head)| found.push(*row, *head));
        }
        Ok(found.into_cursor(self, self.is_exact()))
    }

    /// The heads of up to [`LOOKUP_ROWS`] words. Each pass has as many cache misses in flight as
    /// the processor allows: entries, then the rows that they point to. The words that others stand
    /// in the way of are few; they are collected without a branch, and looked for one by one.
    fn find_heads(&self, words: &[u64], heads: &mut [RowPtr; LOOKUP_ROWS]) {
        let mut places = [(0, 0); LOOKUP_ROWS];
        let places = &mut places[..words.len()];
        for (word, place) in words.iter().zip(&mut *places) {
            *place = self.place_of(*word);
            self.prefetch_entry(place.0);
        }
        let mut in_the_way = [0; LOOKUP_ROWS];
        let mut count = 0;
        for (index, ((position, hash), head)) in places.iter().zip(&mut *heads).enumerate() {
            let first = self.entry(*position);
            prefetch(first.row());
            *head = first.row();
            in_the_way[count] = index;
            count += usize::from(!first.is_empty() & !first.has_tag(*hash));
        }
        for index in &in_the_way[..count] {
            let (position, hash) = &mut places[*index];
            *position = self.position_after(*position);
            heads[*index] = self.next_candidate(position, *hash);
            prefetch(heads[*index]);
        }
        let absent = self.container().null_row();
        count = 0;
        for (index, (word, head)) in words.iter().zip(&*heads).enumerate() {
            let row = if head.is_null() { absent } else { *head };
            in_the_way[count] = index;
            // SAFETY: entries hold rows of this table, and the null row is one.
            count += usize::from(!head.is_null() & (unsafe { RowContainer::word(row) } != *word));
        }
        for index in &in_the_way[..count] {
            let (position, hash) = &mut places[*index];
            let head = &mut heads[*index];
            // SAFETY: entries hold rows of this table.
            while !head.is_null() && unsafe { RowContainer::word(*head) } != words[*index] {
                *position = self.position_after(*position);
                *head = self.next_candidate(position, *hash);
            }
        }
    }

    /// The first row from `position` on whose entry has the tag of `hash`; no row at an empty
    /// entry.
    #[inline]
    fn next_candidate(&self, position: &mut usize, hash: u64) -> RowPtr {
        loop {
            let entry = self.entry(*position);
            if entry.is_empty() || entry.has_tag(hash) {
                return entry.row();
            }
            *position = self.position_after(*position);
        }
    }
}

impl LookupMemory {
    /// Whether the dictionary of `key` was looked up.
    #[cfg(test)]
    pub fn knows(&self, key: &Vector) -> bool {
        let Encoding::Dictionary { base, .. } = key.encoding() else { return false };
        self.dictionary.as_ref().is_some_and(|it| it.is_of(base))
    }
}

impl DictionaryHeads {
    fn is_of(&self, base: &Arc<Vector>) -> bool {
        std::ptr::eq(self.base.as_ptr(), Arc::as_ptr(base))
    }
}

impl Found {
    /// Room for `rows` rows.
    fn new(rows: usize) -> Found {
        Found { rows: vec![0; rows], heads: vec![RowPtr::NULL; rows], count: 0 }
    }

    /// Adds a row if it found a chain.
    #[inline]
    fn push(&mut self, row: u32, head: RowPtr) {
        self.rows[self.count] = row;
        self.heads[self.count] = head;
        self.count += usize::from(!head.is_null());
    }

    fn retain(&mut self, keeps: impl Fn(u32) -> bool) {
        let found = std::mem::take(&mut self.count);
        for index in 0..found {
            let (row, head) = (self.rows[index], self.heads[index]);
            self.push(row, if keeps(row) { head } else { RowPtr::NULL });
        }
    }

    fn into_cursor(mut self, table: &JoinTable, same_keys: bool) -> PairCursor {
        self.rows.truncate(self.count);
        self.heads.truncate(self.count);
        // SAFETY: entries hold rows of this table only.
        let heads = unsafe { table.container().list_of(self.heads) };
        PairCursor::new(self.rows, heads, same_keys)
    }
}
