//! Serializing a transaction onto newer commits: a check of its rows, then insertion.
//!
//! Nothing of the transaction is rewritten: names stay what they are, and ids of its inserts grow
//! by a constant. The first committer of a row wins.

use crate::{Change, Entry, Key, Layer, Layers, PROVISIONAL, Pdt, Position, RowName, Stamp};
use std::{fmt, sync::Arc};
use volley_error::Result;

/// Why a transaction cannot commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The row that both changed.
    pub row: RowName,
    /// What is known of the other change.
    pub kind: ConflictKind,
}

/// What is known of the change that a transaction conflicts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictKind {
    /// A commit later than the transaction's snapshot changed the row.
    Changed,
    /// The row was changed, and changes later than the snapshot were frozen: the transaction is
    /// too old to know which came first.
    TooOld,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.row;
        match self.kind {
            ConflictKind::Changed => write!(f, "{row} was changed by another transaction"),
            ConflictKind::TooOld => write!(f, "{row} was changed, the transaction is too old"),
        }
    }
}

impl Layers {
    /// The first row that the transaction `own`, begun at `snapshot`, changed and that a later
    /// commit changed, too. In O(c log n) for `c` entries of the transaction, and those of others
    /// in ranges that it deletes.
    pub fn conflict(&self, own: &Pdt, snapshot: Stamp) -> Option<Conflict> {
        own.tree.iter().find_map(|entry| match entry.change() {
            Change::Insert { .. } => None,
            _ if !entry.key.is_base() && entry.key.id() >= PROVISIONAL => None,
            Change::Delete { rows } => self.conflict_in_range(entry, rows, snapshot),
            _ => self.conflict_of_row(entry.key.name(), snapshot),
        })
    }

    fn conflict_of_row(&self, row: RowName, snapshot: Stamp) -> Option<Conflict> {
        self.changed_since(row, snapshot).then(|| {
            let key = self.view().key(row);
            let write = Layer::Tree(&self.write);
            let is_known = key.is_none_or(|key| {
                let mut entries = write.row_entry(key).into_iter().chain(write.column_entries(key));
                entries.any(|it| it.stamp > snapshot)
            });
            let kind = if is_known { ConflictKind::Changed } else { ConflictKind::TooOld };
            Conflict { row, kind }
        })
    }

    /// The first entry of a base row among `rows` from `deleted` on that is later than `snapshot`.
    fn conflict_in_range(&self, deleted: &Entry, rows: u32, snapshot: Stamp) -> Option<Conflict> {
        let (first, end) = (deleted.key, Key::first(deleted.key.sid() + rows));
        self.view().layers().find_map(|layer| {
            let is_late = |entry: &Entry| match layer {
                Layer::Run(run) => snapshot < run.bound(),
                Layer::Tree(_) => entry.stamp > snapshot,
            };
            let covering = layer.row_entry(first);
            let within = layer.from(Position::row(first)).take_while(|it| it.key < end);
            let mut of_base = covering.into_iter().chain(within).filter(|it| it.key.is_base());
            let found = of_base.find(|it| is_late(it))?;
            let kind = match layer {
                Layer::Run(_) => ConflictKind::TooOld,
                Layer::Tree(_) => ConflictKind::Changed,
            };
            Some(Conflict { row: found.key.max(first).name(), kind })
        })
    }

    /// The next version: with the changes of `own`, for which [`Layers::conflict`] found nothing,
    /// as commit `stamp`. Values are shared, not copied, except small chunks that are merged.
    ///
    /// # Errors
    ///
    /// Out of memory; more inserts or values than a segment's delta counts. This version is
    /// unchanged.
    pub fn apply(&self, own: &Pdt, stamp: Stamp) -> Result<Layers> {
        let mut write = self.write.clone();
        write.apply(own, stamp)?;
        Ok(Layers { run: self.run.clone(), write })
    }
}

impl Pdt {
    /// Adds the changes of a transaction.
    fn apply(&mut self, own: &Pdt, stamp: Stamp) -> Result<()> {
        let first_id = self.take_ids(own.next_id - PROVISIONAL)?;
        for (first, chunk) in own.values.inserts.iter() {
            let first = first - PROVISIONAL + first_id;
            self.values.inserts.push(first, Arc::clone(chunk), &self.budget)?;
        }
        let mut first_values = Vec::new();
        for (column, values) in own.values.columns() {
            first_values.resize(column as usize, 0);
            let mut start = None;
            for (_, chunk) in values.iter() {
                let first = self.values.append_column(column, Arc::clone(chunk), &self.budget)?;
                start.get_or_insert(first);
            }
            first_values.push(start.unwrap_or_default());
        }
        for entry in own.tree.iter() {
            let key = match entry.key.id() {
                id if entry.key.is_base() || id < PROVISIONAL => entry.key,
                id => Key::new(entry.key.sid(), id - PROVISIONAL + first_id),
            };
            match entry.change() {
                Change::Insert { rows } => self.put_insert(key, rows, stamp)?,
                Change::Delete { rows } => {
                    self.put_delete(key.sid()..key.sid() + rows, stamp)?;
                }
                Change::Remove | Change::Tombstone => self.put_remove(key, stamp)?,
                Change::Modify { column, value } => {
                    let first = first_values.get(column as usize).copied().unwrap_or_default();
                    self.put_modify(key, column, first + value, stamp)?;
                }
            }
        }
        Ok(())
    }
}
