//! A frozen, packed layer: immutable, read as bytes from disk.
//!
//! The bytes are deltas of numbers and batches in the form of `volley_wire`; `docs/formats`
//! describes them. Opened, a run is a sorted array of entries with sums at every 64th, and answers
//! the same questions as a tree. It has no stamps but the bound of its freeze, no tombstones, and
//! no modified inserts: their values are those that they have.

mod read;
mod write;
#[cfg(test)]
mod tests;

pub(crate) use write::{RunColumn, RunContents, RunInserts, write};

use crate::{Charge, Entry, LayerValues, Position, Prefix, Sid, Stamp};
use std::slice;

/// Entries between two sums.
const SUM_ENTRIES: usize = 64;

/// Rows of one batch of inserted values.
const BATCH_ROWS: usize = 1024;

/// The first bytes of a run.
const MAGIC: [u8; 4] = *b"VPDT";

/// The version of the format: the reader accepts this major version and any minor one up to its
/// own.
const VERSION_MAJOR: u8 = 1;
const VERSION_MINOR: u8 = 0;

/// A frozen layer.
#[derive(Debug)]
pub struct Run {
    base_rows: Sid,
    bound: Stamp,
    entries: Vec<Entry>,
    /// Inserts - deletes before every 64th entry.
    sums: Vec<i64>,
    delta: i64,
    values: LayerValues,
    charge: Charge,
}

impl Run {
    /// Rows of the segment's base.
    pub fn base_rows(&self) -> Sid {
        self.base_rows
    }

    /// All changes are from commits up to this one, and changes of a row are as late as this for
    /// all that is known.
    pub fn bound(&self) -> Stamp {
        self.bound
    }

    /// The entries in order; their stamps are the bound.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The values that entries name.
    pub fn values(&self) -> &LayerValues {
        &self.values
    }

    /// Inserts - deletes of all entries.
    pub fn delta(&self) -> i64 {
        self.delta
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of memory that the run holds.
    pub fn retained_bytes(&self) -> usize {
        self.charge.bytes() + self.values.retained_bytes()
    }

    fn index(&self, position: Position) -> usize {
        self.entries.partition_point(|it| it.position() < position)
    }

    /// The entries from `position` on.
    pub fn from(&self, position: Position) -> slice::Iter<'_, Entry> {
        self.entries[self.index(position)..].iter()
    }

    /// What comes before `position`.
    pub fn prefix(&self, position: Position) -> Prefix<'_> {
        let Some(last) = self.index(position).checked_sub(1) else {
            return Prefix { delta: 0, last: None };
        };
        let block = last / SUM_ENTRIES;
        let within = &self.entries[block * SUM_ENTRIES..last];
        let delta = self.sums[block] + within.iter().map(Entry::delta).sum::<i64>();
        Prefix { delta, last: Some(&self.entries[last]) }
    }
}
