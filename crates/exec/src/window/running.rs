//! Aggregates over frames that only grow: one state runs through the rows of a partition, and is
//! copied at the end of each frame.

use super::{STEP_ROWS, active::ActiveRows, frames::DistinctFrames, states::States};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{AggregateFunction, Ranges, RunningFrames};
use volley_memory::Pool;
use volley_vector::{Rows, Vector};

/// One state on its way through the rows.
pub(super) struct Running {
    args: Vec<Vector>,
    state: States,
    /// The frame whose rows the state has.
    held: (u32, u32),
    results: States,
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
        pool: &Pool,
    ) -> Result<Option<Running>> {
        if !can_run(function, args, pool)? {
            return Ok(None);
        }
        let mut running = Running {
            args: args.to_vec(),
            state: States::new(function, pool),
            held: (0, 0),
            results: States::new(function, pool),
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
            let (from, to) = (self.held.1, end.min(self.held.1 + STEP_ROWS as u32));
            self.add(from, to, active)?;
        }
        Ok((self.state, self.held.1))
    }

    /// Goes on through some rows; the results of all `frames` at the end.
    pub(super) fn step(
        &mut self,
        frames: &DistinctFrames,
        active: &ActiveRows,
    ) -> Result<Option<Vector>> {
        if self.next == 0 {
            self.results.reset(frames.parts.len())?;
        }
        if !self.catch_up(frames.ranges.get(self.next), active)? {
            return Ok(None);
        }
        let chunk = self.chunk(&frames.ranges);
        let args: Vec<Vector> = self.slices(chunk.first, chunk.end);
        let rows = active.slice(chunk.first, chunk.end);
        let run = RunningFrames { first: chunk.first, held: self.held, ranges: &chunk.ranges };
        if !self.state.add_frames(&args, &rows, run, &mut self.results)? {
            return Err(Error::internal("an aggregate that runs through some frames only"));
        }
        self.next += chunk.ranges.starts.len();
        self.held = frames.ranges.get(self.next - 1);
        if self.next < frames.parts.len() {
            return Ok(None);
        }
        self.next = 0;
        self.results.results().map(Some)
    }

    /// Adds rows until those that are missing in `frame` are few; true then.
    fn catch_up(&mut self, (start, end): (u32, u32), active: &ActiveRows) -> Result<bool> {
        if start != self.held.0 || end < self.held.1 {
            self.state.init(1)?;
            self.held = (start, start);
        }
        if (end - self.held.1) as usize <= STEP_ROWS {
            return Ok(true);
        }
        let (from, to) = (self.held.1, self.held.1 + STEP_ROWS as u32);
        self.add(from, to, active)?;
        Ok(false)
    }

    fn add(&mut self, from: u32, to: u32, active: &ActiveRows) -> Result<()> {
        let args = self.slices(from, to);
        self.state.add_to_one(&args, &active.slice(from, to))?;
        self.held.1 = to;
        Ok(())
    }

    /// The next frames that together add few rows.
    fn chunk(&self, all: &Ranges) -> Chunk {
        let mut chunk = Chunk { first: u32::MAX, end: 0, ranges: Ranges::default() };
        let (mut held, mut rows) = (self.held, 0);
        for (start, end) in all.iter().skip(self.next) {
            let from = if start == held.0 && end >= held.1 { held.1 } else { start };
            rows += (end - from) as usize;
            if rows > STEP_ROWS && !chunk.ranges.starts.is_empty() {
                break;
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
    ranges: Ranges,
}
