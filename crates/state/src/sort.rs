//! Sorting rows: the sub-operator of OrderBy and TopN.
//!
//! ```text
//! encode    each row's keys become bytes whose order is the rows' order (`encode`)
//! entries   u128 per row: the first 12 key bytes, then the row number: one compare settles most
//! buckets   by the first bits in which entries differ (`buckets`); each is sorted in the cache
//! runs      where a bucket would be too large: sorted in the cache, RUN_ROWS at a time,
//! merge     pairs of runs, until there is one
//! refine    rows whose 12 bytes are equal, by what comes behind them (`refine`)
//! ```
//!
//! All of it happens in steps of a few milliseconds, so that a driver that sorts much can be
//! cancelled. Sorting entries instead of rows moves 16 bytes however wide a row is. Rows with equal
//! keys keep their order, because the row number is part of the entry.

mod batches;
mod buckets;
mod encode;
mod merge;
mod emit;
mod refine;
#[cfg(test)]
mod tests;

pub use batches::{BatchSort, SortInput, SortShape};
use buckets::Buckets;
pub use emit::Taken;
use encode::KeyLayout;
pub use encode::{key_prefixes, sort_bytes_per_row};
pub use merge::{MergeStep, RunMerge, RunStep, SortedRun};

use std::{cmp::Ordering, ops::Range};
use volley_error::{Error, ErrorKind, Result};
use volley_memory::Reservation;
use volley_types::SortKey;
use volley_vector::{Comparator, Vector, comparator};

/// Entries sorted in one step: 512 KiB, which fits a second-level cache.
const RUN_ROWS: usize = 32 << 10;

/// Rows encoded or merged in one step, about a millisecond's work.
const MERGE_ROWS: usize = 128 << 10;

/// Key bytes in an entry, before the row number's four.
const ENTRY_KEY_BYTES: usize = 12;

/// Sorts row numbers by key columns, step by step.
pub struct RowSorter {
    /// One flat vector per key.
    columns: Vec<Vector>,
    keys: Vec<SortKey>,
    rows: usize,
    layout: KeyLayout,
    /// `layout.width` bytes per row.
    bytes: Vec<u8>,
    /// What orders rows whose bytes are equal.
    ties: Vec<Tie>,
    entries: Vec<u128>,
    scratch: Vec<u128>,
    /// The bits in which some entry differs from the first one.
    differing: u128,
    phase: Phase,
    reservation: Reservation,
}

/// A key whose order the bytes do not settle.
pub struct Tie {
    comparator: Comparator,
    key: SortKey,
}

enum Phase {
    /// Encoding the key `slot` of the rows from `row` on.
    Encode {
        slot: usize,
        row: usize,
    },
    /// Making entries of the rows that have none.
    Fill,
    /// Counting the entries of buckets, from the row on.
    Count(Buckets, usize),
    /// Putting entries into buckets, from the row on.
    Scatter(Buckets, usize),
    /// Sorting buckets, from this one on.
    Sort(Buckets, usize),
    /// Sorting the run that starts here.
    Runs(usize),
    /// Merging runs.
    Merge(Merge),
    /// Ordering rows with equal entries, from this place on.
    Refine(usize),
    Done,
}

/// A merge of two runs of `entries`, `start..middle` and `middle..end`, into `scratch`.
#[derive(Clone, Copy)]
struct Merge {
    run_rows: usize,
    start: usize,
    left: usize,
    right: usize,
}

impl RowSorter {
    /// Sorts rows `0..rows` of flat `columns`, one per key, most significant first. Memory is
    /// charged to `reservation`, which may have some of it already, while the sorter lives.
    ///
    /// # Errors
    ///
    /// Out of memory; more than 2^32 rows.
    pub fn new(
        columns: Vec<Vector>,
        rows: usize,
        keys: &[SortKey],
        mut reservation: Reservation,
    ) -> Result<RowSorter> {
        debug_assert!(columns.iter().all(|it| it.len() == rows && it.flat_values().is_some()));
        if u32::try_from(rows).is_err() {
            return Err(Error::new(ErrorKind::OutOfMemory, "more than 2^32 rows to sort"));
        }
        let layout = KeyLayout::new(&columns, keys);
        let merged = if rows > RUN_ROWS { 2 } else { 1 };
        reservation.resize(rows * (layout.width() + merged * size_of::<u128>()))?;
        let ties =
            layout.ties().map(|index| Tie::new(&columns[index], &columns[index], keys[index]));
        Ok(RowSorter {
            ties: ties.collect::<Result<_>>()?,
            bytes: vec![0; rows * layout.width()],
            entries: Vec::with_capacity(rows),
            scratch: vec![0; if rows > RUN_ROWS { rows } else { 0 }],
            columns,
            keys: keys.to_vec(),
            rows,
            layout,
            differing: 0,
            phase: Phase::Encode { slot: 0, row: 0 },
            reservation,
        })
    }

    /// Bytes charged.
    pub fn bytes(&self) -> usize {
        self.reservation.bytes()
    }

    /// Keeps nothing of sorted rows but their order; the columns that it was made with.
    fn keep_order_alone(&mut self) -> Vec<Vector> {
        self.ties = Vec::new();
        self.bytes = Vec::new();
        let order_bytes = self.rows * size_of::<u128>();
        self.reservation.shrink(self.reservation.bytes().saturating_sub(order_bytes));
        std::mem::take(&mut self.columns)
    }

    /// Does a few milliseconds of work; true when the rows are sorted.
    ///
    /// # Errors
    ///
    /// Cancelled, where many rows agree in their first bytes.
    pub fn step(&mut self) -> Result<bool> {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Encode { slot, row } if slot < self.layout.slots() => self.encode(slot, row),
            Phase::Encode { .. } => Phase::Fill,
            Phase::Fill if self.entries.len() < self.rows => self.fill_entries(),
            Phase::Fill => self.start_sorting(),
            Phase::Count(mut buckets, row) if row < self.rows => {
                let end = (row + MERGE_ROWS).min(self.rows);
                buckets.count(&self.entries[row..end]);
                Phase::Count(buckets, end)
            }
            Phase::Count(mut buckets, _) => {
                let is_complete = buckets.is_complete();
                if buckets.start() || is_complete {
                    Phase::Scatter(buckets, 0)
                } else {
                    Phase::Runs(0)
                }
            }
            Phase::Scatter(mut buckets, row) if row < self.rows => {
                let end = (row + MERGE_ROWS).min(self.rows);
                buckets.scatter(&self.entries[row..end], &mut self.scratch);
                Phase::Scatter(buckets, end)
            }
            Phase::Scatter(buckets, _) => {
                std::mem::swap(&mut self.entries, &mut self.scratch);
                self.scratch = Vec::new();
                // Entries with the same key came in the order of their rows.
                if buckets.is_complete() { self.end() } else { Phase::Sort(buckets, 0) }
            }
            Phase::Sort(buckets, bucket) if bucket < buckets.len() => {
                self.sort_buckets(buckets, bucket)
            }
            Phase::Sort(..) => self.end(),
            Phase::Runs(start) if start < self.entries.len() => {
                let end = (start + RUN_ROWS).min(self.entries.len());
                self.sort_run(start, end);
                Phase::Runs(end)
            }
            Phase::Runs(_) => self.start_pass(RUN_ROWS),
            Phase::Merge(merge) => self.merge(merge),
            Phase::Refine(place) if place < self.entries.len() => {
                Phase::Refine(self.refine(place)?)
            }
            Phase::Refine(_) => Phase::Done,
            Phase::Done => return Ok(true),
        };
        Ok(false)
    }

    /// What comes when entries are in order.
    fn end(&mut self) -> Phase {
        self.scratch = Vec::new();
        if self.entries_settle() { Phase::Done } else { Phase::Refine(0) }
    }

    /// Encodes a key of some rows.
    fn encode(&mut self, slot: usize, row: usize) -> Phase {
        let end = (row + MERGE_ROWS).min(self.rows);
        let width = self.layout.width();
        let bytes = &mut self.bytes[row * width..end * width];
        self.layout.encode(slot, &self.columns, row..end, bytes);
        let is_last = end == self.rows;
        let (slot, row) = if is_last { (slot + 1, 0) } else { (slot, end) };
        Phase::Encode { slot, row }
    }

    /// When all entries are made.
    fn start_sorting(&mut self) -> Phase {
        if self.entries_settle() {
            self.bytes = Vec::new();
        }
        if self.rows <= RUN_ROWS {
            return Phase::Runs(0);
        }
        match Buckets::new(self.rows, self.differing) {
            Some(buckets) => Phase::Count(buckets, 0),
            // All entries' keys are equal: they are in order.
            None => self.end(),
        }
    }

    /// Sorts buckets of together a run's rows.
    fn sort_buckets(&mut self, buckets: Buckets, first: usize) -> Phase {
        let (mut bucket, mut rows) = (first, 0);
        while bucket < buckets.len() && rows < RUN_ROWS {
            let range = buckets.range(bucket);
            rows += range.len();
            self.sort_run(range.start, range.end);
            bucket += 1;
        }
        Phase::Sort(buckets, bucket)
    }

    /// Marks the places of `range` whose row differs in the first `keys` keys from the row at the
    /// place before; place 0 is not marked. Only where [`RowSorter::settles`].
    pub fn mark_changes(&self, keys: usize, range: &Range<usize>, marks: &mut [bool]) {
        let Some(bytes) = self.layout.settled_bytes(keys) else { return };
        let taken = bytes.min(ENTRY_KEY_BYTES) as u32;
        if taken == 0 || range.is_empty() {
            return;
        }
        let shift = u128::BITS - 8 * taken;
        let first = range.start.max(1);
        let marks = &mut marks[first - range.start..];
        let width = self.layout.width();
        let rest = |entry: u128| {
            let start = entry as u32 as usize * width;
            &self.bytes[start + ENTRY_KEY_BYTES..start + bytes]
        };
        for (mark, pair) in marks.iter_mut().zip(self.entries[first - 1..].windows(2)) {
            *mark |= (pair[0] ^ pair[1]) >> shift != 0
                || (bytes > ENTRY_KEY_BYTES && rest(pair[0]) != rest(pair[1]));
        }
    }

    /// Whether the encoded keys tell which rows agree in the first `keys` keys.
    pub fn settles(&self, keys: usize) -> bool {
        self.layout.settled_bytes(keys).is_some()
    }

    /// The rows in places `start..end` of the order.
    pub fn rows(&self, start: usize, end: usize) -> Vec<u32> {
        self.entries[start..end].iter().map(|it| *it as u32).collect()
    }

    /// Makes the entries of the next rows.
    fn fill_entries(&mut self) -> Phase {
        let start = self.entries.len();
        let end = (start + MERGE_ROWS).min(self.rows);
        let width = self.layout.width();
        let taken = width.min(ENTRY_KEY_BYTES);
        let entry = |row: u32| {
            let mut entry = [0; 16];
            let start = row as usize * width;
            entry[..taken].copy_from_slice(&self.bytes[start..start + taken]);
            entry[ENTRY_KEY_BYTES..].copy_from_slice(&row.to_be_bytes());
            u128::from_be_bytes(entry)
        };
        self.entries.extend((start as u32..end as u32).map(entry));
        let first = self.entries[0];
        self.differing |= self.entries[start..].iter().fold(0, |all, it| all | (it ^ first));
        Phase::Fill
    }

    /// Whether entries alone tell the order.
    fn entries_settle(&self) -> bool {
        self.layout.width() <= ENTRY_KEY_BYTES && self.ties.is_empty()
    }

    fn sort_run(&mut self, start: usize, end: usize) {
        self.entries[start..end].sort_unstable();
    }

    /// The order of two rows whose entries have the same key bytes.
    fn compare_rest(&self, a: u128, b: u128) -> Ordering {
        let (i, j) = (a as u32 as usize, b as u32 as usize);
        let width = self.layout.width();
        if width > ENTRY_KEY_BYTES {
            let rest = |row: usize| &self.bytes[row * width + ENTRY_KEY_BYTES..(row + 1) * width];
            let order = rest(i).cmp(rest(j));
            if order.is_ne() {
                return order;
            }
        }
        let tie = self.ties.iter().map(|it| it.compare(i, j)).find(|it| it.is_ne());
        tie.unwrap_or_else(|| i.cmp(&j))
    }

    /// Begins to merge runs of `run_rows` pairwise; done when there is one run only.
    fn start_pass(&mut self, run_rows: usize) -> Phase {
        if run_rows >= self.entries.len() {
            return self.end();
        }
        Phase::Merge(Merge { run_rows, start: 0, left: 0, right: run_rows })
    }

    /// Merges some rows of the current pair; goes on to the next pair or pass.
    fn merge(&mut self, mut merge: Merge) -> Phase {
        let rows = self.entries.len();
        let middle = (merge.start + merge.run_rows).min(rows);
        let end = (middle + merge.run_rows).min(rows);
        let mut out = merge.left + merge.right - middle;
        let stop = end.min(out + MERGE_ROWS);
        let mut scratch = std::mem::take(&mut self.scratch);
        while out < stop {
            let takes_left = if merge.left == middle || merge.right == end {
                merge.right == end
            } else {
                self.entries[merge.left] < self.entries[merge.right]
            };
            let from = if takes_left { merge.left } else { merge.right };
            scratch[out] = self.entries[from];
            merge.left += usize::from(takes_left);
            merge.right += usize::from(!takes_left);
            out += 1;
        }
        self.scratch = scratch;
        if out < end {
            Phase::Merge(merge)
        } else if end < rows {
            let right = (end + merge.run_rows).min(rows);
            Phase::Merge(Merge { start: end, left: end, right, ..merge })
        } else {
            std::mem::swap(&mut self.entries, &mut self.scratch);
            self.start_pass(merge.run_rows * 2)
        }
    }
}

impl Tie {
    /// Compares rows of `left` with rows of `right` by `key`.
    pub fn new(left: &Vector, right: &Vector, key: SortKey) -> Result<Tie> {
        Ok(Tie { comparator: comparator(left, right)?, key })
    }

    /// Whether a left row's key is null.
    #[inline]
    pub fn left_is_null(&self, row: usize) -> bool {
        self.comparator.left_is_null(row)
    }

    /// Whether a right row's key is null.
    #[inline]
    pub fn right_is_null(&self, row: usize) -> bool {
        self.comparator.right_is_null(row)
    }

    /// The order of a left and a right row.
    #[inline]
    pub fn compare(&self, left: usize, right: usize) -> Ordering {
        let nulls = (self.comparator.left_is_null(left), self.comparator.right_is_null(right));
        let null_order = if self.key.nulls_first { Ordering::Less } else { Ordering::Greater };
        match nulls {
            (true, true) => Ordering::Equal,
            (true, false) => null_order,
            (false, true) => null_order.reverse(),
            (false, false) => {
                let order = self.comparator.compare_valid(left, right);
                if self.key.descending { order.reverse() } else { order }
            }
        }
    }
}
