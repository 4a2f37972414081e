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
//! and direction, whose rows are gathered by dictionaries.

use super::{STEP_ROWS, active::ActiveRows, frames::DistinctFrames, states::States};
use crate::BatchCharge;
use std::sync::Arc;
use volley_error::Result;
use volley_function::AggregateFunction;
use volley_memory::Pool;
use volley_vector::{Batch, Rows, ScalarBuffer, Vector};

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
    charge: BatchCharge,
    /// The frame of the batch to answer next.
    next: usize,
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
    ) -> Tree {
        Tree {
            args: Batch::new(args, rows),
            rows,
            levels: Vec::new(),
            parts: Vec::new(),
            built: 0,
            states: States::new(function, pool),
            charge: BatchCharge::new(pool),
            next: 0,
        }
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
        for pass in passes.into_iter().filter(|it| it.len > 0) {
            self.apply(pass, active)?;
        }
        if self.next < frames.parts.len() {
            return Ok(None);
        }
        self.next = 0;
        self.states.results().map(Some)
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
            let rows = &taken.nodes;
            let kept = rows.iter().map(|it| active.contains(*it)).collect::<Vec<bool>>();
            let kept = Rows::from_bits(&kept.into());
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

    /// Takes the rows `start..end` for the state `target`.
    fn take(&mut self, target: u32, start: usize, end: usize) {
        let (mut start, mut end) = (start, end);
        let top = self.up.len() - 1;
        for level in 0..=top {
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
