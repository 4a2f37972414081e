//! A counting sort of row numbers by group.
//!
//! ```text
//! count    rows of each group, while they come       GroupRange.rows, in the group's row
//! starts   where each group's rows begin             one pass over the groups
//! place    each row number where its group's goes on one pass over the rows
//! ```
//!
//! Per row it takes the address of its group while rows come, then four bytes; nothing is kept or
//! freed group by group.

use volley_error::{Error, ErrorKind, Result};
use volley_function::{AggregateState, StateLayout};
use volley_memory::{Pool, Reservation, Slots};
use volley_state::{
    hash_table::{GroupCursor, GroupTable},
    rows::RowList,
    sort::RowSorter,
};

/// Groups or rows handled in one step.
const STEP_ROWS: usize = 1 << 16;

/// Which of the sorted row numbers belong to a group: the last `rows` before `end`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GroupRange {
    rows: u32,
    /// While rows are placed, where the next one goes.
    end: u32,
}

/// [`GroupRange`] as the state of an aggregate.
pub(super) struct GroupRanges;

/// The sort.
pub(super) struct Grouping {
    rows: usize,
    /// The order of the rows within groups; `None`: as they came.
    sorter: Option<RowSorter>,
    positions: Vec<u32>,
    charge: Reservation,
    phase: Phase,
}

/// Row numbers by group.
pub(super) struct Grouped {
    /// `None`: all rows, as they stand, belong to the only group.
    positions: Option<Vec<u32>>,
    _charge: Reservation,
}

enum Phase {
    /// Groups from the cursor on do not know where their rows begin: at this number or later.
    Starts(GroupCursor, u32),
    /// Rows from this number on are not placed.
    Place(usize),
    /// All rows belong to the only group.
    Global,
}

impl GroupRange {
    /// How many rows the group has.
    pub(super) fn rows(&self) -> usize {
        self.rows as usize
    }
}

impl AggregateState for GroupRanges {
    fn state(&self) -> StateLayout {
        StateLayout::of::<GroupRange>()
    }

    fn init(&self, slots: &mut Slots<'_>) {
        let mut ranges = slots.typed::<GroupRange>();
        (0..ranges.len()).for_each(|it| ranges.write(it, GroupRange::default()));
    }
}

impl Grouping {
    /// Counts one row in each of the slots.
    pub(super) fn count(slots: &mut Slots<'_>) {
        let mut ranges = slots.typed::<GroupRange>();
        // A sum beyond 32 bits is refused by `new`.
        (0..ranges.len()).for_each(|it| ranges.get(it).rows = ranges.get(it).rows.wrapping_add(1));
    }

    /// Sorts `rows` row numbers that were counted, or that all belong to the only group.
    ///
    /// # Errors
    ///
    /// Out of memory; more than 2^32 rows.
    pub(super) fn new(
        rows: usize,
        sorter: Option<RowSorter>,
        is_global: bool,
        pool: &Pool,
    ) -> Result<Grouping> {
        if u32::try_from(rows).is_err() {
            let message = "aggregate that collects more than 2^32 rows in one driver";
            return Err(Error::new(ErrorKind::OutOfMemory, message));
        }
        let mut charge = pool.reservation();
        let has_positions = !is_global || sorter.is_some();
        charge.resize(if has_positions { rows * size_of::<u32>() } else { 0 })?;
        let phase =
            if is_global { Phase::Global } else { Phase::Starts(GroupCursor::default(), 0) };
        let positions = vec![0; if is_global { 0 } else { rows }];
        Ok(Grouping { rows, sorter, positions, charge, phase })
    }

    /// Goes on with some groups or rows; true at the end. `groups`: of each row, unless there is
    /// only one.
    pub(super) fn step(
        &mut self,
        table: &mut GroupTable,
        index: usize,
        groups: Option<&RowList>,
    ) -> Result<bool> {
        match (&mut self.phase, groups) {
            (Phase::Starts(cursor, next), _) => {
                let groups = table.next_groups(cursor, STEP_ROWS);
                let mut slots = table.slots_of(index, &groups);
                let mut ranges = slots.typed::<GroupRange>();
                for group in 0..groups.len() {
                    let range = ranges.get(group);
                    range.end = *next;
                    *next += range.rows;
                }
                if groups.is_empty() {
                    self.phase = Phase::Place(0);
                }
                Ok(false)
            }
            (Phase::Place(position), Some(groups)) => {
                let (start, end) = (*position, self.rows.min(*position + STEP_ROWS));
                *position = end;
                self.place(table, index, groups, start, end);
                Ok(end == self.rows)
            }
            (Phase::Place(_), None) => Err(Error::internal("rows without their groups")),
            (Phase::Global, _) => {
                self.place_global(table, index);
                Ok(true)
            }
        }
    }

    /// The row numbers by group, once all steps are done.
    pub(super) fn finish(self) -> Grouped {
        let is_as_it_came = matches!(self.phase, Phase::Global) && self.sorter.is_none();
        let positions = (!is_as_it_came).then_some(self.positions);
        Grouped { positions, _charge: self.charge }
    }

    fn place(
        &mut self,
        table: &mut GroupTable,
        index: usize,
        groups: &RowList,
        start: usize,
        end: usize,
    ) {
        let rows = match &self.sorter {
            Some(sorter) => sorter.rows(start, end),
            None => (start as u32..end as u32).collect(),
        };
        let groups = groups.pick(&rows);
        let mut slots = table.slots_of(index, &groups);
        let mut ranges = slots.typed::<GroupRange>();
        for (group, row) in rows.iter().enumerate() {
            let range = ranges.get(group);
            self.positions[range.end as usize] = *row;
            range.end += 1;
        }
    }

    fn place_global(&mut self, table: &mut GroupTable, index: usize) {
        if let Some(sorter) = &self.sorter {
            self.positions = sorter.rows(0, self.rows);
        }
        let group = table.next_groups(&mut GroupCursor::default(), 1);
        let mut slots = table.slots_of(index, &group);
        let mut ranges = slots.typed::<GroupRange>();
        let rows = self.rows as u32;
        (0..ranges.len()).for_each(|it| *ranges.get(it) = GroupRange { rows, end: rows });
    }
}

impl Grouped {
    /// The row numbers of some groups, one group after the other (`None`: all rows), and where each
    /// group's end.
    ///
    /// # Errors
    ///
    /// Out of memory.
    pub(super) fn positions(
        &self,
        slots: &mut Slots<'_>,
        charge: &mut Reservation,
    ) -> Result<(Option<Vec<u32>>, Vec<u32>)> {
        let mut ranges = slots.typed::<GroupRange>();
        let mut total = 0;
        let ends = (0..ranges.len()).map(|it| {
            total += ranges.get(it).rows;
            total
        });
        let ends: Vec<u32> = ends.collect();
        let Some(sorted) = &self.positions else { return Ok((None, ends)) };
        charge.grow(total as usize * size_of::<u32>())?;
        let mut positions = Vec::with_capacity(total as usize);
        for group in 0..ranges.len() {
            let range = *ranges.get(group);
            positions
                .extend_from_slice(&sorted[(range.end - range.rows) as usize..][..range.rows()]);
        }
        Ok((Some(positions), ends))
    }
}
