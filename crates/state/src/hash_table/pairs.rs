//! Pairs of a probe row and a build row with the same word.

use super::JoinTable;
use crate::rows::{RowContainer, RowList};
use volley_memory::RowPtr;

/// Pairs; a probe row's pairs stand together.
#[derive(Debug, Default)]
pub struct Pairs {
    /// Probe rows, ascending.
    pub rows: Vec<u32>,
    /// For each, a row of the table.
    pub matches: RowList,
    /// Whether their keys are equal, which need not be compared then.
    pub same_keys: bool,
}

/// What a batch of probe rows found, and how far its pairs were made.
#[derive(Debug)]
pub struct PairCursor {
    rows: Vec<u32>,
    /// For each of `rows`, the head of a chain.
    heads: RowList,
    /// The next head.
    position: usize,
    /// The next row of the chain of the head at `position`; null: the head itself.
    within: RowPtr,
    same_keys: bool,
}

impl PairCursor {
    pub(super) fn new(rows: Vec<u32>, heads: RowList, same_keys: bool) -> PairCursor {
        PairCursor { rows, heads, position: 0, within: RowPtr::NULL, same_keys }
    }

    /// Of a table without rows: tells which probe rows found their key, and has no pairs.
    pub(super) fn without_pairs(rows: Vec<u32>) -> PairCursor {
        let (position, within) = (rows.len(), RowPtr::NULL);
        PairCursor { rows, heads: RowList::default(), position, within, same_keys: true }
    }

    /// For each of [`PairCursor::rows`], the head of its chain.
    pub(super) fn heads(&self) -> &RowList {
        &self.heads
    }

    /// Whether the rows of a chain have the keys of its probe row, not just its word.
    #[inline]
    pub fn has_same_keys(&self) -> bool {
        self.same_keys
    }

    /// The probe rows that found a chain, ascending.
    #[inline]
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Skips all pairs that were not made.
    pub fn finish(&mut self) {
        self.position = self.rows.len();
    }

    /// Whether all pairs were made.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.position == self.rows.len()
    }
}

impl Pairs {
    /// Keeps the pairs at `positions` (ascending).
    pub fn keep(&mut self, positions: &[u32]) {
        for (to, from) in positions.iter().enumerate() {
            self.rows[to] = self.rows[*from as usize];
        }
        self.rows.truncate(positions.len());
        self.matches.keep(positions);
    }
}

impl JoinTable {
    /// The next pairs, at most `count`; none when the cursor is done. With `is_settled`, probe rows
    /// for which it holds are left out at their next head or continued chain.
    pub fn next_pairs(
        &self,
        cursor: &mut PairCursor,
        count: usize,
        is_settled: impl Fn(u32) -> bool,
    ) -> Pairs {
        let mut rows = Vec::with_capacity(count.min(cursor.rows.len()));
        let mut matches = Vec::with_capacity(rows.capacity());
        self.container().check(&cursor.heads);
        if !self.has_chains() {
            let end = cursor.rows.len().min(cursor.position + count);
            rows.extend_from_slice(&cursor.rows[cursor.position..end]);
            matches.extend_from_slice(&cursor.heads.pointers()[cursor.position..end]);
            cursor.position = end;
        }
        while rows.len() < count && !cursor.is_done() {
            let row = cursor.rows[cursor.position];
            let mut next = match cursor.within.is_null() {
                true => cursor.heads.pointers()[cursor.position],
                false => cursor.within,
            };
            if is_settled(row) {
                next = RowPtr::NULL;
            }
            while !next.is_null() && rows.len() < count {
                rows.push(row);
                matches.push(next);
                // SAFETY: heads are rows of this table (checked), and so are the rows that they
                // link to; links are not written once all rows are inserted.
                next = unsafe { RowContainer::next(next) };
            }
            cursor.within = next;
            cursor.position += usize::from(next.is_null());
        }
        // SAFETY: heads are rows of this table (checked), and so are the rows they link to.
        let matches = unsafe { self.container().list_of(matches) };
        Pairs { rows, matches, same_keys: cursor.same_keys }
    }
}
