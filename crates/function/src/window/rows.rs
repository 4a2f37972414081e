//! The view of the rows that a window function has.

use std::ops::Range;
use volley_error::Result;
use volley_types::Type;
use volley_vector::{NullBuffer, Vector};

/// The rows that a call answers for, and their neighbors. Positions count all sorted rows.
#[derive(Clone)]
pub struct WindowRows<'a> {
    /// The rows to answer for.
    pub rows: Range<usize>,
    /// The arguments, flat, for all sorted rows (not only `rows`).
    pub args: &'a [Vector],
    /// For each of `rows`: its partition.
    pub partitions: &'a Ranges,
    /// For each of `rows`: the rows with the same order keys, itself included. The partition, for
    /// functions that use neither peers nor frames that end with them.
    pub peers: &'a Ranges,
    /// For each of `rows`: how many groups of peers its partition has before its own.
    pub groups_before: &'a [u32],
    /// For each of `rows`: its frame, before the exclusion. Empty for functions that do not use it.
    pub frames: &'a Ranges,
    /// Which rows are left out of frames.
    pub exclusion: Exclusion,
    /// With IGNORE NULLS: where the first argument is not null.
    pub valid: Option<&'a ValidRows>,
    /// When not all rows of the partition are there: what is known of the others.
    pub piece: Option<&'a PartitionPiece>,
    /// When partitions are the frames of calls with ORDER BY among their arguments: which rows are
    /// in a partition only since they are answered. Each such partition has one.
    pub guests: Option<&'a [bool]>,
}

/// A piece of a partition: the rows to answer for, and some of the rows before and after them. All
/// counts are of the whole partition's rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionPiece {
    /// The positions to answer for.
    pub rows: Range<u32>,
    /// How many rows come before these.
    pub rows_before: u64,
    /// How many rows come before the group of peers of the row before these.
    pub peers_start: u64,
    /// How many more groups come before a row than the rows that are there show.
    pub groups_missing: i64,
    /// The number of rows up to the end of the peer group of the last row to compute; known if
    /// functions read the ends of groups.
    pub peers_end: u64,
    /// The number of rows; known if functions read the ends of groups.
    pub partition_rows: u64,
}

/// One range of positions per row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// The first position.
    pub starts: Vec<u32>,
    /// One past the last position; at least the start.
    pub ends: Vec<u32>,
}

/// Which rows are left out of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Exclusion {
    /// None.
    #[default]
    NoOthers,
    /// The row itself.
    CurrentRow,
    /// The row and its peers.
    Group,
    /// The row's peers, but not the row itself.
    Ties,
}

/// A frame after its exclusion: up to three ranges, ascending, some maybe empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameParts {
    /// Start and end of each.
    pub parts: [(u32, u32); 3],
}

/// Where a column is not null, to find the n-th such row from anywhere at once.
#[derive(Clone, Debug, Default)]
pub struct ValidRows {
    /// The positions of all such rows, ascending.
    pub positions: Vec<u32>,
    /// For each position, and one past the last: how many such rows come before it.
    pub before: Vec<u32>,
}

impl Ranges {
    /// The range of the row at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> (u32, u32) {
        (self.starts[index], self.ends[index])
    }

    /// All ranges.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.starts.iter().copied().zip(self.ends.iter().copied())
    }

    /// Appends a range.
    #[inline]
    pub fn push(&mut self, start: u32, end: u32) {
        self.starts.push(start);
        self.ends.push(end);
    }

    /// Forgets all ranges.
    pub fn clear(&mut self) {
        self.starts.clear();
        self.ends.clear();
    }
}

impl WindowRows<'_> {
    /// Whether the row at `index` of `rows` is not part of its own frame, which is the partition.
    #[inline]
    pub fn is_guest(&self, index: usize) -> bool {
        self.guests.is_some_and(|it| it.get(index).copied().unwrap_or_default())
    }

    /// The frame of the row at `index` of `rows`, without what is excluded.
    #[inline]
    pub fn frame(&self, index: usize) -> FrameParts {
        let row = (self.rows.start + index) as u32;
        FrameParts::new(self.frames.get(index), self.exclusion, row, self.peers.get(index))
    }
}

/// The positions of rows in the whole partition, also if it is processed in segments.
impl WindowRows<'_> {
    /// How many rows of its partition come before the row at `index` of `rows`.
    #[inline]
    pub fn row_place(&self, index: usize) -> i64 {
        let row = (self.rows.start + index) as i64;
        match self.piece {
            None => row - i64::from(self.partitions.starts[index]),
            Some(piece) => piece.place(row),
        }
    }

    /// Like [`WindowRows::row_place`], of its first peer, and one past that of its last peer.
    #[inline]
    pub fn peer_places(&self, index: usize) -> (i64, i64) {
        let (start, end) = self.peers.get(index);
        let Some(piece) = self.piece else {
            let first = i64::from(self.partitions.starts[index]);
            return (i64::from(start) - first, i64::from(end) - first);
        };
        let start = match start < piece.rows.start {
            true => piece.peers_start as i64,
            false => piece.place(start.into()),
        };
        let end = match end > piece.rows.end {
            true => piece.peers_end as i64,
            false => piece.place(end.into()),
        };
        (start, end)
    }

    /// How many groups of peers its partition has before that of the row at `index` of `rows`.
    #[inline]
    pub fn group_place(&self, index: usize) -> i64 {
        i64::from(self.groups_before[index]) + self.piece.map_or(0, |it| it.groups_missing)
    }

    /// How many rows the partition of the row at `index` of `rows` has.
    #[inline]
    pub fn partition_rows(&self, index: usize) -> i64 {
        let (start, end) = self.partitions.get(index);
        self.piece.map_or(i64::from(end - start), |it| it.partition_rows as i64)
    }
}

impl PartitionPiece {
    /// How many rows of the partition come before a position that is not before `rows`.
    #[inline]
    fn place(&self, position: i64) -> i64 {
        self.rows_before as i64 + position - i64::from(self.rows.start)
    }
}

impl FrameParts {
    /// The frame `start..end` of `row`, whose peers are `peers`, without what is excluded.
    #[inline]
    pub fn new(
        (start, end): (u32, u32),
        exclusion: Exclusion,
        row: u32,
        peers: (u32, u32),
    ) -> FrameParts {
        let hole = match exclusion {
            Exclusion::NoOthers => {
                return FrameParts { parts: [(start, end), (end, end), (end, end)] };
            }
            Exclusion::CurrentRow => (row, row + 1),
            Exclusion::Group | Exclusion::Ties => peers,
        };
        let before = (start, end.min(hole.0).max(start));
        let after = (start.max(hole.1).min(end), end);
        let kept = match exclusion {
            Exclusion::Ties if (start..end).contains(&row) => (row, row + 1),
            _ => (after.0, after.0),
        };
        FrameParts { parts: [before, kept, after] }
    }

    /// The ranges that have rows.
    #[inline]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, u32)> + '_ {
        self.parts.iter().copied().filter(|it| it.0 < it.1)
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.iter().map(|it| (it.1 - it.0) as usize).sum()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// The position of row `n`, counted from 0.
    pub fn nth(&self, n: usize) -> Option<u32> {
        let mut left = n;
        for (start, end) in self.iter() {
            let len = (end - start) as usize;
            if left < len {
                return Some(start + left as u32);
            }
            left -= len;
        }
        None
    }

    /// The position of the last row.
    pub fn last(&self) -> Option<u32> {
        self.iter().next_back().map(|it| it.1 - 1)
    }
}

impl ValidRows {
    /// Takes the next rows of a column, whose nulls are `nulls`.
    pub fn push(&mut self, nulls: Option<&NullBuffer>, len: usize) {
        let start = self.before.len().max(1) - 1;
        if self.before.is_empty() {
            self.before.push(0);
        }
        for row in 0..len {
            if nulls.is_none_or(|it| it.is_valid(row)) {
                self.positions.push((start + row) as u32);
            }
            self.before.push(self.positions.len() as u32);
        }
    }

    /// The position of the `n`-th such row of `parts`, counted from 0.
    pub fn nth(&self, parts: &FrameParts, n: usize) -> Option<u32> {
        let mut left = n;
        for (start, end) in parts.iter() {
            let (first, last) = (self.before[start as usize], self.before[end as usize]);
            let len = (last - first) as usize;
            if left < len {
                return self.positions.get(first as usize + left).copied();
            }
            left -= len;
        }
        None
    }

    /// The position of the last such row of `parts`.
    pub fn last(&self, parts: &FrameParts) -> Option<u32> {
        let ranges = parts.iter().rev();
        let mut counts = ranges.map(|it| (self.before[it.0 as usize], self.before[it.1 as usize]));
        let found = counts.find(|it| it.0 < it.1)?;
        self.positions.get(found.1 as usize - 1).copied()
    }
}

/// The values of flat `column` at `positions`, null where there is no position.
///
/// # Errors
///
/// Nested values beyond the layout's 32 bits.
pub fn gather_or_null(
    column: &Vector,
    positions: impl IntoIterator<Item = Option<u32>>,
) -> Result<Vector> {
    let positions = positions.into_iter();
    let mut codes = Vec::with_capacity(positions.size_hint().0);
    let mut missing = Vec::new();
    for position in positions {
        if position.is_none() {
            missing.push(codes.len());
        }
        codes.push(position.unwrap_or(0));
    }
    if missing.is_empty() {
        return column.gather(&codes);
    }
    if missing.len() == codes.len() || *column.data_type() == Type::Unknown {
        return Ok(Vector::nulls(column.data_type().clone(), codes.len()));
    }
    let gathered = column.gather(&codes)?.flatten()?;
    let mut valid = match gathered.null_buffer() {
        Some(nulls) => nulls.iter().collect(),
        None => vec![true; codes.len()],
    };
    missing.into_iter().for_each(|it| valid[it] = false);
    match gathered.flat_values() {
        Some(values) => Ok(Vector::flat(
            column.data_type().clone(),
            values.clone(),
            Some(NullBuffer::from(valid)),
        )),
        None => Ok(gathered),
    }
}
