//! One layer of changes in memory: a tree of entries and the values that they name.

use crate::{
    Budget, Change, Column, Entry, Key, LayerValues, PROVISIONAL, Position, Prefix, Sid, Stamp,
    Tree,
    name::{IDS_MAX, SEGMENT_ROWS_MAX},
    tree::EMPTY_BYTES,
};
use std::{ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_types::Type;

/// A positional delta tree: changes of one segment that are in memory, either the committed ones
/// (the *write* layer) or those of one transaction.
///
/// A clone is a version that shares nodes and chunks: versions of readers and savepoints are
/// clones. After an error a delta may have a part of the change: return to a clone.
#[derive(Clone, Debug)]
pub struct Pdt {
    pub(crate) types: Arc<[Type]>,
    pub(crate) base_rows: Sid,
    pub(crate) tree: Tree,
    pub(crate) values: LayerValues,
    /// The id of the next insert; [`PROVISIONAL`] and above in a transaction.
    pub(crate) next_id: u32,
    pub(crate) budget: Arc<Budget>,
}

impl Pdt {
    /// No changes of a segment of `base_rows` rows with columns of `types`.
    ///
    /// # Errors
    ///
    /// More rows than [`SEGMENT_ROWS_MAX`].
    pub fn new(types: Arc<[Type]>, base_rows: Sid, budget: Arc<Budget>) -> Result<Pdt> {
        if base_rows > SEGMENT_ROWS_MAX {
            return Err(Error::internal("a segment of 2^32 rows"));
        }
        budget.ensure(EMPTY_BYTES)?;
        Ok(Pdt {
            types,
            base_rows,
            tree: Tree::new(Arc::clone(&budget)),
            values: LayerValues::default(),
            next_id: 0,
            budget,
        })
    }

    /// No changes of the same segment, for a transaction.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn transaction(&self) -> Result<Pdt> {
        let empty = Pdt::new(Arc::clone(&self.types), self.base_rows, Arc::clone(&self.budget))?;
        Ok(Pdt { next_id: PROVISIONAL, ..empty })
    }

    /// The layer with ids of later inserts from `next_id` on, for a segment whose changes up to
    /// then are in a run.
    pub fn with_next_id(self, next_id: u32) -> Pdt {
        Pdt { next_id: next_id.min(PROVISIONAL - 1).max(self.next_id), ..self }
    }

    /// The types of the segment's columns.
    pub fn types(&self) -> &Arc<[Type]> {
        &self.types
    }

    /// Rows of the segment's base.
    pub fn base_rows(&self) -> Sid {
        self.base_rows
    }

    /// The entries.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The values that entries name.
    pub fn values(&self) -> &LayerValues {
        &self.values
    }

    /// Whether it has no changes.
    pub fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    /// The id of the next inserted row. It only grows while the segment exists, also when inserts
    /// move to a run, so that ids stay unique.
    pub fn next_id(&self) -> u32 {
        self.next_id
    }

    /// Bytes of memory that this version holds, what it shares with others included.
    pub fn retained_bytes(&self) -> usize {
        self.tree.retained_bytes() + self.values.retained_bytes()
    }

    /// Whether the layer belongs to a transaction.
    pub(crate) fn is_transaction(&self) -> bool {
        self.next_id >= PROVISIONAL
    }

    /// Takes `count` ids for inserts.
    pub(crate) fn take_ids(&mut self, count: u32) -> Result<u32> {
        let first = self.next_id;
        let start = if self.is_transaction() { PROVISIONAL } else { 0 };
        let end = first.checked_add(count).filter(|it| it - start <= IDS_MAX);
        self.next_id = end.ok_or_else(|| {
            Error::unsupported("2^31 inserts into one segment").hint("run VACUUM on the table")
        })?;
        Ok(first)
    }

    /// The entry that says whether the row of `key` is inserted, deleted or removed in this layer.
    pub fn row_entry(&self, key: Key) -> Option<&Entry> {
        covering(self.tree.before(Position::column(key, 0)), key)
    }

    /// The entries of the row's columns.
    pub fn column_entries(&self, key: Key) -> impl Iterator<Item = &Entry> {
        self.tree.from(Position::column(key, 0)).take_while(move |it| it.key == key)
    }

    /// Inserts - deletes of this layer before the row of `key`.
    pub fn delta_before(&self, key: Key) -> i64 {
        self.prefix(key).delta_before(key)
    }

    fn prefix(&self, key: Key) -> Prefix<'_> {
        self.tree.prefix(Position::row(key))
    }

    /// The rows of `sids` that this layer deletes, as ascending ranges.
    pub fn deleted(&self, sids: Range<Sid>) -> Vec<Range<Sid>> {
        let first = self.tree.before(Position::row(Key::base(sids.start)));
        let rest = self.tree.from(Position::row(Key::base(sids.start)));
        deleted_ranges(first.into_iter().chain(rest), sids)
    }
}

/// `entry` if it is a row's own entry that covers `key`.
pub(crate) fn covering(entry: Option<&Entry>, key: Key) -> Option<&Entry> {
    entry.filter(|it| it.position().rank == 0 && it.covers(key))
}

/// The parts of `sids` that deletes among `entries`, which are in order, cover.
pub(crate) fn deleted_ranges<'a>(
    entries: impl Iterator<Item = &'a Entry>,
    sids: Range<Sid>,
) -> Vec<Range<Sid>> {
    let mut ranges = Vec::new();
    for entry in entries.take_while(|it| it.key < Key::base(sids.end)) {
        if let Change::Delete { .. } = entry.change() {
            let start = entry.key.sid().max(sids.start);
            let end = entry.end_sid().min(sids.end);
            if start < end {
                ranges.push(start..end);
            }
        }
    }
    ranges
}

/// Changes of a layer, entry by entry. They keep the layer's invariants: entries of several rows
/// are split where another entry has to stand within them, and joined where they follow each other.
impl Pdt {
    /// Reserves what the changes of one row may allocate.
    fn ensure_change(&self) -> Result<()> {
        self.budget.ensure(4 * self.tree.change_bytes())
    }

    /// Adds `rows` inserts with ids from `key`'s on.
    pub(crate) fn put_insert(&mut self, key: Key, rows: u32, stamp: Stamp) -> Result<()> {
        self.ensure_change()?;
        self.split_delete(key.sid());
        let entry = Entry::new(key, Change::Insert { rows }, stamp);
        let joined = self.tree.before(entry.position()).filter(|it| {
            let follows = it.key.sid() == key.sid() && it.key.id() + it.rows() == key.id();
            follows && it.stamp == stamp && matches!(it.change(), Change::Insert { .. })
        });
        let entry = joined.map_or(entry, |it| it.part(it.key, it.rows() + rows));
        self.tree.put(entry);
        Ok(())
    }

    /// Deletes base rows that this layer does not delete yet.
    pub(crate) fn put_delete(&mut self, sids: Range<Sid>, stamp: Stamp) -> Result<()> {
        self.ensure_change()?;
        self.drop_columns(Key::base(sids.start)..Key::first(sids.end))?;
        let mut start = sids.start;
        while start < sids.end {
            self.ensure_change()?;
            // The next entry of an insert within the range, before whose base row a range must end.
            let next = self.tree.from(Position::row(Key::first(start + 1))).next();
            let end = next.map_or(sids.end, |it| it.key.sid().min(sids.end));
            self.put_deletes(start..end, stamp);
            start = end;
        }
        Ok(())
    }

    /// Deletes base rows between which no entry stands; joins them with their neighbors.
    fn put_deletes(&mut self, sids: Range<Sid>, stamp: Stamp) {
        let key = Key::base(sids.start);
        let (mut start, mut end) = (sids.start, sids.end);
        let is_delete =
            |it: &&Entry| it.stamp == stamp && matches!(it.change(), Change::Delete { .. });
        let before = self.tree.before(Position::row(key)).filter(is_delete);
        if let Some(before) = before.filter(|it| it.end_sid() == start) {
            start = before.key.sid();
        }
        // With an insert between them they stay apart.
        let after = self.tree.from(Position::row(Key::first(end))).next().filter(is_delete);
        if let Some(after) = after.copied().filter(|it| it.key.sid() == end) {
            end = after.end_sid();
            self.tree.remove(after.position());
        }
        self.tree.put(Entry::new(Key::base(start), Change::Delete { rows: end - start }, stamp));
    }

    /// Deletes an inserted row: of this layer if it has it, otherwise of one below.
    pub(crate) fn put_remove(&mut self, key: Key, stamp: Stamp) -> Result<()> {
        self.ensure_change()?;
        self.drop_columns(key..Key(key.0 + 1))?;
        let is_own = self.isolate_insert(key);
        if is_own && self.is_transaction() {
            self.tree.remove(Position::row(key));
            return Ok(());
        }
        self.split_delete(key.sid());
        let change = if is_own { Change::Tombstone } else { Change::Remove };
        self.tree.put(Entry::new(key, change, stamp));
        Ok(())
    }

    /// Notes value `value` of `column` for a row that is live in this layer.
    pub(crate) fn put_modify(
        &mut self,
        key: Key,
        column: Column,
        value: u32,
        stamp: Stamp,
    ) -> Result<()> {
        self.ensure_change()?;
        if !key.is_base() {
            self.isolate_insert(key);
            self.split_delete(key.sid());
        }
        self.tree.put(Entry::new(key, Change::Modify { column, value }, stamp));
        Ok(())
    }

    /// Removes the entries of columns of the rows from `keys.start` up to `keys.end`.
    fn drop_columns(&mut self, keys: Range<Key>) -> Result<()> {
        let mut position = Position::row(keys.start);
        loop {
            let mut later = self.tree.from(position).take_while(|it| it.key < keys.end);
            // Of a range of base rows, inserts between them keep their columns.
            let is_wanted =
                |it: &&Entry| it.position().rank > 0 && it.key.is_base() == keys.start.is_base();
            let Some(found) = later.find(is_wanted).map(Entry::position) else { return Ok(()) };
            self.ensure_change()?;
            self.tree.remove(found);
            position = found;
        }
    }

    /// Splits the delete that covers base rows before `sid` and `sid` itself.
    fn split_delete(&mut self, sid: Sid) {
        let Some(entry) = self.tree.before(Position::row(Key::first(sid))).copied() else { return };
        let Change::Delete { rows } = entry.change() else { return };
        let before = sid - entry.key.sid();
        if before < rows {
            self.tree.put(entry.part(entry.key, before));
            self.tree.put(entry.part(Key::base(sid), rows - before));
        }
    }

    /// Gives the insert of `key` an entry of its own; whether this layer has it.
    fn isolate_insert(&mut self, key: Key) -> bool {
        let Some(entry) = self.row_entry(key).copied() else { return false };
        let Change::Insert { rows } = entry.change() else { return false };
        let before = key.id() - entry.key.id();
        if before > 0 {
            self.tree.put(entry.part(entry.key, before));
        }
        self.tree.put(entry.part(key, 1));
        if before + 1 < rows {
            let after = Key::new(key.sid(), key.id() + 1);
            self.tree.put(entry.part(after, rows - before - 1));
        }
        true
    }

    /// Checks the invariants, for tests.
    #[doc(hidden)]
    pub fn check(&self) {
        self.tree.check();
        let mut before: Option<&Entry> = None;
        for entry in self.tree.iter() {
            if let Some(before) = before {
                let last = match before.change() {
                    Change::Delete { rows } => Key::base(before.key.sid() + rows - 1),
                    Change::Insert { rows } => Key(before.key.0 + u64::from(rows) - 1),
                    _ => before.key,
                };
                assert!(last <= entry.key, "{entry:?} within {before:?}");
                let is_single = before.rows() == 1;
                assert!(last < entry.key || is_single, "{entry:?} within {before:?}");
            }
            match entry.change() {
                Change::Delete { .. } => assert!(entry.key.is_base(), "{entry:?}"),
                Change::Modify { column, value } => {
                    let values = self.values.column(column).map_or(0, |it| it.end());
                    assert!(value < values, "{entry:?} of {values} values");
                }
                _ => assert!(!entry.key.is_base(), "{entry:?}"),
            }
            before = Some(entry);
        }
    }
}
