//! Row indexes: for each row group of a stripe, where the streams of a column have it and what is
//! known of its values.
//!
//! Row groups have the same rows in all columns.

use crate::{error::corrupt, proto::Message, schema::Node, statistics::read_bounds};
use bytes::Bytes;
use std::{collections::BTreeMap, ops::Range};
use volley_connector::Bounds;
use volley_error::Result;

/// The index of one column.
pub(crate) struct RowIndex {
    bytes: Bytes,
    groups: Vec<GroupEntry>,
}

struct GroupEntry {
    positions: Vec<u64>,
    /// In `bytes`.
    statistics: Option<Range<usize>>,
}

/// Memory that a byte of an index takes at most: as it is, and a position each.
pub(crate) const BYTES_PER_INDEX_BYTE: usize = 40;

impl RowIndex {
    /// The index that `bytes`, decompressed, hold.
    pub fn read(bytes: Bytes) -> Result<RowIndex> {
        let (mut groups, mut message) = (Vec::new(), Message::new(&bytes));
        while let Some((number, field)) = message.next()? {
            if number != 1 {
                continue;
            }
            let start = field.range()?.start;
            let mut entry = GroupEntry { positions: Vec::new(), statistics: None };
            let mut inner = field.message()?;
            while let Some((number, field)) = inner.next()? {
                match number {
                    1 => field.integers(&mut entry.positions)?,
                    2 => {
                        let range = field.range()?;
                        entry.statistics = Some(start + range.start..start + range.end);
                    }
                    _ => {}
                }
            }
            groups.push(entry);
        }
        Ok(RowIndex { bytes, groups })
    }

    /// What is known of the values of `node` in a row group of `rows` rows.
    pub fn bounds(&self, group: usize, node: &Node, rows: u64) -> Bounds {
        let statistics = self.groups.get(group).and_then(|it| it.statistics.clone());
        let statistics = statistics.and_then(|it| self.bytes.get(it));
        statistics.map_or_else(Bounds::default, |it| read_bounds(it, node, rows))
    }
}

/// The row indexes that were read of a stripe.
#[derive(Default)]
pub(crate) struct StripeIndexes {
    /// By column of the file.
    pub columns: BTreeMap<usize, RowIndex>,
    /// Rows of a row group; the last one may have fewer.
    pub stride: usize,
    /// Rows of the stripe.
    pub rows: usize,
    /// The number of row groups, once an index or Bloom filters have as many entries; otherwise 0,
    /// so that a stride of few rows costs nothing by itself.
    groups: usize,
}

impl StripeIndexes {
    /// No index of a stripe yet.
    pub fn new(stride: usize, rows: usize) -> StripeIndexes {
        StripeIndexes { columns: BTreeMap::new(), stride, rows, groups: 0 }
    }

    /// The number of row groups; 0: no index was read.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Notes that something has an entry for each of `entries` row groups.
    pub fn note_entries(&mut self, entries: usize) {
        if self.stride > 0 && entries == self.rows.div_ceil(self.stride) {
            self.groups = entries;
        }
    }

    /// The rows of a row group.
    pub fn rows_of(&self, group: usize) -> Range<usize> {
        let start = group.saturating_mul(self.stride).min(self.rows);
        start..start.saturating_add(self.stride).min(self.rows)
    }

    /// The position of a row group in the streams of a column.
    pub fn positions(&self, column: usize, group: usize) -> Option<&[u64]> {
        let index = self.columns.get(&column)?;
        // An index of another number of row groups is none.
        let fits = index.groups.len() == self.groups();
        index.groups.get(group).filter(|_| fits).map(|it| it.positions.as_slice())
    }

    /// What is known of the values of `node` in a row group.
    pub fn bounds(&self, node: &Node, group: usize) -> Bounds {
        match self.columns.get(&node.column) {
            Some(index) if index.groups.len() == self.groups() => {
                index.bounds(group, node, self.rows_of(group).len() as u64)
            }
            _ => Bounds::default(),
        }
    }

    /// Keeps the index that `bytes`, decompressed, hold.
    pub fn insert(&mut self, column: usize, bytes: Bytes) -> Result<()> {
        let index = RowIndex::read(bytes)?;
        if index.groups.iter().any(|it| it.positions.len() > POSITIONS_MAX) {
            return Err(corrupt("row index with too many positions"));
        }
        self.note_entries(index.groups.len());
        self.columns.insert(column, index);
        Ok(())
    }
}

/// More numbers than any column's position has.
const POSITIONS_MAX: usize = 64;
