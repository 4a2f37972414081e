//! Aggregates over frames that only grow: one state runs through the rows of a partition, and is
//! copied at the end of each frame.

use super::{
    active::ActiveRows,
    frames::DistinctFrames,
    size_estimate::{SizeEstimate, StepLimits},
    states::States,
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{AggregateFunction, Ranges, RunningFrames};
use volley_memory::{Pool, Reservation};
use volley_vector::{Rows, Vector};

/// One state on its way through the rows.
pub(super) struct Running {
    args: Vec<Vector>,
    /// What rows add to the state, where it holds bytes outside its row.
    weights: Option<SizeEstimate>,
    state: States,
    /// The frame whose rows the state has.
    held: (u32, u32),
    results: States,
    /// Results are returned when they take this number of bytes.
    limits: StepLimits,
    /// What the results given last take.
    given: Reservation,
    /// The frame of the batch to answer next.
    next: usize,
}

/// A state that goes on with the next piece of its partition.
pub(super) struct CarriedState {
    pub state: States,
    /// How many rows of the partition it has.
    pub rows: u64,
}

impl Running {
    /// `None` for functions whose states cannot be copied. `args`: of all rows, in order.
    pub(super) fn new(
        function: &Arc<dyn AggregateFunction>,
        args: &[Vector],
        limits: StepLimits,
        pool: &Pool,
    ) -> Result<Option<Running>> {
        if !can_run(function, args, pool)? {
            return Ok(None);
        }
        let mut running = Running {
            args: args.to_vec(),
            weights: function.state().needs_drop.then(|| SizeEstimate::of_copies(args)),
            state: States::new(function, pool),
            held: (0, 0),
            results: States::new(function, pool),
            limits,
            given: pool.reservation(),
            next: 0,
        };
        running.state.init(1)?;
        Ok(Some(running))
    }

    /// Goes on with the state of an earlier piece, which has all rows before `position`.
    pub(super) fn resume(&mut self, carried: CarriedState, position: u32) {
        (self.state, self.held) = (carried.state, (0, position));
    }

    /// Adds what is missing of the rows before `end`; the state, and the position behind its rows.
    pub(super) fn carry(mut self, end: u32, active: &ActiveRows) -> Result<(States, u32)> {
        while self.held.1 < end {
            let (from, to) = (self.held.1, self.end_of_step(end));
            self.add(from, to, active)?;
        }
        Ok((self.state, self.held.1))
    }

    /// Goes on through some rows; the results of the frames since those given last, at the end of
    /// `frames` or when they take much.
    pub(super) fn step(
        &mut self,
        frames: &DistinctFrames,
        active: &ActiveRows,
    ) -> Result<Option<Vector>> {
        if self.results.is_empty() {
            self.given.clear();
            self.results.reset(frames.parts.len() - self.next)?;
        }
        if !self.catch_up(frames.ranges.get(self.next), active)? {
            return Ok(None);
        }
        let chunk = self.chunk(&frames.ranges);
        self.results.charge_ahead(chunk.bytes)?;
        let args: Vec<Vector> = self.slices(chunk.first, chunk.end);
        let rows = active.slice(chunk.first, chunk.end);
        let run = RunningFrames { first: chunk.first, held: self.held, ranges: &chunk.ranges };
        if !self.state.add_frames(&args, &rows, run, &mut self.results)? {
            return Err(Error::internal("an aggregate that runs through some frames only"));
        }
        self.next += chunk.ranges.starts.len();
        self.held = frames.ranges.get(self.next - 1);
        let is_large =
            self.weights.is_some() && self.results.external_state_bytes() >= self.limits.bytes;
        if self.next < frames.parts.len() && !is_large {
            return Ok(None);
        }
        if self.next == frames.parts.len() {
            self.next = 0;
        }
        self.results.results(&mut self.given).map(Some)
    }

    /// The returned results belong to the caller.
    pub(super) fn release(&mut self) {
        self.given.clear();
    }

    /// The frames under way are not asked for any more.
    pub(super) fn skip_rest(&mut self) {
        self.results.clear();
        self.given.clear();
        self.next = 0;
    }

    /// Adds rows until those that are missing in `frame` are few; true then.
    fn catch_up(&mut self, (start, end): (u32, u32), active: &ActiveRows) -> Result<bool> {
        if start != self.held.0 || end < self.held.1 {
            self.state.init(1)?;
            self.held = (start, start);
        }
        let to = self.end_of_step(end);
        if to == end {
            return Ok(true);
        }
        self.add(self.held.1, to, active)?;
        Ok(false)
    }

    /// The end of the next rows before `end` that are few.
    fn end_of_step(&self, end: u32) -> u32 {
        let from = self.held.1;
        let end = end.min(from.saturating_add(self.limits.rows as u32)).max(from);
        self.weights.as_ref().map_or(end, |it| it.end_of(from, end, self.limits.bytes))
    }

    fn add(&mut self, from: u32, to: u32, active: &ActiveRows) -> Result<()> {
        let args = self.slices(from, to);
        self.state.add_to_one(&args, &active.slice(from, to))?;
        self.held.1 = to;
        Ok(())
    }

    /// The next frames that together add few rows, and whose copies take few bytes.
    fn chunk(&self, all: &Ranges) -> Chunk {
        let mut chunk = Chunk { first: u32::MAX, end: 0, bytes: 0, ranges: Ranges::default() };
        let (mut held, mut rows) = (self.held, 0);
        let bytes_max = self.limits.bytes.saturating_sub(self.results.external_state_bytes());
        let mut state_bytes = self.state.external_state_bytes();
        for (start, end) in all.iter().skip(self.next) {
            let goes_on = start == held.0 && end >= held.1;
            let from = if goes_on { held.1 } else { start };
            rows += (end - from) as usize;
            let is_first = chunk.ranges.starts.is_empty();
            if rows > self.limits.rows && !is_first {
                break;
            }
            if let Some(weights) = &self.weights {
                let added = weights.of_range(from, end);
                state_bytes = if goes_on { state_bytes + added } else { added };
                if chunk.bytes + state_bytes > bytes_max && !is_first {
                    break;
                }
                chunk.bytes += state_bytes;
            }
            held = (start, end);
            chunk.first = chunk.first.min(from);
            chunk.end = chunk.end.max(end);
            chunk.ranges.push(start, end);
        }
        chunk.first = chunk.first.min(chunk.end);
        chunk
    }

    fn slices(&self, start: u32, end: u32) -> Vec<Vector> {
        let slice = |it: &Vector| it.slice(start as usize, (end - start) as usize);
        self.args.iter().map(slice).collect()
    }
}

/// Whether states of the function can be copied on their way.
pub(super) fn can_run(
    function: &Arc<dyn AggregateFunction>,
    args: &[Vector],
    pool: &Pool,
) -> Result<bool> {
    let (mut state, mut results) = (States::new(function, pool), States::new(function, pool));
    state.init(1)?;
    let frames = RunningFrames { first: 0, held: (0, 0), ranges: &Ranges::default() };
    let none: Vec<Vector> = args.iter().map(|it| it.slice(0, 0)).collect();
    state.add_frames(&none, &Rows::all(0), frames, &mut results)
}

/// Frames that are run through in one step, and the rows that they add.
struct Chunk {
    first: u32,
    end: u32,
    /// What copies of the state may take.
    bytes: usize,
    ranges: Ranges,
}
