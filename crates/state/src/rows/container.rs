//! Blocks of rows.

use super::{
    RowLayout, RowList,
    heap::StringHeap,
    layout::{NEXT, WORD},
    memo::StringMemo,
    side::SideColumn,
};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use volley_error::{Error, ErrorKind, Result};
use volley_memory::{Pool, Reservation, RowPtr, Slots};

/// The first block's size; each next one doubles.
const BLOCK_BYTES_MIN: usize = 4 << 10;

/// Blocks do not grow beyond this, except for longer rows.
const BLOCK_BYTES_MAX: usize = 1 << 20;

/// A block ends when its rows have about this number of bytes of strings or of external memory, so
/// that rows are freed block by block.
const BLOCK_OUTSIDE_MAX: usize = 2 << 20;

/// Addresses that hash tables can pack beside a tag have at most this many bits.
const ADDRESS_BITS: u32 = 48;

/// Rows of one layout, in blocks that never move.
#[derive(Debug)]
pub struct RowContainer {
    /// Differs from that of every other container, and changes when this one is cleared.
    id: u64,
    pub(super) layout: RowLayout,
    blocks: Vec<Block>,
    /// Zeroed blocks from before [`RowContainer::restart`], used before new ones are made.
    spare: Vec<Block>,
    rows: usize,
    /// What a row holds elsewhere on average, as far as that was told.
    outside_bytes_per_row: usize,
    pub(super) heap: StringHeap,
    pub(super) memo: StringMemo,
    /// One per column; used for nested types.
    pub(super) sides: Vec<SideColumn>,
    /// Per column, whether some row may be null there.
    pub(super) has_nulls: Vec<bool>,
    /// The row that stands for "no row": all columns are null.
    null_row: Option<Block>,
    /// The first one is grown; the others came with absorbed containers.
    pub(super) reservations: Vec<Reservation>,
}

/// Memory of rows, zeroed; 16-byte elements give the alignment.
#[derive(Debug)]
struct Block {
    start: RowPtr,
    /// Rows handed out.
    rows: usize,
    /// Rows that fit.
    capacity: usize,
    /// Buffers of strings that were there before, the one that is being filled among them.
    strings_before: usize,
    /// Of the columns that stand beside the rows, how many values were there before; empty if there
    /// are no such columns.
    sides_before: Vec<usize>,
    /// What `start` points to; touched through `start` only.
    memory: Vec<u128>,
}

impl RowContainer {
    /// An empty container, whose memory is charged to `pool`.
    pub fn new(layout: RowLayout, pool: &Pool) -> RowContainer {
        let columns = layout.columns();
        RowContainer {
            id: next_id(),
            layout,
            blocks: Vec::new(),
            spare: Vec::new(),
            rows: 0,
            outside_bytes_per_row: 0,
            heap: StringHeap::default(),
            memo: StringMemo::default(),
            sides: (0..columns).map(|_| SideColumn::default()).collect(),
            has_nulls: vec![false; columns],
            null_row: None,
            reservations: vec![pool.reservation()],
        }
    }

    /// The number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes charged for the rows.
    pub fn bytes(&self) -> usize {
        let charged: usize = self.reservations.iter().map(Reservation::bytes).sum();
        charged - self.spare_bytes()
    }

    /// Bytes of long strings, and of what stands beside the rows.
    pub(crate) fn long_bytes(&self) -> usize {
        self.heap.bytes() + self.sides.iter().map(SideColumn::bytes).sum::<usize>()
    }

    /// Bytes charged for the memory of rows to come.
    fn spare_bytes(&self) -> usize {
        self.spare.iter().map(Block::bytes).sum()
    }

    /// An empty list of rows of this container.
    pub fn new_list(&self) -> RowList {
        RowList { owner: self.id, rows: Vec::new(), has_missing: false }
    }

    /// The rows of `pointers`, which are of this container.
    ///
    /// # Safety
    ///
    /// - Every pointer was handed out by this container since it was made or cleared.
    pub(crate) unsafe fn list_of(&self, pointers: Vec<RowPtr>) -> RowList {
        RowList { owner: self.id, rows: pointers, has_missing: false }
    }

    /// Appends `row`, which is of this container.
    ///
    /// # Safety
    ///
    /// - As for [`RowContainer::list_of`].
    pub(crate) unsafe fn push_to(&self, list: &mut RowList, row: RowPtr) {
        self.check(list);
        list.rows.push(row);
    }

    /// Replaces a row of `list`.
    ///
    /// # Safety
    ///
    /// - As for [`RowContainer::list_of`].
    pub(crate) unsafe fn replace_in(&self, list: &mut RowList, index: usize, row: RowPtr) {
        self.check(list);
        list.rows[index] = row;
    }

    /// Appends `count` zeroed rows to `list`.
    ///
    /// # Errors
    ///
    /// Out of memory; nothing has changed then.
    pub fn append(&mut self, count: usize, list: &mut RowList) -> Result<()> {
        self.check(list);
        self.reserve(count)?;
        list.rows.extend((0..count).map(|_| self.take_row()));
        Ok(())
    }

    /// Makes room for `count` rows, so that `take_row` can be called that often.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn reserve(&mut self, count: usize) -> Result<()> {
        let free = self.blocks.last().map_or(0, |it| it.capacity - it.rows);
        let wide_rows = self.rows_of_wide_block();
        if free >= count && wide_rows.is_none() {
            return Ok(());
        }
        if let Some(spare) = self.spare.iter().rposition(|it| it.capacity >= count) {
            let spare = self.spare.swap_remove(spare);
            self.begin_block(spare);
            return Ok(());
        }
        let size = (BLOCK_BYTES_MIN << self.blocks.len().min(8)).min(BLOCK_BYTES_MAX);
        // The next rows will have strings as long, and not be more.
        let wide_rows = wide_rows.map_or(usize::MAX, |it| 2 * it);
        let outside = BLOCK_OUTSIDE_MAX / self.outside_bytes_per_row.max(1);
        let fit = (size / self.layout.row_bytes).min(wide_rows).min(outside);
        let capacity = fit.max(count).max(1);
        let block = Block::new(capacity, self.layout.row_bytes, &mut self.reservations[0])?;
        self.begin_block(block);
        Ok(())
    }

    fn begin_block(&mut self, block: Block) {
        let sides = if self.has_sides() { self.sides.as_slice() } else { &[] };
        let sides_before = sides.iter().map(SideColumn::rows).collect();
        self.blocks.push(Block { strings_before: self.heap.len(), sides_before, ..block });
    }

    /// Records the average bytes that a row holds outside of the container.
    pub fn expect_outside(&mut self, bytes_per_row: usize) {
        self.outside_bytes_per_row = bytes_per_row;
    }

    /// The rows of the last block, if their strings and what stands beside them are so large that
    /// it ends.
    fn rows_of_wide_block(&self) -> Option<usize> {
        let last = self.blocks.last()?;
        let beside = self.sides.iter().zip(&last.sides_before).map(|it| it.0.bytes_from(*it.1));
        let bytes = self.heap.bytes_from(last.strings_before) + beside.sum::<usize>();
        (bytes >= BLOCK_OUTSIDE_MAX && last.rows > 0).then_some(last.rows)
    }

    /// A zeroed row.
    ///
    /// # Panics
    ///
    /// If there is no room: see [`RowContainer::reserve`].
    #[inline]
    pub(crate) fn take_row(&mut self) -> RowPtr {
        let block = self.blocks.last_mut().expect("reserve() was called");
        assert!(block.rows < block.capacity, "reserve() was called");
        let row = block.row(block.rows, self.layout.row_bytes);
        block.rows += 1;
        self.rows += 1;
        row
    }

    /// Forgets all rows and gives their memory back. Lists of this container become invalid.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.spare.clear();
        self.restart();
    }

    /// Forgets all rows; keeps their memory for the next ones. Lists of this container become
    /// invalid.
    pub fn restart(&mut self) {
        self.id = next_id();
        let row_bytes = self.layout.row_bytes;
        self.blocks.iter_mut().for_each(|it| it.empty(row_bytes));
        self.spare.append(&mut self.blocks);
        self.rows = 0;
        self.heap = StringHeap::default();
        self.memo = StringMemo::default();
        self.sides.iter_mut().for_each(|it| *it = SideColumn::default());
        self.has_nulls.fill(false);
        self.null_row = None;
        self.reservations.truncate(1);
        let bytes = self.spare_bytes();
        // Gives memory back only.
        let _ = self.reservations[0].resize(bytes);
    }

    /// Drops the rows of the last block, and releases their memory and that of their strings. Lists
    /// of this container become invalid. Nothing may have been absorbed.
    pub fn pop_block(&mut self) {
        debug_assert!(self.reservations.len() == 1, "blocks of several containers");
        let Some(block) = self.blocks.pop() else { return };
        self.id = next_id();
        self.rows -= block.rows;
        let beside = self.sides.iter_mut().zip(&block.sides_before).map(|it| it.0.truncate(*it.1));
        let freed =
            block.bytes() + self.heap.truncate(block.strings_before) + beside.sum::<usize>();
        self.reservations[0].shrink(freed);
    }

    /// Whether some columns stand beside the rows.
    fn has_sides(&self) -> bool {
        self.layout.columns.iter().any(|it| it.data_type.physical().is_by_reference())
    }

    /// The number of blocks; see [`RowContainer::block_rows`].
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Up to `count` rows of a block from position `start` on.
    pub fn block_rows(&self, block: usize, start: usize, count: usize) -> RowList {
        let block = &self.blocks[block];
        let end = block.rows.min(start + count);
        let rows = (start..end).map(|it| block.row(it, self.layout.row_bytes)).collect();
        RowList { owner: self.id, rows, has_missing: false }
    }

    /// The rows at `addresses`; `None` if there is none at one of them.
    pub(crate) fn rows_at(&self, addresses: impl Iterator<Item = usize>) -> Option<RowList> {
        let row_bytes = self.layout.row_bytes;
        let mut blocks: Vec<(usize, &Block)> =
            self.blocks.iter().map(|it| (it.start.expose() as usize, it)).collect();
        blocks.sort_unstable_by_key(|it| it.0);
        let row_at = |address: usize| {
            let after = blocks.partition_point(|it| it.0 <= address);
            let (start, block) = blocks.get(after.checked_sub(1)?)?;
            let row = (address - start) / row_bytes;
            let is_row = row < block.rows && start + row * row_bytes == address;
            is_row.then(|| block.row(row, row_bytes))
        };
        let rows = addresses.map(row_at).collect::<Option<Vec<_>>>()?;
        Some(RowList { owner: self.id, rows, has_missing: false })
    }

    /// Makes the row that stands for "no row".
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(crate) fn make_null_row(&mut self) -> Result<()> {
        let block = Block::new(1, self.layout.row_bytes, &mut self.reservations[0])?;
        for column in &self.layout.columns {
            // SAFETY: the block is new, not shared, and zeroed.
            let byte: u8 = unsafe { block.start.read(column.null_byte) };
            // SAFETY: as above.
            unsafe { block.start.write(column.null_byte, byte | column.null_mask) };
        }
        self.null_row = Some(block);
        Ok(())
    }

    /// The row that stands for "no row", once it is made.
    pub(crate) fn null_row(&self) -> RowPtr {
        self.null_row.as_ref().map_or(RowPtr::NULL, |it| it.start)
    }

    /// Appends the row that stands for "no row", `count` times.
    pub fn push_missing(&self, list: &mut RowList, count: usize) {
        self.check(list);
        if let Some(row) = &self.null_row {
            list.rows.extend(std::iter::repeat_n(row.start, count));
            list.has_missing = true;
        }
    }

    /// Takes all rows of `other`, which has the same layout.
    ///
    /// # Errors
    ///
    /// Too many strings or nested values.
    pub(crate) fn absorb(&mut self, mut other: RowContainer) -> Result<()> {
        let heap = std::mem::take(&mut other.heap);
        let buffers = self.heap.absorb(heap)?;
        let sides = std::mem::take(&mut other.sides);
        let sides = self.sides.iter_mut().zip(sides).map(|(into, from)| into.absorb(from));
        let sides = sides.collect::<Result<Vec<u32>>>()?;
        for block in 0..other.blocks() {
            let list = other.block_rows(block, 0, usize::MAX);
            other.move_references(&list, buffers, &sides);
        }
        self.blocks.append(&mut other.blocks);
        self.rows += other.rows;
        self.has_nulls.iter_mut().zip(&other.has_nulls).for_each(|(into, from)| *into |= from);
        self.reservations.append(&mut other.reservations);
        Ok(())
    }

    /// Makes strings shareable; enough to gather the rows of a block in their order.
    pub(crate) fn freeze_strings(&mut self) {
        self.heap.freeze();
    }

    /// Makes strings and nested values shareable; call it before gathering.
    ///
    /// # Errors
    ///
    /// Nested values beyond the layout's 32 bits.
    pub fn freeze(&mut self) -> Result<()> {
        self.heap.freeze();
        for (column, side) in self.layout.columns.iter().zip(&mut self.sides) {
            if column.data_type.physical().is_by_reference() {
                side.freeze(&column.data_type)?;
            }
        }
        Ok(())
    }

    /// The states of aggregate `index` in the rows of `list`.
    #[inline]
    pub fn slots<'a>(&'a mut self, index: usize, list: &'a RowList) -> Slots<'a> {
        self.check(list);
        let state = &self.layout.states[index];
        // SAFETY: the rows are of this container (checked), which is borrowed mutably; the layout
        // made room for the state's type at this offset, aligned. Whether values are there is
        // tracked by the hash table, which initializes the states of new rows before all else.
        unsafe { Slots::new(RowPtr::as_raw(&list.rows), state.offset, state.layout.type_id) }
    }

    /// The word of a row.
    ///
    /// # Safety
    ///
    /// - `row` is a row of this container, and no other thread writes its word now.
    #[inline]
    pub unsafe fn word(row: RowPtr) -> u64 {
        // SAFETY: every row begins with its word.
        unsafe { row.read(WORD) }
    }

    /// Sets the word of a row.
    ///
    /// # Safety
    ///
    /// - `row` is a row of a living container, and no other thread uses its word now.
    #[inline]
    pub(crate) unsafe fn set_word(row: RowPtr, word: u64) {
        // SAFETY: every row begins with its word.
        unsafe { row.write(WORD, word) }
    }

    /// The next row of a chain.
    ///
    /// # Safety
    ///
    /// - `row` is a row of a living container with chained rows; no other thread writes its link.
    #[inline]
    pub unsafe fn next(row: RowPtr) -> RowPtr {
        // SAFETY: chained rows have a link after the word.
        unsafe { row.read(NEXT) }
    }

    /// Links `row` to `next`.
    ///
    /// # Safety
    ///
    /// - `row` is a row of a living container with chained rows; no other thread uses its link.
    #[inline]
    pub(crate) unsafe fn set_next(row: RowPtr, next: RowPtr) {
        // SAFETY: chained rows have a link after the word.
        unsafe { row.write(NEXT, next) }
    }

    /// Sets the matched flag of every row of `list`.
    pub fn mark_matched(&self, list: &RowList) {
        self.check(list);
        let Some(offset) = self.layout.flag else { return };
        for row in &list.rows {
            // SAFETY: the row is of this container (checked), which has flags; flags are accessed
            // as atomics only.
            let flag = unsafe { &*row.field::<AtomicU8>(offset) };
            if flag.load(Ordering::Relaxed) == 0 {
                flag.store(1, Ordering::Relaxed);
            }
        }
    }

    /// The positions in `list` of rows whose matched flag is `matched`.
    pub fn select_matched(&self, list: &RowList, matched: bool) -> Vec<u32> {
        self.check(list);
        let Some(offset) = self.layout.flag else { return Vec::new() };
        let is_wanted = |row: &RowPtr| {
            // SAFETY: as in `mark_matched`.
            let flag = unsafe { &*row.field::<AtomicU8>(offset) };
            (flag.load(Ordering::Relaxed) != 0) == matched
        };
        let rows = list.rows.iter().enumerate().filter(|(_, row)| is_wanted(row));
        rows.map(|(index, _)| index as u32).collect()
    }

    /// Refuses rows of another container.
    #[inline]
    pub fn check(&self, list: &RowList) {
        assert_eq!(self.id, list.owner, "rows of another container");
    }
}

impl Block {
    fn new(capacity: usize, row_bytes: usize, reservation: &mut Reservation) -> Result<Block> {
        let bytes = capacity.checked_mul(row_bytes).ok_or_else(too_large)?;
        let bytes = bytes.checked_next_multiple_of(16).ok_or_else(too_large)?;
        reservation.grow(bytes)?;
        let mut memory = vec![0u128; bytes / 16];
        let start = RowPtr::new(memory.as_mut_ptr().cast());
        if (start.expose() + bytes as u64) >> ADDRESS_BITS != 0 {
            return Err(Error::unsupported("hash tables above 48 bits of address space"));
        }
        Ok(Block { start, rows: 0, capacity, strings_before: 0, sides_before: Vec::new(), memory })
    }

    fn bytes(&self) -> usize {
        self.memory.len() * 16
    }

    /// Takes all rows back, whose memory becomes zero.
    fn empty(&mut self, row_bytes: usize) {
        let used = (self.rows * row_bytes).div_ceil(16);
        self.memory[..used].fill(0);
        // Touching the memory made the old pointer invalid.
        self.start = RowPtr::new(self.memory.as_mut_ptr().cast());
        self.rows = 0;
    }

    #[inline]
    fn row(&self, index: usize, row_bytes: usize) -> RowPtr {
        debug_assert!((index + 1) * row_bytes <= self.memory.len() * 16);
        RowPtr::new(self.start.field(index * row_bytes))
    }
}

fn too_large() -> Error {
    Error::new(ErrorKind::OutOfMemory, "too many rows in one block of a hash table")
}

fn next_id() -> u64 {
    static NEXT_ID: AtomicU64 = AtomicU64::new(1);
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}
