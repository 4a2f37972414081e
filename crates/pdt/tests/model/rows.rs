//! The model: rows in a list.

use std::collections::HashMap;

/// Identifies a row in the model.
pub type Uid = u32;

/// The values of a row: a number, and a text.
pub type Row = [Option<u64>; 2];

#[derive(Clone, Debug)]
pub struct Item {
    pub uid: Uid,
    /// Whether it is a row of the segment's base.
    pub is_base: bool,
    pub is_live: bool,
    pub row: Row,
    /// The commit that last changed it.
    pub changed: u64,
}

/// A row that a transaction inserted: before the base row `anchor`, or at the end.
#[derive(Clone, Debug)]
pub struct OwnInsert {
    pub uid: Uid,
    pub anchor: Option<Uid>,
    pub is_live: bool,
    pub row: Row,
}

/// What a transaction did.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Rows of the snapshot: deleted, or new values by column.
    pub of_rows: HashMap<Uid, Changed>,
    pub inserts: Vec<OwnInsert>,
}

#[derive(Clone, Debug, Default)]
pub struct Changed {
    pub is_deleted: bool,
    pub values: [Option<Option<u64>>; 2],
}

/// The rows that a transaction sees, in order.
pub fn visible(items: &[Item], changes: &Changes) -> Vec<(Uid, Row)> {
    let mut rows = Vec::new();
    let push_inserts = |anchor: Option<Uid>, rows: &mut Vec<(Uid, Row)>| {
        let of_anchor = changes.inserts.iter().filter(|it| it.anchor == anchor && it.is_live);
        rows.extend(of_anchor.map(|it| (it.uid, it.row)));
    };
    for item in items {
        if item.is_base {
            push_inserts(Some(item.uid), &mut rows);
        }
        let default = Changed::default();
        let changed = changes.of_rows.get(&item.uid).unwrap_or(&default);
        if item.is_live && !changed.is_deleted {
            let mut row = item.row;
            for (value, new) in row.iter_mut().zip(&changed.values) {
                *value = new.unwrap_or(*value);
            }
            rows.push((item.uid, row));
        }
    }
    push_inserts(None, &mut rows);
    rows
}

/// The first row that was changed after `snapshot`.
pub fn conflict(items: &[Item], changes: &Changes, snapshot: u64) -> Option<Uid> {
    let of_rows = changes.of_rows.keys();
    of_rows.copied().find(|uid| {
        let item = items.iter().find(|it| it.uid == *uid);
        item.is_none_or(|it| it.changed > snapshot)
    })
}

/// Commits: inserts go before their anchors, behind what was inserted there before.
pub fn apply(items: &mut Vec<Item>, changes: &Changes, stamp: u64) {
    for item in items.iter_mut() {
        let Some(changed) = changes.of_rows.get(&item.uid) else { continue };
        item.changed = stamp;
        item.is_live = !changed.is_deleted;
        for (value, new) in item.row.iter_mut().zip(&changed.values) {
            *value = new.unwrap_or(*value);
        }
    }
    for insert in changes.inserts.iter().filter(|it| it.is_live) {
        let is_anchor = |it: &Item| it.is_base && Some(it.uid) == insert.anchor;
        let at = items.iter().position(is_anchor).unwrap_or(items.len());
        let item = Item {
            uid: insert.uid,
            is_base: false,
            is_live: true,
            row: insert.row,
            changed: stamp,
        };
        items.insert(at, item);
    }
}
