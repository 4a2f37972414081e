//! Aggregates over any frames: a tree of intermediate results, of which each frame takes few.
//!
//! ```text
//! level 2                 [0]                                [1]
//! level 1   [0]     [1]       ...     [15]    [16]  ...
//! rows      0..15   16..31            240..255
//!
//! frame 14..276:  rows 14, 15   level 1: 1..15   level 1: 16   rows 272..275
//! ```
//!
//! A frame is put together from left to right, so that aggregates for which the order of rows
//! matters are right, too. All frames of a batch go through the levels together: one call per level
//! and direction, whose nodes are gathered by dictionaries. Rows at the ends of frames follow one
//! another; where states can be copied, a state runs through them
//! ([`AggregateFunction::add_frames`]) and nothing is gathered.

use super::{
    STEP_ROWS, active::ActiveRows, frames::DistinctFrames, running::can_run, states::States,
};
use crate::BatchCharge;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{AggregateFunction, Ranges, RunningFrames};
use volley_memory::Pool;
use volley_vector::{Batch, ScalarBuffer, Vector};

/// Children of a node: few levels, yet few rows at the ends of a frame.
const FANOUT: usize = 16;

/// A tree over all rows.
pub(super) struct Tree {
    args: Batch,
    rows: usize,
    /// Intermediate results, one per node; level 1 first. The last level is not larger than a
    /// node's children.
    levels: Vec<Vector>,
    /// Of the level that is being built.
    parts: Vec<Vector>,
    built: usize,
    states: States,
    /// Where states can be copied.
    ends: Option<Ends>,
    charge: BatchCharge,
    /// The frame of the batch to answer next.
    next: usize,
}

/// What runs through the rows at the ends of frames.
struct Ends {
    /// One state.
    running: States,
    /// The right ends.
    right: States,
}

/// What frames take of one level: which state takes which row or node.
#[derive(Default)]
struct Taken {
    targets: Vec<u32>,
    nodes: Vec<u32>,
}

/// What the same part of some frames takes.
struct Pass {
    /// By level, on the way up: to the right.
    up: Vec<Taken>,
    /// By level, on the way down.
    down: Vec<Taken>,
    len: usize,
}

impl Tree {
    /// A tree over `args` of `rows` rows, in order; not yet built.
    pub(super) fn new(
        function: &Arc<dyn AggregateFunction>,
        args: Vec<Vector>,
        rows: usize,
        pool: &Pool,
    ) -> Result<Tree> {
        let ends = match can_run(function, &args, pool)? {
            true => Some(Ends {
                running: States::new(function, pool),
                right: States::new(function, pool),
            }),
            false => None,
        };
        Ok(Tree {
            args: Batch::new(args, rows),
            rows,
            levels: Vec::new(),
            parts: Vec::new(),
            built: 0,
            states: States::new(function, pool),
            ends,
            charge: BatchCharge::new(pool),
            next: 0,
        })
    }

    /// Builds some nodes; true at the end.
    pub(super) fn build(&mut self, active: &ActiveRows) -> Result<bool> {
        let below = self.levels.last().map_or(self.rows, Vector::len);
        if below <= FANOUT {
            return Ok(true);
        }
        let end = (self.built + STEP_ROWS).min(below);
        let len = end - self.built;
        self.states.init(len.div_ceil(FANOUT))?;
        let targets: Vec<u32> = (0..len).map(|it| (it / FANOUT) as u32).collect();
        match self.levels.last() {
            None => {
                let args = self.args.slice(self.built, len);
                let rows = active.slice(self.built as u32, end as u32);
                self.states.add(&targets, args.columns(), &rows)?;
            }
            Some(level) => self.states.merge(&targets, &level.slice(self.built, len))?,
        }
        self.parts.push(self.states.intermediate()?);
        self.built = end;
        if end == below {
            let data_type = self.parts[0].data_type().clone();
            let level = Vector::concat(&data_type, &self.parts)?;
            self.parts.clear();
            self.built = 0;
            self.charge.add(&Batch::new(vec![level.clone()], level.len()))?;
            self.levels.push(level);
        }
        Ok(false)
    }

    /// Puts some frames together; the results of all `frames` at the end.
    pub(super) fn step(
        &mut self,
        frames: &DistinctFrames,
        active: &ActiveRows,
    ) -> Result<Option<Vector>> {
        if self.ends.is_some() && frames.is_whole {
            self.step_with_ends(frames, active)?;
        } else {
            self.step_gathering(frames, active)?;
        }
        if self.next < frames.parts.len() {
            return Ok(None);
        }
        self.next = 0;
        self.states.results().map(Some)
    }

    /// Puts some frames of one part together, whose ends are run through.
    fn step_with_ends(&mut self, frames: &DistinctFrames, active: &ActiveRows) -> Result<()> {
        if self.next == 0 {
            self.states.reset(frames.parts.len())?;
        }
        let first = self.next;
        let mut pass = Pass::new(self.levels.len());
        let (mut left, mut right) = (Ranges::default(), Ranges::default());
        while self.next < frames.parts.len() && pass.len < STEP_ROWS {
            let (start, end) = frames.ranges.get(self.next);
            let (rows_left, rows_right) = pass.take_nodes(self.next as u32, start, end);
            left.push(rows_left.0, rows_left.1);
            right.push(rows_right.0, rows_right.1);
            pass.len += (rows_left.1 - rows_left.0 + rows_right.1 - rows_right.0) as usize;
            self.next += 1;
        }
        let Some(Ends { running, right: right_states }) = &mut self.ends else { return Ok(()) };
        run_through(running, &self.args, active, &left, &mut self.states)?;
        right_states.reset(right.starts.len())?;
        run_through(running, &self.args, active, &right, right_states)?;
        let right = right_states.intermediate()?;
        self.apply(pass, active)?;
        let targets: Vec<u32> = (first as u32..self.next as u32).collect();
        self.states.merge(&targets, &right)
    }

    /// Puts some frames together from rows and nodes.
    fn step_gathering(&mut self, frames: &DistinctFrames, active: &ActiveRows) -> Result<()> {
        if self.next == 0 {
            self.states.init(frames.parts.len())?;
        }
        let mut passes: [Pass; 3] = std::array::from_fn(|_| Pass::new(self.levels.len()));
        while self.next < frames.parts.len()
            && passes.iter().map(|it| it.len).sum::<usize>() < STEP_ROWS
        {
            for (pass, (start, end)) in passes.iter_mut().zip(frames.parts[self.next].parts) {
                pass.take(self.next as u32, start as usize, end as usize);
            }
            self.next += 1;
        }
        passes.into_iter().filter(|it| it.len > 0).try_for_each(|it| self.apply(it, active))
    }

    /// Adds what a pass takes, from left to right.
    fn apply(&mut self, pass: Pass, active: &ActiveRows) -> Result<()> {
        for (level, taken) in pass.up.into_iter().enumerate() {
            self.add(level, taken, active)?;
        }
        for (level, taken) in pass.down.into_iter().enumerate().rev() {
            self.add(level, taken, active)?;
        }
        Ok(())
    }

    fn add(&mut self, level: usize, taken: Taken, active: &ActiveRows) -> Result<()> {
        if taken.nodes.is_empty() {
            return Ok(());
        }
        let Some(level) = level.checked_sub(1) else {
            let kept = active.select(&taken.nodes);
            let args = self.args.wrap(&ScalarBuffer::from(taken.nodes));
            return self.states.add(&taken.targets, args.columns(), &kept);
        };
        let nodes = Batch::new(vec![self.levels[level].clone()], self.levels[level].len());
        let nodes = nodes.wrap(&ScalarBuffer::from(taken.nodes));
        self.states.merge(&taken.targets, nodes.column(0))
    }
}

impl Pass {
    fn new(levels: usize) -> Pass {
        let taken = || std::iter::repeat_with(Taken::default).take(levels + 1).collect();
        Pass { up: taken(), down: taken(), len: 0 }
    }

    /// Takes the nodes of `start..end` for the state `target`; answers the rows left and right of
    /// them. Those on the right may be empty.
    fn take_nodes(&mut self, target: u32, start: u32, end: u32) -> ((u32, u32), (u32, u32)) {
        let fanout = FANOUT as u32;
        let (first, last) = (start.div_ceil(fanout), end / fanout);
        if self.up.len() == 1 || first >= last {
            return ((start, end), (end, end));
        }
        self.take_from(1, target, first as usize, last as usize);
        ((start, first * fanout), (last * fanout, end))
    }

    /// Takes the rows `start..end` for the state `target`.
    fn take(&mut self, target: u32, start: usize, end: usize) {
        self.take_from(0, target, start, end);
    }

    /// Takes the nodes `start..end` of a level, or those above them.
    fn take_from(&mut self, level: usize, target: u32, start: usize, end: usize) {
        let (mut start, mut end) = (start, end);
        let top = self.up.len() - 1;
        for level in level..=top {
            let (first, last) = (start.div_ceil(FANOUT), end / FANOUT);
            if level == top || first >= last {
                self.len += self.up[level].take(target, start, end);
                return;
            }
            self.len += self.up[level].take(target, start, first * FANOUT);
            self.len += self.down[level].take(target, last * FANOUT, end);
            (start, end) = (first, last);
        }
    }
}

impl Taken {
    fn take(&mut self, target: u32, start: usize, end: usize) -> usize {
        self.nodes.extend(start as u32..end as u32);
        self.targets.resize(self.nodes.len(), target);
        end.saturating_sub(start)
    }
}

/// Runs a state through ranges of rows; appends a copy for each to `results`.
fn run_through(
    running: &mut States,
    args: &Batch,
    active: &ActiveRows,
    ranges: &Ranges,
    results: &mut States,
) -> Result<()> {
    let starts = ranges.iter().filter(|it| it.0 < it.1).map(|it| it.0);
    let first = starts.min().unwrap_or(0);
    let end = ranges.iter().filter(|it| it.0 < it.1).map(|it| it.1).max().unwrap_or(first);
    let args = args.slice(first as usize, (end - first) as usize);
    running.init(1)?;
    let frames = RunningFrames { first, held: (0, 0), ranges };
    if !running.add_frames(args.columns(), &active.slice(first, end), frames, results)? {
        return Err(Error::internal("an aggregate that runs through some frames only"));
    }
    Ok(())
}
