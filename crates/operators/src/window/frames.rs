//! The frames of some adjacent rows.

use super::{
    boundaries::{BatchBoundaries, Boundaries, LevelBoundaries},
    range::{Side, ValueSearch},
    run::Run,
    spec::CallSpec,
};
use volley_error::{Error, Result};
use volley_function::{Exclusion, FrameParts, Ranges};
use volley_plan::{FrameBound, FrameOffset, FrameUnits};
use volley_vector::{Decoded, Vector};

/// Computes frames of one call.
pub(super) struct Framing<'a> {
    pub call: &'a CallSpec,
    pub run: &'a Run,
    pub places: &'a Boundaries,
    /// Whether the order key descends; for frames searched by value.
    pub descending: bool,
}

/// Frames, those that are equal and follow one another only once.
pub(super) struct DistinctFrames {
    /// Before the exclusion, each once when there is none.
    pub ranges: Ranges,
    /// After the exclusion.
    pub parts: Vec<FrameParts>,
    /// Whether nothing is excluded: `ranges` are the frames.
    pub is_whole: bool,
    /// Per row: its frame; `None` when all rows have frames of their own.
    pub codes: Option<Vec<u32>>,
}

impl Framing<'_> {
    /// One frame per row, before the exclusion; never ends before it starts.
    pub(super) fn frames(&self, batch: &BatchBoundaries) -> Result<Ranges> {
        let starts = self.bound(batch, &self.call.frame.start, Side::Start)?;
        let mut ends = self.bound(batch, &self.call.frame.end, Side::End)?;
        for (start, end) in starts.iter().zip(&mut ends) {
            *end = (*end).max(*start);
        }
        Ok(Ranges { starts, ends })
    }

    fn bound(&self, batch: &BatchBoundaries, bound: &FrameBound, side: Side) -> Result<Vec<u32>> {
        let peers = &batch.levels[self.call.level].peers;
        let rows = batch.rows.start as u32..batch.rows.end as u32;
        Ok(match (bound, self.call.frame.units, side) {
            (FrameBound::UnboundedPreceding, ..) => batch.partitions.starts.clone(),
            (FrameBound::UnboundedFollowing, ..) => batch.partitions.ends.clone(),
            (FrameBound::CurrentRow, FrameUnits::Rows, Side::Start) => rows.collect(),
            (FrameBound::CurrentRow, FrameUnits::Rows, Side::End) => {
                rows.map(|it| it + 1).collect()
            }
            (FrameBound::CurrentRow, _, Side::Start) => peers.starts.clone(),
            (FrameBound::CurrentRow, _, Side::End) => peers.ends.clone(),
            (FrameBound::Preceding(offset), units, side) => {
                self.moved(batch, offset, (units, side), Direction::Before)?
            }
            (FrameBound::Following(offset), units, side) => {
                self.moved(batch, offset, (units, side), Direction::After)?
            }
        })
    }

    fn moved(
        &self,
        batch: &BatchBoundaries,
        offset: &FrameOffset,
        (units, side): (FrameUnits, Side),
        direction: Direction,
    ) -> Result<Vec<u32>> {
        let offsets = match offset {
            FrameOffset::Count(count) => Offsets::Same(*count),
            FrameOffset::Column(column) => Offsets::Each(column_offsets(self.run, *column, batch)?),
            FrameOffset::Value { key, bound, .. } => {
                let search = ValueSearch {
                    key: self.run.column(*key)?,
                    bound: self.run.column(*bound)?,
                    descending: self.descending,
                    is_before: matches!(direction, Direction::Before),
                    side,
                    groups: self.places.ends(self.call.level),
                };
                return search.positions(batch, &batch.levels[self.call.level].peers);
            }
        };
        let groups = (self.places.ends(self.call.level), &batch.levels[self.call.level]);
        Ok(match (units, offsets) {
            (FrameUnits::Groups, Offsets::Same(count)) => {
                by_groups(batch, groups, (side, direction), |_| count)
            }
            (FrameUnits::Groups, Offsets::Each(counts)) => {
                by_groups(batch, groups, (side, direction), |index| counts[index])
            }
            (_, Offsets::Same(count)) => by_rows(batch, (side, direction), |_| count),
            (_, Offsets::Each(counts)) => by_rows(batch, (side, direction), |index| counts[index]),
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Before,
    After,
}

enum Offsets {
    Same(u64),
    Each(Vec<u64>),
}

/// The offsets of the rows of a batch.
fn column_offsets(run: &Run, column: usize, batch: &BatchBoundaries) -> Result<Vec<u64>> {
    let column = Decoded::new(run.column(column)?)?;
    let values = column.values().native::<i64>().unwrap_or(&[]);
    let offset = |row: usize| {
        if column.is_null(row) {
            return Err(Error::invalid_value("frame offset is null"));
        }
        let value = values.get(row).copied().unwrap_or(0);
        u64::try_from(value)
            .map_err(|_| Error::invalid_value(format!("frame offset is negative: {value}")))
    };
    batch.rows.clone().map(offset).collect()
}

/// Bounds that are some rows away.
#[inline(always)]
fn by_rows(
    batch: &BatchBoundaries,
    (side, direction): (Side, Direction),
    count: impl Fn(usize) -> u64,
) -> Vec<u32> {
    let end = u64::from(side == Side::End);
    let bound = |(index, (start, last)): (usize, (u32, u32))| {
        let row = (batch.rows.start + index) as u64 + end;
        let moved = match direction {
            Direction::Before => row.saturating_sub(count(index)),
            Direction::After => row.saturating_add(count(index)),
        };
        moved.clamp(start.into(), last.into()) as u32
    };
    batch.partitions.iter().enumerate().map(bound).collect()
}

/// Bounds that are some groups away.
#[inline(always)]
fn by_groups(
    batch: &BatchBoundaries,
    (ends, level): (&[u32], &LevelBoundaries),
    (side, direction): (Side, Direction),
    count: impl Fn(usize) -> u64,
) -> Vec<u32> {
    let end = u64::from(side == Side::End);
    let bound = |(index, (start, last)): (usize, (u32, u32))| {
        // The number of groups, in all rows, that end before the bound.
        let group = u64::from(level.groups[index]) + end;
        let moved = match direction {
            Direction::Before => group.saturating_sub(count(index)),
            Direction::After => group.saturating_add(count(index)),
        };
        let position = match usize::try_from(moved) {
            Ok(0) => 0,
            Ok(groups) => ends.get(groups - 1).copied().unwrap_or(u32::MAX),
            Err(_) => u32::MAX,
        };
        position.clamp(start, last)
    };
    batch.partitions.iter().enumerate().map(bound).collect()
}

impl DistinctFrames {
    /// The results of the rows of the frames from `first` on, where `results` are the frames'.
    pub(super) fn of_rows(&self, results: Vector, first: usize) -> Result<Vector> {
        let Some(codes) = &self.codes else { return Ok(results) };
        let (first, end) = (first as u32, (first + results.len()) as u32);
        let start = codes.partition_point(|it| *it < first);
        let end = codes.partition_point(|it| *it < end);
        let codes: Vec<u32> = codes[start..end].iter().map(|it| it - first).collect();
        results.gather(&codes)
    }

    /// Leaves the last frame out, if it ends after `row`; true then.
    pub(super) fn pop_after(&mut self, row: u32) -> bool {
        let is_after = self.ranges.ends.last().is_some_and(|it| *it > row);
        if is_after {
            self.ranges.starts.pop();
            self.ranges.ends.pop();
            self.parts.pop();
        }
        is_after
    }

    /// Finds frames that follow one another and are equal.
    pub(super) fn new(
        frames: Ranges,
        exclusion: Exclusion,
        batch: &BatchBoundaries,
        peers: &Ranges,
    ) -> Self {
        let part = |index: usize| {
            let row = (batch.rows.start + index) as u32;
            FrameParts::new(frames.get(index), exclusion, row, peers.get(index))
        };
        let rows = batch.rows.len();
        let mut distinct = DistinctFrames {
            ranges: Ranges::default(),
            parts: Vec::with_capacity(rows),
            is_whole: exclusion == Exclusion::NoOthers,
            codes: None,
        };
        let mut codes = Vec::with_capacity(rows);
        for index in 0..rows {
            let part = part(index);
            if distinct.parts.last() != Some(&part) {
                distinct.parts.push(part);
                let (start, end) = frames.get(index);
                distinct.ranges.push(start, end);
            }
            codes.push(distinct.parts.len() as u32 - 1);
        }
        distinct.codes = (distinct.parts.len() < rows).then_some(codes);
        distinct
    }
}
