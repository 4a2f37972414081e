//! Merging a plan into the batches of a scan. Where nothing changed, nothing is copied.
//!
//! ```text
//! base rows [a, b):
//!   is_clean           the base as it is
//!   live               the rows to decode, the others are deleted
//!   patch              overwrites values of a decoded column
//!   interleave         puts inserts between base rows, for scans that keep the order
//! MergePlan::inserted  the inserts, for scans that do not
//! ```

mod dictionary;
mod interleave;
mod patch;
#[cfg(test)]
mod tests;

pub(crate) use dictionary::JoinedDictionary;
pub use patch::patch_lazy;

use crate::{
    Column, Key, MergePlan, Sid,
    plan::{BLOCK_ROWS, DeletedRange, InsertRun, Path},
};
use std::ops::Range;
use volley_error::Result;
use volley_vector::{ColumnTest, Rows, Vector};

/// The changes of a range of base rows.
#[derive(Clone, Debug)]
pub struct RangeChanges<'a> {
    plan: &'a MergePlan,
    sids: Range<Sid>,
    deleted: &'a [DeletedRange],
    runs: &'a [InsertRun],
    is_clean: bool,
}

/// Modified values of a range of base rows.
#[derive(Clone, Copy, Debug)]
pub struct ModifiedValues<'a> {
    /// The rows, ascending.
    pub sids: &'a [Sid],
    /// The values of the column in the whole segment.
    pub values: &'a Vector,
    /// Which of `values` is that of the first of `sids`; the others follow.
    pub first: usize,
}

impl MergePlan {
    /// The changes of base rows `sids`, with the inserts before them; of a range that ends at the
    /// end of the base, also with those after it.
    ///
    /// # Panics
    ///
    /// If the range is not within the base.
    pub fn range(&self, sids: Range<Sid>) -> RangeChanges<'_> {
        assert!(sids.start <= sids.end && sids.end <= self.base_rows, "range within the base");
        let is_last = sids.end == self.base_rows;
        let end = if is_last { self.base_rows + 1 } else { sids.end };
        if !self.has_changed_block(sids.start, end) {
            self.count(Path::Clean);
            return RangeChanges { plan: self, sids, deleted: &[], runs: &[], is_clean: true };
        }
        let block = self.blocks[(sids.start / BLOCK_ROWS) as usize];
        let deleted = &self.deleted[block.deleted as usize..];
        let deleted = &deleted[partition(deleted, |it| it.end <= sids.start)..];
        let deleted = &deleted[..partition(deleted, |it| it.start < sids.end)];
        let runs = &self.runs[block.run as usize..];
        let runs = &runs[partition(runs, |it| it.key < Key::first(sids.start))..];
        let runs = &runs[..partition(runs, |it| it.key < Key::first(end))];
        let mut range = RangeChanges { plan: self, sids, deleted, runs, is_clean: false };
        let columns = 0..self.columns.len() as Column;
        range.is_clean = deleted.is_empty()
            && runs.is_empty()
            && columns.into_iter().all(|it| range.modified(it).is_none());
        if range.is_clean {
            self.count(Path::Clean);
        }
        range
    }
}

/// As `partition_point`; looks near the start first, where the answer usually is.
fn partition<T>(list: &[T], is_before: impl Fn(&T) -> bool) -> usize {
    let mut bound = 8;
    while bound < list.len() && is_before(&list[bound]) {
        bound *= 2;
    }
    list[..bound.min(list.len())].partition_point(is_before)
}

impl<'a> RangeChanges<'a> {
    /// The base rows.
    pub fn sids(&self) -> Range<Sid> {
        self.sids.clone()
    }

    /// Whether nothing changed here: no base row, and no insert before one.
    pub fn is_clean(&self) -> bool {
        self.is_clean
    }

    /// Whether rows were inserted here.
    pub fn has_inserts(&self) -> bool {
        !self.runs.is_empty()
    }

    /// How many base rows exist.
    pub fn live_count(&self) -> usize {
        let deleted = self.deleted_ranges().map(|it| it.len()).sum::<usize>();
        self.sids.len() - deleted
    }

    /// The base rows that exist, counted from the start of the range; `None`: all of them.
    pub fn live(&self) -> Option<Rows> {
        if self.deleted.is_empty() {
            return None;
        }
        let len = self.sids.len();
        let mut words = vec![u64::MAX; len.div_ceil(64)];
        if let (Some(last), rest @ 1..) = (words.last_mut(), len % 64) {
            *last = (1 << rest) - 1;
        }
        for range in self.deleted_ranges() {
            clear_bits(&mut words, range);
        }
        Some(Rows::from_words(words, len))
    }

    /// Deleted rows, counted from the start of the range.
    fn deleted_ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let (start, end) = (self.sids.start, self.sids.end);
        self.deleted.iter().map(move |it| {
            (it.start.max(start) - start) as usize..(it.end.min(end) - start) as usize
        })
    }

    /// The rows that have another value in `column`, for filters that were tested on values of the
    /// base; `None` if there is none.
    pub fn modified(&self, column: Column) -> Option<ModifiedValues<'a>> {
        let of_column = self.plan.columns.get(column as usize)?.as_ref()?;
        let first = of_column.offsets[(self.sids.start / BLOCK_ROWS) as usize] as usize;
        let sids = &of_column.sids[first..];
        let start = partition(sids, |it| *it < self.sids.start);
        let sids = &sids[start..];
        let sids = &sids[..partition(sids, |it| *it < self.sids.end)];
        let values = &of_column.values;
        (!sids.is_empty()).then_some(ModifiedValues { sids, values, first: first + start })
    }
}

impl ModifiedValues<'_> {
    /// The values of the rows, one for each.
    pub fn values_here(&self) -> Vector {
        self.values.slice(self.first, self.sids.len())
    }

    /// The rows `passing`, whose values in the base passed a test, with those of `among` whose
    /// modified value passes, and without those whose modified value does not. Rows are counted
    /// from the start of the base rows `sids`, among which all modified rows are.
    ///
    /// # Errors
    ///
    /// A type without this comparison.
    pub fn select(
        &self,
        sids: &Range<Sid>,
        test: &ColumnTest,
        among: &Rows,
        passing: &Rows,
    ) -> Result<Rows> {
        let passes = test.matches(&self.values_here())?;
        let mut words = passing.words().to_vec();
        for (sid, passes) in self.sids.iter().zip(passes.iter()) {
            let row = (sid - sids.start) as usize;
            let Some(word) = words.get_mut(row / 64) else { continue };
            *word &= !(1 << (row % 64));
            *word |= u64::from(passes && among.contains(row)) << (row % 64);
        }
        Ok(Rows::from_words(words, passing.len()))
    }
}

fn clear_bits(words: &mut [u64], bits: Range<usize>) {
    let (first, last) = (bits.start / 64, (bits.end - 1) / 64);
    for (word, bits_of) in words.iter_mut().enumerate().take(last + 1).skip(first) {
        let start = bits.start.max(word * 64) - word * 64;
        let end = bits.end.min(word * 64 + 64) - word * 64;
        let mask = (u64::MAX >> (64 - (end - start))) << start;
        *bits_of &= !mask;
    }
}
