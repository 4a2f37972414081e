//! The layers of changes of a segment seen as one: which rows exist, and where.
//!
//! ```text
//! own     Pdt    a transaction's changes
//! write   Pdt    committed changes in memory
//! run     Run    committed changes that were frozen
//! base           rows 0 .. base_rows, which no layer contains
//! ```
//!
//! All layers name rows the same way and order them by the same keys. The rows before a key are
//! therefore its SID, plus what each layer inserts less what it deletes before that key: no layer's
//! positions depend on another's.

use crate::{
    Change, Entry, Key, LayerValues, PROVISIONAL, Pdt, Position, Prefix, Rid, RowName, Run, Sid,
    Stamp, pdt,
};
use std::{ops::Range, slice, sync::Arc};
use volley_error::Result;

/// The committed changes of a segment at one point in time. A clone is cheap, and the version that
/// a reader keeps.
#[derive(Clone, Debug)]
pub struct Layers {
    /// What was frozen, if anything was.
    pub run: Option<Arc<Run>>,
    /// What is in memory.
    pub write: Pdt,
}

/// Committed changes and those of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The committed changes.
    pub layers: &'a Layers,
    /// The transaction's.
    pub own: Option<&'a Pdt>,
}

/// One layer, of either kind.
#[derive(Clone, Copy, Debug)]
pub enum Layer<'a> {
    /// In memory.
    Tree(&'a Pdt),
    /// Frozen.
    Run(&'a Run),
}

/// The entries of a layer in order.
#[derive(Clone, Debug)]
pub enum Entries<'a> {
    /// Of a tree.
    Tree(crate::Cursor<'a>),
    /// Of a run.
    Run(slice::Iter<'a, Entry>),
}

impl<'a> Iterator for Entries<'a> {
    type Item = &'a Entry;

    fn next(&mut self) -> Option<&'a Entry> {
        match self {
            Entries::Tree(cursor) => cursor.next(),
            Entries::Run(entries) => entries.next(),
        }
    }
}

impl<'a> Layer<'a> {
    /// The entries from `position` on.
    pub fn from(self, position: Position) -> Entries<'a> {
        match self {
            Layer::Tree(delta) => Entries::Tree(delta.tree.from(position)),
            Layer::Run(run) => Entries::Run(run.from(position)),
        }
    }

    /// What comes before `position`.
    pub fn prefix(self, position: Position) -> Prefix<'a> {
        match self {
            Layer::Tree(delta) => delta.tree.prefix(position),
            Layer::Run(run) => run.prefix(position),
        }
    }

    /// The values that entries name.
    pub fn values(self) -> &'a LayerValues {
        match self {
            Layer::Tree(delta) => &delta.values,
            Layer::Run(run) => run.values(),
        }
    }

    /// The number of entries.
    pub fn len(self) -> usize {
        match self {
            Layer::Tree(delta) => delta.tree.len(),
            Layer::Run(run) => run.entries().len(),
        }
    }

    /// Inserts - deletes of all entries.
    pub fn delta(self) -> i64 {
        match self {
            Layer::Tree(delta) => delta.tree.delta(),
            Layer::Run(run) => run.delta(),
        }
    }

    /// Whether there is no entry.
    pub fn is_empty(self) -> bool {
        match self {
            Layer::Tree(delta) => delta.is_empty(),
            Layer::Run(run) => run.is_empty(),
        }
    }

    /// The entry that says whether the row of `key` is inserted, deleted or removed here.
    pub fn row_entry(self, key: Key) -> Option<&'a Entry> {
        pdt::covering(self.prefix(Position::column(key, 0)).last, key)
    }

    /// The entries of the row's columns.
    pub fn column_entries(self, key: Key) -> impl Iterator<Item = &'a Entry> {
        self.from(Position::column(key, 0)).take_while(move |it| it.key == key)
    }

    /// The rows of `sids` that this layer deletes, as ascending ranges.
    pub fn deleted(self, sids: Range<Sid>) -> Vec<Range<Sid>> {
        let start = Position::row(Key::base(sids.start));
        let first = self.prefix(start).last;
        pdt::deleted_ranges(first.into_iter().chain(self.from(start)), sids)
    }

    fn delta_before(self, key: Key) -> i64 {
        self.prefix(Position::row(key)).delta_before(key)
    }

    /// The latest stamp of an entry that changes the row. `None`: unchanged, or a run, which has no
    /// stamps.
    fn stamp_of(self, key: Key) -> Option<Stamp> {
        let row = self.row_entry(key).map(|it| it.stamp);
        row.into_iter().chain(self.column_entries(key).map(|it| it.stamp)).max()
    }
}

impl Layers {
    /// No changes, with `write` as the layer that takes them.
    pub fn new(write: Pdt) -> Layers {
        Layers { run: None, write }
    }

    /// The committed changes alone.
    pub fn view(&self) -> View<'_> {
        View { layers: self, own: None }
    }

    /// With the changes of a transaction.
    pub fn with<'a>(&'a self, own: &'a Pdt) -> View<'a> {
        View { layers: self, own: Some(own) }
    }

    /// An empty layer for a transaction.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub fn transaction(&self) -> Result<Pdt> {
        self.write.transaction()
    }

    /// Whether the row was changed, inserted or deleted by a commit later than `snapshot`, or may
    /// have been: frozen changes are as late as the bound of their freeze. An inserted row
    /// that does not exist any more was deleted. In O(log n).
    pub fn changed_since(&self, row: RowName, snapshot: Stamp) -> bool {
        let Some(key) = self.view().key(row) else { return true };
        if !key.is_base() && !self.view().is_live(key) {
            return true;
        }
        self.view().layers().any(|layer| match layer {
            Layer::Run(run) if snapshot >= run.bound() => false,
            _ => layer.stamp_of(key).is_some_and(|it| it > snapshot),
        })
    }
}

impl<'a> View<'a> {
    /// The layers, from the lowest on.
    pub fn layers(self) -> impl DoubleEndedIterator<Item = Layer<'a>> + Clone {
        let run = self.layers.run.as_deref().map(Layer::Run);
        let own = self.own.map(Layer::Tree);
        run.into_iter().chain([Layer::Tree(&self.layers.write)]).chain(own)
    }

    /// Rows of the base.
    pub fn base_rows(self) -> Sid {
        self.layers.write.base_rows
    }

    /// Rows that exist.
    pub fn rows(self) -> u64 {
        let delta: i64 = self.layers().map(Layer::delta).sum();
        u64::from(self.base_rows()).saturating_add_signed(delta)
    }

    /// Whether nothing changed.
    pub fn is_clean(self) -> bool {
        self.layers().all(Layer::is_empty)
    }

    /// Where the row stands among all rows that exist or once existed; `None` if there is no such
    /// row.
    pub fn key(self, row: RowName) -> Option<Key> {
        match row {
            RowName::Base(sid) => (sid < self.base_rows()).then_some(Key::base(sid)),
            RowName::Inserted(id) => {
                let layer = |it: &Layer<'_>| {
                    let is_own = matches!(it, Layer::Tree(delta) if delta.is_transaction());
                    is_own == (id >= PROVISIONAL)
                };
                let found = self.layers().filter(layer).find_map(|it| it.values().find(id));
                found.map(|it| Key::new(it.sid, id))
            }
        }
    }

    /// The key of the row, if it exists.
    pub fn live_key(self, row: RowName) -> Option<Key> {
        self.key(row).filter(|it| self.is_live(*it))
    }

    /// Whether the row of `key` exists.
    pub fn is_live(self, key: Key) -> bool {
        // The highest layer that says something about the row decides.
        let change = self.layers().rev().find_map(|it| it.row_entry(key)).map(Entry::change);
        match change {
            Some(Change::Insert { .. }) => true,
            Some(_) => false,
            None => key.is_base() && key.sid() < self.base_rows(),
        }
    }

    /// How many existing rows come before the row of `key`, whether that one exists or not.
    pub fn rank(self, key: Key) -> u64 {
        let delta: i64 = self.layers().map(|it| it.delta_before(key)).sum();
        u64::from(key.sid()).saturating_add_signed(delta)
    }

    /// The row's position, if it exists. In O(log n).
    pub fn rid(self, row: RowName) -> Option<Rid> {
        let key = self.live_key(row)?;
        u32::try_from(self.rank(key)).ok()
    }

    /// The row at position `rid`.
    ///
    /// At most 64 look-ups of O(log n) each; see [`crate::MergePlan::row_at`] for many rows.
    pub fn row_at(self, rid: Rid) -> Option<RowName> {
        let rid = u64::from(rid);
        if rid >= self.rows() {
            return None;
        }
        // The last key with as many rows before it is the row's: one more comes before the next.
        let (mut low, mut high) = (0, Key::first(self.base_rows() + 1).0);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.rank(Key(middle)) <= rid {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(Key(low).name())
    }

    /// The rows of `sids` that exist, as ascending ranges.
    pub fn live(self, sids: Range<Sid>) -> Vec<Range<Sid>> {
        let sids = sids.start..sids.end.min(self.base_rows());
        let mut deleted: Vec<Range<Sid>> =
            self.layers().flat_map(|it| it.deleted(sids.clone())).collect();
        deleted.sort_unstable_by_key(|it| it.start);
        let (mut live, mut start) = (Vec::new(), sids.start);
        for range in deleted {
            if start < range.start {
                live.push(start..range.start);
            }
            start = start.max(range.end);
        }
        if start < sids.end {
            live.push(start..sids.end);
        }
        live
    }
}
