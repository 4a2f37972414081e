//! Window functions with ORDER BY among their arguments. Such a call sees the rows of its frame as
//! a partition of their own, in that order:
//!
//! ```text
//! partition  a b c d e f       row d, frame b..=e, which the call orders as e d b c
//! listed     e d b c           one partition per row; d is answered
//! ```
//!
//! A row that is not in its own frame is put in at its place, except for functions that look at
//! frames alone. Rows that follow one another and have the same frame share what is listed, unless
//! the call has more arguments, which each row has of its own. Costs as many rows as all frames
//! that are listed have together.
//!
//! Of a call that looks at the first or the last row of its frame alone, that row is all that is
//! listed. It is found by the places of rows in the order; where a frame goes on from the one
//! before, only the new rows are looked at.

use super::{
    argument_order::ArgumentOrder, boundaries::BatchBoundaries, call::CallInput, frames::Framing,
};
use volley_error::Result;
use volley_function::{
    BoundWindow, Exclusion, FrameParts, Ranges, ValidRows, WindowReach, WindowRows,
};
use volley_vector::{NullBuffer, Vector};

/// Answers for a call with an order of its own.
pub(super) struct Ordered {
    order: ArgumentOrder,
    /// The frames of the batch under way, before exclusion.
    frames: Option<Ranges>,
    /// Results of the rows of the batch so far.
    parts: Vec<Vector>,
    /// The row of the batch to answer next.
    next: usize,
    /// What is known of the frame looked at last.
    extreme: Extreme,
}

/// The first or the last row, in the order, of the rows from one position to another.
#[derive(Default)]
struct Extreme {
    range: (u32, u32),
    row: Option<u32>,
}

/// Which row of a frame a call looks at.
#[derive(Clone, Copy, PartialEq)]
enum End {
    First,
    Last,
}

/// Which rows a call chooses from.
struct Choice<'a> {
    end: End,
    /// Rows that are null do not count.
    nulls: Option<&'a NullBuffer>,
}

/// The rows of some frames, one frame after the other.
#[derive(Default)]
struct List {
    rows: Vec<u32>,
    /// Per listed row, the row that it is listed for.
    owners: Vec<u32>,
    partitions: Ranges,
    frames: Ranges,
    peers: Ranges,
    groups_before: Vec<u32>,
    /// Per listed row: whether it is listed to be answered, and not in the frame.
    guests: Vec<bool>,
    /// Where the rows to answer for stand.
    answers: Vec<u32>,
    /// Where what was listed last starts.
    start: usize,
    /// The frame listed last, if that is all that was listed for its row.
    last: Option<FrameParts>,
}

impl Ordered {
    pub(super) fn new(order: ArgumentOrder) -> Ordered {
        let extreme = Extreme::default();
        Ordered { order, frames: None, parts: Vec::new(), next: 0, extreme }
    }

    /// Answers for some rows of a batch; the results of all of them at the end.
    pub(super) fn step(
        &mut self,
        input: &CallInput<'_>,
        (bound, args): (&BoundWindow, &[Vector]),
        (framing, batch): (&Framing<'_>, &BatchBoundaries),
    ) -> Result<Option<Vector>> {
        let frames = match self.frames.take() {
            Some(frames) => frames,
            None => framing.frames(batch)?,
        };
        let mut list = List::default();
        let choice = choice_of(bound, args, input.spec.ignore_nulls);
        let mut looked_at = 0;
        let peers = &batch.levels[input.spec.level].peers;
        while self.next < batch.rows.len() {
            let (index, row) = (self.next, (batch.rows.start + self.next) as u32);
            let frame = FrameParts::new(
                frames.get(index),
                input.spec.frame.exclusion,
                row,
                peers.get(index),
            );
            if let Some(choice) = &choice {
                if list.rows.len() + looked_at >= input.run.step_rows() {
                    break;
                }
                looked_at += self.extreme.go_to(&self.order, &frame, choice);
                list.push_one(row, self.extreme.row);
                self.next += 1;
                continue;
            }
            let shares = args.len() <= 1 && list.has(&frame, row, bound.uses_frame);
            if !shares && list.rows.len() >= input.run.step_rows() {
                break;
            }
            if !shares {
                list.push(&self.order, row, &frame, bound.uses_frame)?;
            }
            list.answer(&self.order, row);
            self.next += 1;
        }
        let part = list.results(bound, args, input.spec.ignore_nulls)?;
        self.parts.push(part);
        if self.next < batch.rows.len() {
            self.frames = Some(frames);
            return Ok(None);
        }
        self.next = 0;
        let parts = std::mem::take(&mut self.parts);
        Vector::concat(&bound.result, &parts).map(Some)
    }
}

/// The choice of a call that looks at one end of its frame alone.
fn choice_of<'a>(
    bound: &BoundWindow,
    args: &'a [Vector],
    ignore_nulls: bool,
) -> Option<Choice<'a>> {
    let end = match bound.reach {
        WindowReach::First => End::First,
        WindowReach::Last => End::Last,
        _ => return None,
    };
    let nulls = args.first().filter(|_| ignore_nulls).and_then(Vector::null_buffer);
    Some(Choice { end, nulls })
}

impl Extreme {
    /// Finds the row of a frame; how many rows it looked at.
    fn go_to(&mut self, order: &ArgumentOrder, frame: &FrameParts, choice: &Choice<'_>) -> usize {
        let mut parts = frame.iter();
        let (first, others) = (parts.next().unwrap_or_default(), parts);
        let goes_on = first.0 == self.range.0 && first.1 >= self.range.1;
        if !goes_on {
            *self = Extreme { range: (first.0, first.0), row: None };
        }
        let mut looked_at = self.look_at(order, (self.range.1, first.1), choice);
        self.range = first;
        for part in others {
            looked_at += self.look_at(order, part, choice);
            // What is known is of several parts.
            self.range = (u32::MAX, 0);
        }
        looked_at
    }

    fn look_at(
        &mut self,
        order: &ArgumentOrder,
        (start, end): (u32, u32),
        choice: &Choice<'_>,
    ) -> usize {
        let place = |row: u32| (order.group(row), row);
        for row in start..end {
            if choice.nulls.is_some_and(|it| it.is_null(row as usize)) {
                continue;
            }
            let is_better = self.row.is_none_or(|known| match choice.end {
                End::First => place(row) < place(known),
                End::Last => place(row) > place(known),
            });
            if is_better {
                self.row = Some(row);
            }
        }
        end.saturating_sub(start) as usize
    }
}

impl List {
    /// Lists the one row of a frame that is looked at for `row`, if there is one.
    fn push_one(&mut self, row: u32, found: Option<u32>) {
        let start = self.rows.len() as u32;
        self.rows.push(found.unwrap_or(row));
        self.owners.push(row);
        self.partitions.push(start, start + 1);
        self.frames.push(start, start + u32::from(found.is_some()));
        self.peers.push(start, start + 1);
        self.groups_before.push(0);
        self.guests.push(false);
        self.answers.push(start);
    }

    /// Whether the frame of `row` is what was listed last.
    fn has(&self, frame: &FrameParts, row: u32, uses_frame: bool) -> bool {
        let is_inside = || frame.iter().any(|it| (it.0..it.1).contains(&row));
        self.last == Some(*frame) && (uses_frame || is_inside())
    }

    /// Answers for `row` from what was listed last.
    fn answer(&mut self, order: &ArgumentOrder, row: u32) {
        let listed = &self.rows[self.start..];
        let is_before = |it: &u32| (order.group(*it), *it) < (order.group(row), row);
        let place = listed.partition_point(is_before).min(listed.len() - 1);
        self.answers.push((self.start + place) as u32);
    }

    /// Lists the rows of the frame of `row`.
    fn push(
        &mut self,
        order: &ArgumentOrder,
        row: u32,
        frame: &FrameParts,
        uses_frame: bool,
    ) -> Result<()> {
        let start = self.rows.len();
        self.rows.extend(frame.iter().flat_map(|it| it.0..it.1));
        let in_frame = self.rows.len() - start;
        let is_inside = frame.iter().any(|it| (it.0..it.1).contains(&row));
        // One row is there to answer for.
        let has_guest = !is_inside && (!uses_frame || in_frame == 0);
        if has_guest {
            self.rows.push(row);
        }
        order.sort(&mut self.rows[start..])?;
        self.guests.extend(self.rows[start..].iter().map(|it| has_guest && *it == row));
        self.last = (is_inside || uses_frame).then_some(*frame);
        self.start = start;
        let end = self.rows.len();
        for _ in start..end {
            self.owners.push(row);
            self.partitions.push(start as u32, end as u32);
            self.frames.push(start as u32, (start + in_frame) as u32);
        }
        self.push_peers(order, start);
        Ok(())
    }

    /// Finds the rows with equal keys among those listed from `start` on.
    fn push_peers(&mut self, order: &ArgumentOrder, start: usize) {
        let (mut first, mut groups) = (start, 0);
        while first < self.rows.len() {
            let group = order.group(self.rows[first]);
            let same = self.rows[first..].partition_point(|it| order.group(*it) == group);
            for _ in 0..same {
                self.peers.push(first as u32, (first + same) as u32);
                self.groups_before.push(groups);
            }
            (first, groups) = (first + same, groups + 1);
        }
    }

    /// The results of the rows to answer for. All but the first argument are those of their own
    /// rows.
    fn results(self, bound: &BoundWindow, args: &[Vector], ignore_nulls: bool) -> Result<Vector> {
        let gathered = args.iter().enumerate().map(|(index, arg)| {
            let rows = if index == 0 { &self.rows } else { &self.owners };
            arg.gather(rows)?.flatten()
        });
        let args = gathered.collect::<Result<Vec<_>>>()?;
        let valid = args.first().filter(|_| ignore_nulls).map(|first| {
            let mut valid = ValidRows::default();
            valid.push(first.null_buffer(), first.len());
            valid
        });
        let rows = WindowRows {
            rows: 0..self.rows.len(),
            args: &args,
            partitions: &self.partitions,
            peers: &self.peers,
            groups_before: &self.groups_before,
            frames: &self.frames,
            exclusion: Exclusion::NoOthers,
            valid: valid.as_ref(),
            piece: None,
            guests: Some(&self.guests),
        };
        bound.function.evaluate(&rows)?.gather(&self.answers)
    }
}
