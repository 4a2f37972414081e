//! What rows are called: stable names, positions, and the order of the rows of a segment.

use std::fmt;

/// A row's position in the base of its segment, deleted rows included.
pub type Sid = u32;

/// A row's current position in its segment: deleted rows do not count, inserted ones do.
pub type Rid = u32;

/// The column part of a row's changes.
pub type Column = u32;

/// The number of a commit. Entries of a transaction that has not committed have [`Stamp::PENDING`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub u64);

impl Stamp {
    /// The stamp of changes that are not committed; later than every commit.
    pub const PENDING: Stamp = Stamp(u64::MAX);
}

/// A row of a segment. The name is stable while the segment exists: neither commits nor freezing
/// change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowName {
    /// The row at this position of the base.
    Base(Sid),
    /// An inserted row. Ids from [`PROVISIONAL`] on belong to one transaction and change at commit.
    Inserted(u32),
}

/// The first id of rows that a transaction inserted and has not committed. A commit assigns them
/// the next ids of the segment, in the same order.
pub const PROVISIONAL: u32 = 1 << 31;

/// Ids of one transaction, and of one segment's commits, are below this distance.
pub(crate) const IDS_MAX: u32 = PROVISIONAL - 1;

/// The id in the key of a base row: greater than every insert's.
pub(crate) const BASE: u32 = u32::MAX;

/// The longest segment, in rows: bit 63 of a packed name is the sign.
pub const SEGMENT_ROWS_MAX: u32 = u32::MAX - 1;

/// A row of a table: the segment's number and the row's name within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId {
    /// The segment, below 2^30.
    pub segment: u32,
    /// The row.
    pub row: RowName,
}

impl RowId {
    /// The name as a `rowid`: the segment in bits 33 to 62, bit 32 set for inserted rows, then the
    /// position or id.
    pub fn pack(self) -> i64 {
        let (kind, number) = match self.row {
            RowName::Base(sid) => (0, sid),
            RowName::Inserted(id) => (1u64, id),
        };
        (u64::from(self.segment & (PROVISIONAL / 2 - 1)) << 33 | kind << 32 | u64::from(number))
            as i64
    }

    /// The name that [`RowId::pack`] made a number; `None` for negative numbers.
    pub fn unpack(packed: i64) -> Option<RowId> {
        let packed = u64::try_from(packed).ok()?;
        let number = packed as u32;
        let is_inserted = packed >> 32 & 1 == 1;
        let row = if is_inserted { RowName::Inserted(number) } else { RowName::Base(number) };
        Some(RowId { segment: (packed >> 33) as u32, row })
    }
}

impl fmt::Display for RowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowName::Base(sid) => write!(f, "base row {sid}"),
            RowName::Inserted(id) => write!(f, "inserted row {id}"),
        }
    }
}

/// The order of all rows of a segment: inserts before the base row at their SID, by id. The SID is
/// in the upper half, the id (`BASE` for base rows) in the lower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub u64);

impl Key {
    /// The key of a base row.
    pub const fn base(sid: Sid) -> Key {
        Key::new(sid, BASE)
    }

    /// The key of an insert before base row `sid`.
    pub const fn new(sid: Sid, id: u32) -> Key {
        Key((sid as u64) << 32 | id as u64)
    }

    /// The least key at `sid`.
    pub const fn first(sid: Sid) -> Key {
        Key::new(sid, 0)
    }

    /// The SID: of a base row its own, of an insert the base row's that it precedes.
    pub const fn sid(self) -> Sid {
        (self.0 >> 32) as u32
    }

    /// The id of an insert; `BASE` of a base row.
    pub const fn id(self) -> u32 {
        self.0 as u32
    }

    /// Whether this is the key of a base row.
    pub const fn is_base(self) -> bool {
        self.id() == BASE
    }

    /// The name of the row.
    pub fn name(self) -> RowName {
        if self.is_base() { RowName::Base(self.sid()) } else { RowName::Inserted(self.id()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_names_are_unpacked() {
        for segment in [0, 1, PROVISIONAL / 2 - 1] {
            for number in [0, 1, PROVISIONAL, u32::MAX] {
                for row in [RowName::Base(number), RowName::Inserted(number)] {
                    let id = RowId { segment, row };
                    assert!(id.pack() >= 0);
                    assert_eq!(RowId::unpack(id.pack()), Some(id));
                }
            }
        }
        assert_eq!(RowId::unpack(-1), None);
    }

    #[test]
    fn inserts_precede_their_base_row() {
        let keys = [Key::first(3), Key::new(3, 7), Key::new(3, PROVISIONAL), Key::base(3)];
        assert!(keys.is_sorted());
        assert!(Key::base(3) < Key::first(4));
        assert_eq!(Key::new(3, 7).name(), RowName::Inserted(7));
        assert_eq!(Key::base(3).name(), RowName::Base(3));
    }
}
