//! Where partitions and groups of peers end.

use super::{run::Run, spec::WindowSpec};
use std::ops::Range;
use volley_error::Result;
use volley_function::Ranges;
use volley_memory::{Pool, Reservation};
use volley_state::sort::RowSorter;
use volley_types::{Native, match_integer};
use volley_vector::{NullBuffer, Vector, comparator};

/// The ends of all partitions and of groups of peers.
pub(super) struct Boundaries {
    /// By [`WindowSpec::levels`]: one past the last row of each group, ascending. Level 0 are the
    /// partitions.
    levels: Vec<Vec<u32>>,
    rows: usize,
    /// Rows before this one are done.
    done: usize,
    charge: Reservation,
}

/// Goes through the rows in order.
pub(super) struct BoundaryCursor {
    partition: usize,
    /// Per level: the group of the next row, and the first group of its partition.
    groups: Vec<(usize, usize)>,
}

/// The places of some adjacent rows.
pub(super) struct BatchBoundaries {
    pub rows: Range<usize>,
    pub partitions: Ranges,
    /// By [`WindowSpec::levels`].
    pub levels: Vec<LevelBoundaries>,
}

/// The groups of peers of some adjacent rows.
pub(super) struct LevelBoundaries {
    pub peers: Ranges,
    /// For each row: how many groups come before its own, in all rows.
    pub groups: Vec<u32>,
    /// As `groups`, in its partition.
    pub groups_before: Vec<u32>,
}

impl Boundaries {
    pub(super) fn new(rows: usize, spec: &WindowSpec, pool: &Pool) -> Boundaries {
        let levels = vec![Vec::new(); spec.levels.len()];
        Boundaries { levels, rows, done: 0, charge: pool.reservation() }
    }

    /// The number of partitions.
    pub(super) fn partitions(&self) -> usize {
        self.levels[0].len()
    }

    /// The ends of the groups of a level.
    pub(super) fn ends(&self, level: usize) -> &[u32] {
        &self.levels[level]
    }

    /// Goes on with some rows; true at the end. Where the sorted keys tell which rows are alike,
    /// columns are not looked at.
    pub(super) fn step(
        &mut self,
        spec: &WindowSpec,
        run: &Run,
        sorter: Option<&RowSorter>,
    ) -> Result<bool> {
        let range = self.done..(self.done + run.step_rows()).min(self.rows);
        self.done = range.end;
        for level in 0..spec.levels.len() {
            let mut differs = vec![false; range.len()];
            let keys = spec.keys_of(level);
            match sorter.filter(|it| it.settles(keys)) {
                Some(sorter) => sorter.mark_changes(keys, &range, &mut differs),
                None => {
                    let order = spec.order_by.iter().take(spec.levels[level]);
                    let order = order.map(|it| it.column);
                    for column in spec.partition_by.iter().copied().chain(order) {
                        mark_changes(run.column(column)?, &range, &mut differs)?;
                    }
                }
            }
            let changes = differs.iter().enumerate().filter(|it| *it.1);
            self.levels[level].extend(changes.map(|it| (range.start + it.0) as u32));
        }
        let is_done = self.done == self.rows;
        if is_done {
            self.levels.iter_mut().for_each(|it| it.push(range.end as u32));
        }
        self.charge.resize(self.levels.iter().map(|it| it.capacity() * size_of::<u32>()).sum())?;
        Ok(is_done)
    }

    /// The places of one row.
    pub(super) fn row(&self, row: usize) -> BatchBoundaries {
        self.batch(&mut BoundaryCursor::new(self), row, 1)
    }

    /// The places of `count` rows from `start` on, which is not before the rows asked for last.
    pub(super) fn batch(
        &self,
        cursor: &mut BoundaryCursor,
        start: usize,
        count: usize,
    ) -> BatchBoundaries {
        let rows = start..start + count;
        let mut partitions = Ranges::default();
        let mut first = cursor.partition;
        fill(&self.levels[0], &mut first, &rows, |_, range| partitions.push(range.0, range.1));
        let level = |level: usize| {
            let ends = &self.levels[level];
            let (group, first_of_partition) = &mut cursor.groups[level];
            let mut places = LevelBoundaries {
                peers: Ranges::default(),
                groups: Vec::with_capacity(count),
                groups_before: Vec::with_capacity(count),
            };
            let mut index = 0;
            let mut partition = partition_of(ends, *first_of_partition);
            fill(ends, group, &rows, |group, range| {
                places.peers.push(range.0, range.1);
                let start = partitions.starts[index];
                if start != partition {
                    partition = start;
                    *first_of_partition = match start as usize == rows.start + index {
                        true => group,
                        false => ends.partition_point(|it| *it <= start),
                    };
                }
                places.groups.push(group as u32);
                places.groups_before.push((group - *first_of_partition) as u32);
                index += 1;
            });
            places
        };
        let levels = (0..self.levels.len()).map(level).collect();
        cursor.partition = first;
        BatchBoundaries { rows, partitions, levels }
    }
}

/// Where a group begins.
fn partition_of(ends: &[u32], group: usize) -> u32 {
    if group == 0 { 0 } else { ends[group - 1] }
}

impl BoundaryCursor {
    /// Before the first row.
    pub(super) fn new(places: &Boundaries) -> BoundaryCursor {
        BoundaryCursor { partition: 0, groups: vec![(0, 0); places.levels.len()] }
    }
}

/// Calls `f` with the group of each of `rows` and its range; leaves `group` at that of the last.
fn fill(
    ends: &[u32],
    group: &mut usize,
    rows: &Range<usize>,
    mut f: impl FnMut(usize, (u32, u32)),
) {
    let mut row = rows.start as u32;
    while ends[*group] <= row {
        // Groups were skipped, perhaps many.
        *group += 1 + ends[*group + 1..].partition_point(|it| *it <= row);
    }
    loop {
        let range = (if *group == 0 { 0 } else { ends[*group - 1] }, ends[*group]);
        let end = range.1.min(rows.end as u32);
        for _ in row..end {
            f(*group, range);
        }
        row = end;
        if row as usize >= rows.end {
            return;
        }
        *group += 1;
    }
}

/// Marks the rows of `range` whose value differs from that of the row before; row 0 is not marked.
fn mark_changes(column: &Vector, range: &Range<usize>, differs: &mut [bool]) -> Result<()> {
    let first = range.start.max(1);
    let marks = &mut differs[first - range.start..];
    let physical = column.data_type().physical();
    match_integer!(physical, Integer => {
        if let Some(values) = column.flat_values().and_then(|it| it.native::<Integer>())
        {
            mark_integers(values, column.null_buffer(), first, marks);
            return Ok(());
        }
    }, else {});
    let comparator = comparator(column, column)?;
    for (index, mark) in marks.iter_mut().enumerate() {
        *mark |= !comparator.is_equal(first + index - 1, first + index);
    }
    Ok(())
}

fn mark_integers<T: Native + PartialEq>(
    values: &[T],
    nulls: Option<&NullBuffer>,
    first: usize,
    marks: &mut [bool],
) {
    let pairs = values[first - 1..].windows(2);
    match nulls {
        None => {
            for (mark, pair) in marks.iter_mut().zip(pairs) {
                *mark |= pair[0] != pair[1];
            }
        }
        Some(nulls) => {
            for (index, (mark, pair)) in marks.iter_mut().zip(pairs).enumerate() {
                let row = first + index;
                let (before, here) = (nulls.is_null(row - 1), nulls.is_null(row));
                *mark |= before != here || (!here && pair[0] != pair[1]);
            }
        }
    }
}
