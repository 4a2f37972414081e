//! Groups of an aggregation.
//!
//! ```text
//! find_or_insert(keys):
//!   words   = each row's keys as one integer, or their hash      (see `group_keys`)
//!   groups  = row with that word, or a new row                   (one pass over the index)
//!   write the keys of new rows                                   (one column at a time)
//!   where words are hashes:
//!     compare the keys of all rows with those of their groups    (one column at a time)
//!     rows that differ (equal hashes of different keys) look further, one by one
//! ```

use super::{
    encode_key,
    group_index::{Found, GroupIndex},
    group_keys::{GroupKeys, WordsChange},
    key_type,
};
use crate::{
    StateSizes,
    rows::{Probe, RowContainer, RowLayout, RowLinks, RowList},
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::AggregateState;
use volley_memory::{Pool, Slots, check_cancelled};
use volley_types::Type;
use volley_vector::{Decoded, Vector};

/// Groups whose words are computed anew at a time.
const REBUILD_ROWS: usize = 1 << 10;

/// A set of groups: one row each, with keys and aggregate states.
pub struct GroupTable {
    container: RowContainer,
    index: GroupIndex,
    keys: GroupKeys,
    /// The types of the keys. Row columns are the keys as compared, then nested keys themselves.
    key_types: Vec<Type>,
    functions: Vec<Arc<dyn AggregateState>>,
    /// The words of the last batch.
    words: Vec<u64>,
    /// The group of each row of the last batch.
    groups: RowList,
    /// Rows of the last batch that began a group, and these groups.
    new_rows: Vec<u32>,
    new_groups: RowList,
    /// The first blocks of the container, whose states are dropped already.
    dropped_blocks: usize,
    /// Whether the states of the last block are dropped already.
    is_last_dropped: bool,
}

/// Where a walk over all groups stands.
#[derive(Clone, Copy, Debug, Default)]
pub struct GroupCursor {
    block: usize,
    row: usize,
}

impl GroupTable {
    /// A table without groups; `sizes`: where it works in another way.
    pub fn new(
        key_types: Vec<Type>,
        functions: Vec<Arc<dyn AggregateState>>,
        sizes: StateSizes,
        pool: &Pool,
    ) -> GroupTable {
        let mut columns: Vec<Type> = key_types.iter().map(key_type).collect();
        columns.extend(key_types.iter().filter(|it| it.physical().is_by_reference()).cloned());
        let states: Vec<_> = functions.iter().map(|it| it.state()).collect();
        let container =
            RowContainer::new(RowLayout::new(&columns, &states, RowLinks::Single), pool);
        let (groups, new_groups) = (container.new_list(), container.new_list());
        GroupTable {
            index: GroupIndex::new(pool),
            keys: GroupKeys::new(&columns[..key_types.len()], sizes),
            container,
            key_types,
            functions,
            words: Vec::new(),
            groups,
            new_rows: Vec::new(),
            dropped_blocks: 0,
            is_last_dropped: false,
            new_groups,
        }
    }

    /// The number of groups.
    #[inline]
    pub fn len(&self) -> usize {
        self.container.rows()
    }

    /// Whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How groups are found: `array`, `exact` or `hash`.
    #[cfg(test)]
    pub fn mode(&self) -> &'static str {
        match (self.index.is_array(), self.keys.is_exact()) {
            (true, _) => "array",
            (false, true) => "exact",
            (false, false) => "hash",
        }
    }

    /// Bytes charged to the pool.
    pub fn bytes(&self) -> usize {
        self.container.bytes() + self.index.bytes()
    }

    /// Whether the index may have to grow for `rows` more groups.
    pub fn may_grow(&self, rows: usize) -> bool {
        self.index.may_grow(rows)
    }

    /// What the next growth of the index will take.
    pub fn growth_bytes(&self) -> usize {
        // Twice as many entries, beside those of now.
        2 * self.index.bytes()
    }

    /// Finds the group of each of `rows` rows, making it where there is none.
    ///
    /// # Errors
    ///
    /// Out of memory; what a lazy key's loader reports.
    pub fn find_or_insert(&mut self, keys: &[Vector], rows: usize) -> Result<()> {
        let encoded = keys.iter().map(encode_key).collect::<Result<Vec<_>>>()?;
        let nested = keys.iter().filter(|it| it.data_type().physical().is_by_reference());
        let mut columns = encoded.iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
        let key_columns = columns.len();
        columns.extend(nested.map(Decoded::new).collect::<Result<Vec<_>>>()?);
        let change = self.keys.words(&encoded, &mut self.words, rows)?;
        let became_dense = !self.index.is_array()
            && !self.is_empty()
            && GroupIndex::wants_array(self.keys.count(), self.len());
        if change == WordsChange::All || became_dense {
            self.rebuild(rows)?;
        }
        self.groups.clear();
        self.new_rows.clear();
        self.new_groups.clear();
        let inserted = self.insert_by_word();
        self.init_states(0);
        inserted?;
        self.write_keys(&columns, 0)?;
        if !self.keys.is_exact() && self.new_rows.len() < rows {
            self.check_keys(&columns, key_columns)?;
        }
        Ok(())
    }

    /// The group of each row of the last batch.
    #[inline]
    pub fn groups(&self) -> &RowList {
        &self.groups
    }

    /// The rows of the last batch that began a group, each once.
    #[inline]
    pub fn new_rows(&self) -> &[u32] {
        &self.new_rows
    }

    /// The states of aggregate `index` in the groups of the last batch, one per row.
    #[inline]
    pub fn slots(&mut self, index: usize) -> Slots<'_> {
        self.container.slots(index, &self.groups)
    }

    /// The states of aggregate `index` in `groups`.
    #[inline]
    pub fn slots_of<'a>(&'a mut self, index: usize, groups: &'a RowList) -> Slots<'a> {
        self.container.slots(index, groups)
    }

    /// Makes keys ready for [`GroupTable::keys_of`].
    ///
    /// # Errors
    ///
    /// Nested values beyond the layout's 32 bits.
    pub fn freeze(&mut self) -> Result<()> {
        self.container.freeze()
    }

    /// As [`GroupTable::freeze`], for groups that are taken block by block.
    pub fn freeze_blocks(&mut self) {
        self.container.freeze_strings();
    }

    /// The next groups from `cursor` on, at most `count`; none at the end.
    pub fn next_groups(&self, cursor: &mut GroupCursor, count: usize) -> RowList {
        let mut groups = self.container.new_list();
        while groups.len() < count && cursor.block < self.container.blocks() {
            let missing = count - groups.len();
            let part = self.container.block_rows(cursor.block, cursor.row, missing);
            cursor.row += part.len();
            if part.len() < missing {
                *cursor = GroupCursor { block: cursor.block + 1, row: 0 };
            }
            groups.append(&part);
        }
        groups
    }

    /// Where the last block begins; `None` without groups.
    pub fn last_block(&self) -> Option<GroupCursor> {
        let block = self.container.blocks().checked_sub(1)?;
        Some(GroupCursor { block, row: 0 })
    }

    /// Forgets the groups of the last block, and gives their memory back; call
    /// [`GroupTable::release_index`] before. Groups must not be looked up until the table is
    /// cleared.
    pub fn pop_block(&mut self) {
        let Some(last) = self.last_block() else { return };
        // First of all, as in `drop_some_states`.
        if !std::mem::replace(&mut self.is_last_dropped, true) {
            self.drop_states_of(last.block);
        }
        self.container.pop_block();
        self.is_last_dropped = false;
    }

    /// Gives the memory of the index back, before [`GroupTable::pop_block`].
    pub fn release_index(&mut self) {
        self.index.release();
    }

    /// The first group of the last batch, `count` times.
    pub fn repeat_group(&self, count: usize) -> RowList {
        self.groups.pick(&vec![0; count])
    }

    /// The groups with these addresses; see [`RowList::pointers`].
    ///
    /// # Errors
    ///
    /// Internal: there are no such groups.
    pub fn groups_at(&self, addresses: &[i64]) -> Result<RowList> {
        let groups = self.container.rows_at(addresses.iter().map(|it| *it as usize));
        groups.ok_or_else(|| Error::internal("addresses of other groups"))
    }

    /// How many runs of neighbors with equal keys the last batch had; not exact where words are
    /// hashes.
    pub fn runs(&self) -> usize {
        let changes = self.words.windows(2).filter(|it| it[0] != it[1]).count();
        changes + usize::from(!self.words.is_empty())
    }

    /// Makes `count` groups, whose keys are not written, for a batch; `group_of` each of its rows.
    /// The table must be empty.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn make_groups(&mut self, count: usize, group_of: &[u32]) -> Result<RowList> {
        let mut made = self.container.new_list();
        self.container.append(count, &mut made)?;
        self.groups = made.pick(group_of);
        self.new_groups = made;
        self.init_states(0);
        Ok(std::mem::replace(&mut self.new_groups, self.container.new_list()))
    }

    /// The keys of `groups`, one vector per key. Call [`GroupTable::freeze`] before.
    ///
    /// # Errors
    ///
    /// Nested values beyond the layout's 32 bits.
    pub fn keys_of(&self, groups: &RowList) -> Result<Vec<Vector>> {
        let mut nested = self.key_types.len();
        let columns = self.key_types.iter().enumerate().map(|(key, data_type)| {
            if data_type.physical().is_by_reference() {
                nested += 1;
                return self.container.gather(nested - 1, groups);
            }
            self.container.gather(key, groups)
        });
        columns.collect()
    }

    /// What long keys of a group take, on average.
    pub fn long_bytes_per_group(&self) -> usize {
        self.container.long_bytes() / self.len().max(1)
    }

    /// Records the bytes that the states of all groups hold outside the rows.
    pub fn expect_outside(&mut self, bytes: usize) {
        self.container.expect_outside(bytes / self.len().max(1));
    }

    /// Bytes that the states of `groups` hold outside the rows.
    pub fn external_state_bytes(&mut self, groups: &RowList) -> usize {
        self.state_bytes(groups, |it, slots| it.external_state_bytes(slots))
    }

    /// Bytes that the results of `groups` take, or making them.
    pub fn result_bytes(&mut self, groups: &RowList) -> usize {
        self.state_bytes(groups, |it, slots| it.result_bytes(slots))
    }

    /// The sum of `bytes` over the states that hold memory outside the rows.
    fn state_bytes(
        &mut self,
        groups: &RowList,
        bytes: impl Fn(&dyn AggregateState, &mut Slots<'_>) -> usize,
    ) -> usize {
        let owning = self.functions.iter().enumerate().filter(|(_, it)| it.state().needs_drop);
        owning.map(|(index, it)| bytes(&**it, &mut self.container.slots(index, groups))).sum()
    }

    /// Forgets all groups and gives their memory back.
    pub fn clear(&mut self) {
        while self.drop_some_states() {}
        self.container.clear();
        self.index.release();
        self.forget();
    }

    /// Forgets all groups; keeps their memory for the next ones.
    pub fn restart(&mut self) {
        while self.drop_some_states() {}
        self.container.restart();
        self.forget();
    }

    /// Forgets what refers to the rows of the container, which has none.
    fn forget(&mut self) {
        (self.dropped_blocks, self.is_last_dropped) = (0, false);
        let columns: Vec<Type> = self.key_types.iter().map(key_type).collect();
        // Ranges begin anew: input is often clustered.
        self.keys = self.keys.anew(&columns);
        // Gives memory back only.
        let _ = self.index.reset(None);
        self.groups = self.container.new_list();
        self.new_groups = self.container.new_list();
        self.new_rows.clear();
    }

    /// For each word, the row that carries it, or a new one.
    fn insert_by_word(&mut self) -> Result<()> {
        self.container.reserve(self.words.len())?;
        let mut found = Found::default();
        let made = self.index.find_or_make(&self.words, &mut self.container, &mut found);
        self.new_rows = found.new_rows;
        // SAFETY: the index holds rows of this container only, and is cleared with it.
        self.groups = unsafe { self.container.list_of(found.groups) };
        // SAFETY: these rows were taken from the container just now.
        self.new_groups = unsafe { self.container.list_of(found.new_groups) };
        made
    }

    /// Computes the words of all groups again and puts the groups where these belong; `rows` more
    /// may come.
    fn rebuild(&mut self, rows: usize) -> Result<()> {
        let count = self.keys.count();
        let wants_array = GroupIndex::wants_array(count, self.len() + rows);
        self.index.reset(count.filter(|_| wants_array))?;
        if self.is_empty() {
            return Ok(());
        }
        self.container.freeze()?;
        let mut cursor = GroupCursor::default();
        let mut words = Vec::new();
        loop {
            check_cancelled()?;
            let groups = self.next_groups(&mut cursor, REBUILD_ROWS);
            if groups.is_empty() {
                return Ok(());
            }
            let keys = (0..self.key_types.len()).map(|it| self.container.gather(it, &groups));
            let keys = keys.collect::<Result<Vec<_>>>()?;
            if self.keys.words(&keys, &mut words, groups.len())? == WordsChange::All {
                return Err(Error::internal("keys of groups changed their words again"));
            }
            for (word, group) in words.iter().zip(groups.pointers()) {
                // SAFETY: the group is a row of this container, which is borrowed mutably.
                unsafe { RowContainer::set_word(*group, *word) };
                self.index.insert_new(*word, *group)?;
            }
        }
    }

    /// Initializes the states of new groups from number `first` on. Nothing between the making of
    /// a row and this may fail without calling it.
    fn init_states(&mut self, first: usize) {
        if first == self.new_groups.len() {
            return;
        }
        let groups = self.new_groups.from(first);
        for (index, function) in self.functions.iter().enumerate() {
            function.init(&mut self.container.slots(index, &groups));
        }
    }

    /// Writes the keys of new groups from number `first` on.
    fn write_keys(&mut self, columns: &[Decoded], first: usize) -> Result<()> {
        if first == self.new_groups.len() {
            return Ok(());
        }
        let groups = self.new_groups.from(first);
        for (column, decoded) in columns.iter().enumerate() {
            self.container.scatter(column, decoded, &self.new_rows[first..], &groups)?;
        }
        Ok(())
    }

    /// Compares every row's keys with its group's.
    fn check_keys(&mut self, columns: &[Decoded], key_columns: usize) -> Result<()> {
        let rows: Vec<u32> = (0..self.groups.len() as u32).collect();
        let mut equal = vec![true; rows.len()];
        for (column, decoded) in columns[..key_columns].iter().enumerate() {
            let probe = Probe { decoded, rows: &rows };
            self.container.match_column(column, probe, &self.groups, true, &mut equal);
        }
        if equal.iter().all(|it| *it) {
            return Ok(());
        }
        for row in rows.into_iter().filter(|it| !equal[*it as usize]) {
            self.resolve_collision(row, columns, key_columns)?;
        }
        Ok(())
    }

    /// Finds or makes the group of a row whose hash is that of another group.
    fn resolve_collision(&mut self, row: u32, columns: &[Decoded], keys: usize) -> Result<()> {
        if self.index.is_full() {
            self.index.index().grow()?;
        }
        self.container.reserve(1)?;
        let word = self.words[row as usize];
        let container = &self.container;
        let found = self.index.index().find(word, |candidate| {
            // SAFETY: the index holds rows of this container only.
            let candidate = unsafe { container.list_of(vec![candidate]) };
            let mut equal = [true];
            for (column, decoded) in columns[..keys].iter().enumerate() {
                let probe = Probe { decoded, rows: &[row] };
                container.match_column(column, probe, &candidate, true, &mut equal);
            }
            equal[0]
        });
        let group = match found {
            Ok(group) => group,
            Err(position) => {
                let group = self.container.take_row();
                // SAFETY: the row is new.
                unsafe { RowContainer::set_word(group, word) };
                self.index.index().insert(position, word, group);
                let first = self.new_rows.len();
                self.new_rows.push(row);
                // SAFETY: the row was taken from this container just now.
                unsafe { self.container.push_to(&mut self.new_groups, group) };
                self.init_states(first);
                self.write_keys(columns, first)?;
                group
            }
        };
        // SAFETY: the index holds rows of this container only.
        unsafe { self.container.replace_in(&mut self.groups, row as usize, group) };
        Ok(())
    }

    /// Drops the states of some groups, which are not used again; whether there are more.
    pub fn drop_some_states(&mut self) -> bool {
        let block = self.dropped_blocks;
        let owns = self.functions.iter().any(|it| it.state().needs_drop);
        if !owns || block + usize::from(self.is_last_dropped) >= self.container.blocks() {
            return false;
        }
        // First of all: a state whose drop panics is not dropped again.
        self.dropped_blocks += 1;
        self.drop_states_of(block);
        true
    }

    fn drop_states_of(&mut self, block: usize) {
        let groups = self.container.block_rows(block, 0, usize::MAX);
        for (index, function) in self.functions.iter().enumerate() {
            if function.state().needs_drop {
                function.drop_states(&mut self.container.slots(index, &groups));
            }
        }
    }
}

impl Drop for GroupTable {
    fn drop(&mut self) {
        while self.drop_some_states() {}
    }
}
