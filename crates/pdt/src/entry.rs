//! One change of a segment: 24 bytes.
//!
//! ```text
//! key     u64    the row that changes: (SID, insert id)
//! slot    u32    0: rows inserted, 1: base rows deleted, 2, 3: an insert removed, from 4: a column
//! value   u32    of 0 and 1: the number of rows; of columns: where the value is
//! stamp   u64    the commit that made the change
//! ```
//!
//! Entries are ordered by position: the key, then the rows' entry (slots 0 to 3, at most one per
//! row), then columns. An entry of several rows covers consecutive base rows, or consecutive ids at
//! one SID. No other entry of the same layer lies between the first and the last row that an entry
//! covers: it is split where one is needed.

use crate::{Column, Key, Stamp};

/// A change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The row, or the first one.
    pub key: Key,
    /// The kind and the column, see above.
    slot: u32,
    /// Rows, or the value's number in its column.
    value: u32,
    /// When it was made.
    pub stamp: Stamp,
}

const _: () = assert!(size_of::<Entry>() == 24);

/// What an entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// This many rows are inserted, with consecutive ids.
    Insert {
        /// At least 1.
        rows: u32,
    },
    /// This many base rows are deleted.
    Delete {
        /// At least 1.
        rows: u32,
    },
    /// An insert of the same layer is deleted. The entry counts nothing: it is there for
    /// transactions that saw the row.
    Tombstone,
    /// An insert of a layer below is deleted.
    Remove,
    /// One column of a row has another value.
    Modify {
        /// The column.
        column: Column,
        /// Which of the column's values in this layer.
        value: u32,
    },
}

/// The first slot of a column.
const COLUMNS: u32 = 4;

/// Where an entry stands among others of its layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The row.
    pub key: Key,
    /// 0: the row's own entry; otherwise 1 + the column.
    pub rank: u32,
}

impl Position {
    /// Of the row's own entry, and the least of the row.
    pub const fn row(key: Key) -> Position {
        Position { key, rank: 0 }
    }

    /// Of a column's entry.
    pub const fn column(key: Key, column: Column) -> Position {
        Position { key, rank: 1 + column }
    }

    /// After all entries of the row.
    pub const fn after(key: Key) -> Position {
        Position { key, rank: u32::MAX }
    }
}

impl Entry {
    /// An entry.
    pub fn new(key: Key, change: Change, stamp: Stamp) -> Entry {
        let (slot, value) = match change {
            Change::Insert { rows } => (0, rows),
            Change::Delete { rows } => (1, rows),
            Change::Tombstone => (2, 0),
            Change::Remove => (3, 0),
            Change::Modify { column, value } => (COLUMNS + column, value),
        };
        Entry { key, slot, value, stamp }
    }

    /// What it says.
    pub fn change(&self) -> Change {
        match self.slot {
            0 => Change::Insert { rows: self.value },
            1 => Change::Delete { rows: self.value },
            2 => Change::Tombstone,
            3 => Change::Remove,
            slot => Change::Modify { column: slot - COLUMNS, value: self.value },
        }
    }

    /// Where it stands.
    #[inline]
    pub fn position(&self) -> Position {
        Position { key: self.key, rank: self.slot.saturating_sub(COLUMNS - 1) }
    }

    /// Rows that it inserts, less those that it deletes.
    #[inline]
    pub fn delta(&self) -> i64 {
        match self.slot {
            0 => i64::from(self.value),
            1 => -i64::from(self.value),
            3 => -1,
            _ => 0,
        }
    }

    /// Rows that it covers: consecutive ids of inserts, consecutive SIDs of deletes.
    pub fn rows(&self) -> u32 {
        if self.slot <= 1 { self.value } else { 1 }
    }

    /// The same change of `rows` rows from `key` on.
    pub(crate) fn part(&self, key: Key, rows: u32) -> Entry {
        Entry { key, value: rows, ..*self }
    }

    /// Whether it covers the row of `key`.
    pub fn covers(&self, key: Key) -> bool {
        key >= self.key && self.has_kind_of(key) && self.covered_before(key) < self.rows()
    }

    fn has_kind_of(&self, key: Key) -> bool {
        match self.slot {
            0 => key.sid() == self.key.sid() && !key.is_base(),
            1 => key.is_base(),
            _ => key == self.key,
        }
    }

    /// How many of the rows that it covers come before `key`, which is not before the entry.
    pub fn covered_before(&self, key: Key) -> u32 {
        match self.slot {
            0 if key.sid() == self.key.sid() => (key.id() - self.key.id()).min(self.value),
            1 => (key.sid() - self.key.sid()).min(self.value),
            _ if key == self.key => 0,
            _ => self.rows(),
        }
    }

    /// As [`Entry::delta`], of the rows before `key` alone; `key` is not before the entry.
    pub fn delta_before(&self, key: Key) -> i64 {
        match self.slot {
            0 => i64::from(self.covered_before(key)),
            1 => -i64::from(self.covered_before(key)),
            _ => self.delta(),
        }
    }

    /// One past the last SID that a delete covers.
    pub(crate) fn end_sid(&self) -> u32 {
        self.key.sid() + self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_count_the_rows_before_a_key() {
        let delete = Entry::new(Key::base(10), Change::Delete { rows: 3 }, Stamp(1));
        assert_eq!((delete.delta(), delete.rows(), delete.end_sid()), (-3, 3, 13));
        let before = |key| delete.delta_before(key);
        assert_eq!(before(Key::base(10)), 0);
        assert_eq!(before(Key::first(11)), -1);
        assert_eq!(before(Key::base(12)), -2);
        assert_eq!(before(Key::first(13)), -3);
        assert!(delete.covers(Key::base(12)) && !delete.covers(Key::base(13)));
        assert!(!delete.covers(Key::new(12, 4)) && !delete.covers(Key::base(9)));
        let insert = Entry::new(Key::new(10, 5), Change::Insert { rows: 2 }, Stamp(1));
        assert_eq!(insert.delta_before(Key::new(10, 6)), 1);
        assert_eq!(insert.delta_before(Key::base(10)), 2);
        assert!(insert.covers(Key::new(10, 6)) && !insert.covers(Key::new(10, 7)));
        assert!(!insert.covers(Key::base(10)) && !insert.covers(Key::new(11, 5)));
        let modify = Entry::new(Key::base(3), Change::Modify { column: 7, value: 1 }, Stamp(1));
        assert_eq!(modify.position(), Position::column(Key::base(3), 7));
        assert_eq!(modify.change(), Change::Modify { column: 7, value: 1 });
        assert_eq!((modify.delta(), modify.rows()), (0, 1));
    }

    #[test]
    fn a_row_has_one_entry_and_then_columns() {
        let key = Key::base(3);
        let row = Entry::new(key, Change::Delete { rows: 1 }, Stamp(1)).position();
        let tombstone = Entry::new(key, Change::Tombstone, Stamp(1)).position();
        let column = Entry::new(key, Change::Modify { column: 0, value: 9 }, Stamp(1)).position();
        assert_eq!(row, tombstone);
        assert!(row < column && column < Position::after(key));
    }
}
