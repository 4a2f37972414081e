//! The build side of a join.
//!
//! ```text
//! JoinRows    one driver's rows, while they come
//! JoinTable   all rows and an index over them
//!   insert_next   drivers take block after block of rows and put them in
//!   lookup        for each row of a batch, the head of the chain of rows with its word
//!                 (in `lookup`)
//!   next_pairs    the rows of these chains, some at a time (in `pairs`)
//!
//! array   entries[word] = head                          the words are few
//! index   tagged entry of the head                      otherwise
//! ```
//!
//! Rows with the same word form a chain through their links. Insertion is lock-free: a row points
//! to the present head, then a compare-and-swap makes it the head. Where words are hashes, pairs
//! must still be compared: see [`JoinTable::match_keys`].

use super::{
    key_range::KeyRange,
    key_set::KeySet,
    key_words::{KeyWords, Words},
    tagged_entry::{TaggedEntry, array_is_better, mix_word, prefetch},
};
use crate::{
    StateSizes,
    rows::{Probe, RowContainer, RowLayout, RowLinks, RowList},
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};
use volley_error::Result;
use volley_expression::filter::{KeyFilter, KeyFilterBuilder};
use volley_memory::{Pool, Reservation, RowPtr, check_cancelled, zeroed_atomic_words};
use volley_types::Type;
use volley_vector::{Batch, Decoded, Vector};

/// An array is used when it has at most this many entries per row: three times those of an index.
/// Keys that follow each other are found side by side there.
const ARRAY_ENTRIES_PER_ROW: u128 = 6;

/// Rows whose words are computed at a time.
const CHUNK_ROWS: usize = 1 << 10;

/// Rows whose entries are touched at once.
pub(super) const LOOKUP_ROWS: usize = 64;

/// Entries of an index per row. A small one has more, so that words rarely meet: 256 KiB at most.
const ENTRIES_PER_ROW: usize = 2;
const ENTRIES_PER_ROW_OF_FEW: usize = 8;
const FEW_ROWS: usize = 4 << 10;

/// Rows of one driver.
pub struct JoinRows {
    container: RowContainer,
    columns: usize,
    keys: usize,
    ranges: Vec<Option<KeyRange>>,
    all_rows: Vec<u32>,
    /// What the index will take, so that the table can be made once all rows are there.
    index: Reservation,
    /// The keys, as long as they need no rows.
    set: Option<KeySet>,
    /// Of the key that is in the set.
    key_type: Option<Type>,
}

/// What a table is made for.
#[derive(Clone, Debug)]
pub struct JoinTableSpec {
    /// The keys as compared come first.
    pub columns: Vec<Type>,
    /// One per key.
    pub nulls_equal: Vec<bool>,
    /// One row per key is enough.
    pub is_set: bool,
    /// All that is asked is whether a key is there.
    pub existence_only: bool,
    /// Where the table works in another way.
    pub sizes: StateSizes,
}

/// All rows of a build side, and an index over them.
pub struct JoinTable {
    container: RowContainer,
    spec: JoinTableSpec,
    pub(super) keys: KeyWords,
    entries: Vec<AtomicU64>,
    /// The keys, when there are no rows.
    set: Option<KeyBitmap>,
    /// For some keys, what values they have.
    filters: Vec<(usize, KeyFilterBuilder)>,
    /// Whether words are positions of entries.
    is_array: bool,
    has_chains: AtomicBool,
    /// The next block to insert, and how many are done.
    next_block: AtomicUsize,
    done_blocks: AtomicUsize,
    _reservation: Reservation,
}

/// The only key of a table that has no rows.
pub(super) struct KeyBitmap {
    /// Exact.
    pub(super) filter: Arc<KeyFilter>,
    len: usize,
}

impl JoinRows {
    /// No rows yet; they are charged to `pool`.
    pub fn new(spec: &JoinTableSpec, pool: &Pool) -> JoinRows {
        let layout = RowLayout::new(&spec.columns, &[], RowLinks::Chained);
        let keys = spec.nulls_equal.len();
        let range = |it: &Type| KeyRange::is_known_for(it.physical()).then_some(KeyRange::EMPTY);
        let key_type = spec.bitmap_key().cloned();
        JoinRows {
            container: RowContainer::new(layout, pool),
            columns: spec.columns.len(),
            keys,
            ranges: spec.columns[..keys].iter().map(range).collect(),
            all_rows: Vec::new(),
            index: pool.reservation(),
            set: key_type.is_some().then(|| KeySet::new(spec.sizes.key_set_bytes, pool)),
            key_type,
        }
    }

    /// Appends rows; `columns` as in the spec.
    ///
    /// # Errors
    ///
    /// Out of memory; what a lazy column's loader reports.
    pub fn append(&mut self, columns: &[Vector], rows: usize) -> Result<()> {
        if let (Some(set), Some(key)) = (&mut self.set, columns.first()) {
            if set.insert(&Decoded::new(key)?)? {
                return Ok(());
            }
            self.make_rows()?;
        }
        self.append_rows(columns, rows)
    }

    /// The number of keys.
    pub fn keys(&self) -> usize {
        self.keys
    }

    /// The number of rows; keys that need none are not counted.
    pub fn rows(&self) -> usize {
        self.container.rows()
    }

    /// Bytes charged for the rows and their index.
    pub fn bytes(&self) -> usize {
        self.container.bytes() + self.index.bytes()
    }

    /// Calls `take` with the keys of some of the rows, and how many rows these are: up to
    /// `CHUNK_ROWS` of every block.
    ///
    /// # Errors
    ///
    /// Those of `take`.
    pub fn sample_keys(
        &mut self,
        mut take: impl FnMut(&[Vector], usize) -> Result<()>,
    ) -> Result<()> {
        self.container.freeze_strings();
        for block in 0..self.container.blocks() {
            let list = self.container.block_rows(block, 0, CHUNK_ROWS);
            let keys = (0..self.keys).map(|it| self.container.gather(it, &list));
            take(&keys.collect::<Result<Vec<_>>>()?, list.len())?;
        }
        Ok(())
    }

    /// Hands all rows, and keys without rows, to `take`; forgets them, and gives their memory back,
    /// block by block.
    ///
    /// # Errors
    ///
    /// Those of `take`; cancelled.
    pub fn drain(mut self, mut take: impl FnMut(&Batch) -> Result<()>) -> Result<()> {
        if let (Some(set), Some(key_type)) = (self.set.take(), self.key_type.as_ref()) {
            set.for_each_page(key_type, |keys| {
                let rows = keys.len();
                if rows == 0 { Ok(()) } else { take(&Batch::new(vec![keys], rows)) }
            })?;
        }
        self.container.freeze_strings();
        while let Some(block) = self.container.blocks().checked_sub(1) {
            for start in (0..).step_by(CHUNK_ROWS) {
                check_cancelled()?;
                let list = self.container.block_rows(block, start, CHUNK_ROWS);
                if !list.is_empty() {
                    let columns = (0..self.columns).map(|it| self.container.gather(it, &list));
                    take(&Batch::new(columns.collect::<Result<_>>()?, list.len()))?;
                }
                if list.len() < CHUNK_ROWS {
                    break;
                }
            }
            self.container.pop_block();
            self.index.resize(index_bytes(self.container.rows()))?;
        }
        Ok(())
    }

    /// Makes rows of the keys that had none.
    fn make_rows(&mut self) -> Result<()> {
        let (Some(set), Some(key_type)) = (self.set.take(), self.key_type.clone()) else {
            return Ok(());
        };
        set.for_each_page(&key_type, |keys| {
            let rows = keys.len();
            self.append_rows(&[keys], rows)
        })
    }

    fn append_rows(&mut self, columns: &[Vector], rows: usize) -> Result<()> {
        let columns = columns.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
        if self.all_rows.len() < rows {
            self.all_rows = (0..rows as u32).collect();
        }
        let mut list = self.container.new_list();
        self.container.append(rows, &mut list)?;
        self.index.resize(index_bytes(self.container.rows()))?;
        for (column, decoded) in columns.iter().enumerate() {
            self.container.scatter(column, decoded, &self.all_rows[..rows], &list)?;
        }
        for (range, decoded) in self.ranges.iter_mut().zip(&columns[..self.keys]) {
            if let Some(range) = range {
                *range = range.union(KeyRange::of(decoded));
            }
        }
        Ok(())
    }
}

impl JoinTableSpec {
    /// The type of the key that needs no rows.
    pub fn bitmap_key(&self) -> Option<&Type> {
        match (self.columns.as_slice(), self.nulls_equal.as_slice()) {
            ([key], [false]) if self.existence_only => {
                Some(key).filter(|it| KeyFilter::is_possible_for(it.physical()))
            }
            _ => None,
        }
    }
}

/// The bytes of the index over this number of rows, unless they are few.
fn index_bytes(rows: usize) -> usize {
    rows * ENTRIES_PER_ROW * size_of::<u64>()
}

/// Joins the sets of all parts; where one has rows, or keys are too far apart, all have them after.
fn join_sets(
    parts: &mut [JoinRows],
    free_bytes: usize,
    charge: &mut Reservation,
    pool: &Pool,
) -> Result<Option<KeyBitmap>> {
    if parts.iter().all(|it| it.set.is_some()) {
        let mut all = KeySet::new(free_bytes, pool);
        for part in &mut *parts {
            part.set.take().map_or(Ok(()), |it| all.absorb(it))?;
        }
        if let Some(filter) = all.filter(charge)? {
            return Ok(Some(KeyBitmap { filter: Arc::new(filter), len: all.len() }));
        }
        if let Some(first) = parts.first_mut() {
            first.set = Some(all);
        }
    }
    parts.iter_mut().try_for_each(JoinRows::make_rows)?;
    Ok(None)
}

impl JoinTable {
    /// A table of the rows of all drivers, not yet inserted; it makes filters of the keys at
    /// `filtered`, which must be possible.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn new(
        spec: JoinTableSpec,
        mut parts: Vec<JoinRows>,
        filtered: &[usize],
        pool: &Pool,
    ) -> Result<JoinTable> {
        let mut reservation = pool.reservation();
        let set = join_sets(&mut parts, spec.sizes.key_set_bytes, &mut reservation, pool)?;
        let mut all = JoinRows::new(&spec, pool);
        for part in parts {
            for (into, from) in all.ranges.iter_mut().zip(part.ranges) {
                *into = into.zip(from).map(|(into, from)| into.union(from));
            }
            all.container.absorb(part.container)?;
        }
        let mut container = all.container;
        container.freeze()?;
        container.make_null_row()?;
        let keys = KeyWords::choose(&all.ranges, &spec.nulls_equal, spec.sizes.hash_mask);
        let rows = container.rows();
        let (len, is_array) = index_shape(&keys, rows, pool.spare_bytes());
        reservation.grow(len * 8)?;
        let entries = zeroed_atomic_words(len);
        let filter = |key: &usize| {
            (*key, new_filter(all.ranges[*key], rows, pool.spare_bytes() / 2, &mut reservation))
        };
        let filters = match set {
            Some(_) => Vec::new(),
            None => filtered.iter().map(filter).collect(),
        };
        Ok(JoinTable {
            container,
            spec,
            keys,
            entries,
            set,
            filters,
            is_array,
            has_chains: AtomicBool::new(false),
            next_block: AtomicUsize::new(0),
            done_blocks: AtomicUsize::new(0),
            _reservation: reservation,
        })
    }

    /// The number of rows, or of keys without rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.set.as_ref().map_or(self.container.rows(), |it| it.len)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys, when there are no rows.
    pub(super) fn set(&self) -> Option<&KeyBitmap> {
        self.set.as_ref()
    }

    /// Whether all rows are inserted.
    pub fn is_complete(&self) -> bool {
        self.done_blocks.load(Ordering::Acquire) == self.container.blocks()
    }

    /// Whether rows with equal words have equal keys.
    pub(crate) fn is_exact(&self) -> bool {
        self.keys.is_exact()
    }

    /// How rows are found: `set` (there are none), `array`, `exact` or `hash`.
    #[cfg(test)]
    pub fn mode(&self) -> &'static str {
        if self.set.is_some() {
            return "set";
        }
        match (self.is_array, self.is_exact()) {
            (true, _) => "array",
            (false, true) => "exact",
            (false, false) => "hash",
        }
    }

    /// Whether some rows have the same word.
    pub(crate) fn has_chains(&self) -> bool {
        self.has_chains.load(Ordering::Relaxed)
    }

    /// One of the filters asked for, once the table is complete.
    pub fn filter(&self, index: usize) -> Option<Arc<KeyFilter>> {
        match &self.set {
            Some(set) => Some(Arc::clone(&set.filter)),
            None => self.filters.get(index).map(|it| Arc::new(it.1.finish())),
        }
    }

    /// The rows' columns, flags and null row.
    #[inline]
    pub fn container(&self) -> &RowContainer {
        &self.container
    }

    /// Inserts a block of rows that no other driver has taken; false when there is none left.
    ///
    /// # Errors
    ///
    /// Nested values beyond the layout's 32 bits.
    pub fn insert_next(&self) -> Result<bool> {
        let block = self.next_block.fetch_add(1, Ordering::Relaxed);
        if block >= self.container.blocks() {
            return Ok(false);
        }
        // The only block was taken by this call: no other thread changes entries.
        let is_alone = self.container.blocks() == 1;
        let mut words = Words::default();
        for start in (0..).step_by(CHUNK_ROWS) {
            let list = self.container.block_rows(block, start, CHUNK_ROWS);
            let keys = (0..self.spec.nulls_equal.len()).map(|it| self.container.gather(it, &list));
            let keys = keys.collect::<Result<Vec<_>>>()?;
            for (key, filter) in &self.filters {
                filter.insert(&Decoded::new(&keys[*key])?);
            }
            self.keys.words(&keys, &self.spec.nulls_equal, list.len(), &mut words)?;
            let chunks = words.words.chunks(LOOKUP_ROWS).zip(words.rows.chunks(LOOKUP_ROWS));
            for (words, rows) in chunks {
                // As many cache misses in flight as the processor allows.
                words.iter().for_each(|it| self.prefetch_entry(self.place_of(*it).0));
                for (word, row) in words.iter().zip(rows) {
                    let row = list.pointers()[*row as usize];
                    // SAFETY: the row is of this table, and its block was taken by this call alone;
                    // `is_alone` says whether there are others.
                    unsafe { self.insert(*word, row, is_alone) };
                }
            }
            if list.len() < CHUNK_ROWS {
                break;
            }
        }
        self.done_blocks.fetch_add(1, Ordering::Release);
        Ok(true)
    }

    /// # Safety
    ///
    /// - `row` is a row of this table that is not inserted, and no other thread inserts it.
    /// - If `is_alone`, no other thread inserts any row.
    #[inline]
    unsafe fn insert(&self, word: u64, row: RowPtr, is_alone: bool) {
        // SAFETY: the row is not shared yet.
        unsafe { RowContainer::set_word(row, word) };
        let (mut position, hash) = self.place_of(word);
        let new = TaggedEntry::new(row, hash);
        loop {
            let entry = TaggedEntry(self.entries[position].load(Ordering::Acquire));
            let head = entry.row();
            let has_tag = !entry.is_empty() && entry.has_tag(hash);
            // SAFETY: heads are rows of this table whose word was written before they became heads.
            let is_chain = has_tag && unsafe { RowContainer::word(head) } == word;
            if !entry.is_empty() && !is_chain {
                position = self.position_after(position);
                continue;
            }
            // SAFETY: as above.
            if is_chain && self.spec.is_set && unsafe { self.has_equal(head, row) } {
                return;
            }
            // SAFETY: the row is not shared yet.
            unsafe { RowContainer::set_next(row, head) };
            if self.swap(position, entry, new, is_alone) {
                if is_chain {
                    self.has_chains.store(true, Ordering::Relaxed);
                }
                return;
            }
        }
    }

    /// Replaces an entry, unless another thread has done so. Without other threads a plain store is
    /// enough, which is faster.
    #[inline]
    fn swap(&self, position: usize, old: TaggedEntry, new: TaggedEntry, is_alone: bool) -> bool {
        let entry = &self.entries[position];
        if is_alone {
            entry.store(new.0, Ordering::Release);
            return true;
        }
        let swapped = entry.compare_exchange(old.0, new.0, Ordering::AcqRel, Ordering::Relaxed);
        swapped.is_ok()
    }

    /// Whether the chain that begins with `head` has a row with the keys of `row`.
    ///
    /// # Safety
    ///
    /// - Both are rows of this table; `head` is inserted and has the word of `row`.
    unsafe fn has_equal(&self, mut head: RowPtr, row: RowPtr) -> bool {
        if self.is_exact() {
            return true;
        }
        while !head.is_null() {
            let keys = self.spec.nulls_equal.len();
            // SAFETY: rows of this table, whose columns are not written any more.
            if unsafe { self.container.rows_equal(head, row, keys) } {
                return true;
            }
            // SAFETY: inserted rows' links are not written any more.
            head = unsafe { RowContainer::next(head) };
        }
        false
    }

    /// Where a word is first looked for, and the hash that its entry has the tag of.
    #[inline]
    pub(super) fn place_of(&self, word: u64) -> (usize, u64) {
        if self.is_array {
            return (word as usize, 0);
        }
        let hash = mix_word(word);
        // The range of hashes reduced to that of positions, without a division.
        let position = (u128::from(hash) * self.entries.len() as u128) >> 64;
        (position as usize, hash)
    }

    /// The next position to look at, around the end.
    #[inline]
    pub(super) fn position_after(&self, position: usize) -> usize {
        if position + 1 == self.entries.len() { 0 } else { position + 1 }
    }

    /// The entry at a position: the head of a chain, or empty.
    #[inline]
    pub(super) fn entry(&self, position: usize) -> TaggedEntry {
        TaggedEntry(self.entries[position].load(Ordering::Relaxed))
    }

    #[inline]
    pub(super) fn prefetch_entry(&self, position: usize) {
        prefetch(RowPtr::new(std::ptr::from_ref(&self.entries[position]).cast_mut().cast()));
    }

    /// Whether words are positions of entries.
    pub(super) fn is_array(&self) -> bool {
        self.is_array
    }

    /// For each key, whether null equals null.
    pub(super) fn nulls_equal(&self) -> &[bool] {
        &self.spec.nulls_equal
    }

    /// Clears `equal` where the keys of a probe row differ from those of its row of the table.
    ///
    /// # Errors
    ///
    /// What a lazy key's loader reports.
    pub fn match_keys(
        &self,
        keys: &[Vector],
        probe_rows: &[u32],
        list: &RowList,
        equal: &mut [bool],
    ) -> Result<()> {
        for (column, (key, nulls_equal)) in keys.iter().zip(&self.spec.nulls_equal).enumerate() {
            let decoded = Decoded::new(key)?;
            let probe = Probe { decoded: &decoded, rows: probe_rows };
            self.container.match_column(column, probe, list, *nulls_equal, equal);
        }
        Ok(())
    }
}

/// A filter of a key's values, at most `rows` of them; the range alone where it would take more
/// than `bytes_max`.
fn new_filter(
    range: Option<KeyRange>,
    rows: usize,
    bytes_max: usize,
    reservation: &mut Reservation,
) -> KeyFilterBuilder {
    let range = range.unwrap_or(KeyRange { min: i64::MIN, max: i64::MAX });
    let bytes = KeyFilterBuilder::bytes_for(range.min, range.max, rows);
    match bytes <= bytes_max && reservation.grow(bytes).is_ok() {
        true => KeyFilterBuilder::new(range.min, range.max, rows),
        false => KeyFilterBuilder::range(range.min, range.max),
    }
}

/// The number of entries, and whether words are their positions. An array is as large as was
/// charged ahead, or leaves some of the `spare_bytes`.
fn index_shape(keys: &KeyWords, rows: usize, spare_bytes: usize) -> (usize, bool) {
    if let KeyWords::Exact { words, .. } = keys
        && array_is_better(*words, rows, ARRAY_ENTRIES_PER_ROW)
        && *words as usize * size_of::<u64>() <= index_bytes(rows).max(spare_bytes / 2)
    {
        return (*words as usize, true);
    }
    let per_row = if rows <= FEW_ROWS { ENTRIES_PER_ROW_OF_FEW } else { ENTRIES_PER_ROW };
    ((rows * per_row).max(2), false)
}
