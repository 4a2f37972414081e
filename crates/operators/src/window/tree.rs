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
    active::ActiveRows,
    frames::DistinctFrames,
    running::can_run,
    size_estimate::{SizeEstimate, StepLimits},
    states::States,
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{AggregateFunction, FrameParts, Ranges, RunningFrames};
use volley_memory::{Pool, Reservation};
use volley_state::{BatchCharge, column_concat::joined_bytes};
use volley_vector::{Batch, ScalarBuffer, Vector};

/// Children of a node: few levels, yet few rows at the ends of a frame.
const FANOUT: usize = 16;

/// The factor by which an estimate of bytes may be too small the next time.
const GUESS_ROOM: f64 = 2.0;

/// And later frames may keep more of their rows than those before: at least so much is guessed.
const GUESS_MIN: f64 = 1.0 / 64.0;

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
    /// Of the frames from `first` on.
    states: States,
    /// Where states can be copied.
    ends: Option<Ends>,
    charge: BatchCharge,
    /// Where states hold bytes outside their rows: how many frames are put together at once.
    guess: Option<Guess>,
    /// Results are returned when they take this number of bytes.
    limits: StepLimits,
    /// What the results given last take.
    given: Reservation,
    /// The first frame of the batch whose result was not given.
    first: usize,
    /// The frame of the batch to put together next.
    next: usize,
}

/// A guess of what states of frames will hold.
struct Guess {
    /// What the rows of a level add to states; the input first.
    weights: Vec<SizeEstimate>,
    /// What an input row is taken to add to the state of each of its frames: what it adds when all
    /// of it is kept, and a factor of which states so far have shown that it is enough.
    row_bytes: f64,
    factor: f64,
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
        limits: StepLimits,
        pool: &Pool,
    ) -> Result<Tree> {
        let ends = match can_run(function, &args, pool)? {
            true => Some(Ends {
                running: States::new(function, pool),
                right: States::new(function, pool),
            }),
            false => None,
        };
        let guess = function.state().needs_drop.then(|| Guess::new(&args));
        Ok(Tree {
            args: Batch::new(args, rows),
            rows,
            levels: Vec::new(),
            parts: Vec::new(),
            built: 0,
            states: States::new(function, pool),
            ends,
            charge: BatchCharge::new(pool),
            guess,
            limits,
            given: pool.reservation(),
            first: 0,
            next: 0,
        })
    }

    /// Builds some nodes; true at the end.
    pub(super) fn build(&mut self, active: &ActiveRows) -> Result<bool> {
        let below = self.levels.last().map_or(self.rows, Vector::len);
        if below <= FANOUT {
            return Ok(true);
        }
        let end = self.end_of_step(below);
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
        let part = self.states.intermediate()?;
        self.charge.add(&Batch::new(vec![part.clone()], part.len()))?;
        self.parts.push(part);
        self.built = end;
        if end == below {
            self.finish_level()?;
        }
        Ok(false)
    }

    /// The end of the rows or nodes that are put together in one step, whole nodes of them.
    fn end_of_step(&self, below: usize) -> usize {
        let most = (self.built + self.limits.rows).min(below);
        let Some(weights) = self.guess.as_ref().and_then(|it| it.weights.last()) else {
            return most;
        };
        let end = weights.end_of(self.built as u32, most as u32, self.limits.bytes) as usize;
        if end == most {
            return most;
        }
        let nodes = ((end - self.built) / FANOUT).max(1);
        (self.built + nodes * FANOUT).min(most)
    }

    /// Puts the parts of a level together.
    fn finish_level(&mut self) -> Result<()> {
        let parts = std::mem::take(&mut self.parts);
        let mut copied = self.charge.pool().reservation();
        copied.resize(parts.iter().map(joined_bytes).sum())?;
        let level = Vector::concat(parts[0].data_type(), &parts)?;
        for part in parts {
            let rows = part.len();
            self.charge.remove(&Batch::new(vec![part], rows));
        }
        drop(copied);
        self.built = 0;
        self.charge.add(&Batch::new(vec![level.clone()], level.len()))?;
        if let Some(guess) = &mut self.guess {
            guess.weights.push(SizeEstimate::of_copies(std::slice::from_ref(&level)));
        }
        self.levels.push(level);
        Ok(())
    }

    /// Puts some frames together; the results of those since the ones given last, at the end of
    /// `frames` or when they take much.
    pub(super) fn step(
        &mut self,
        frames: &DistinctFrames,
        active: &ActiveRows,
    ) -> Result<Option<Vector>> {
        if self.states.is_empty() {
            self.given.clear();
            self.first = self.next;
            self.states.reset(frames.parts.len() - self.next)?;
        }
        let (next, bytes) = (self.next, self.states.external_state_bytes());
        if self.ends.is_some() && frames.is_whole {
            self.step_with_ends(frames, active)?;
        } else {
            self.step_gathering(frames, active)?;
        }
        let is_large = match &mut self.guess {
            Some(guess) => {
                let made = self.states.external_state_bytes().saturating_sub(bytes);
                guess.learn(&frames.parts[next..self.next], made);
                self.states.external_state_bytes() >= self.limits.bytes
            }
            None => false,
        };
        if self.next < frames.parts.len() && !is_large {
            return Ok(None);
        }
        if self.next == frames.parts.len() {
            self.next = 0;
        }
        self.states.results(&mut self.given).map(Some)
    }

    /// The returned results belong to the caller.
    pub(super) fn release(&mut self) {
        self.given.clear();
    }

    /// The frames under way are not asked for any more.
    pub(super) fn skip_rest(&mut self) {
        self.states.clear();
        self.given.clear();
        self.next = 0;
    }

    /// How many frames are put together at once: as many as are guessed to take few bytes, and one
    /// at least.
    fn frames_max(&self, frames: &DistinctFrames) -> usize {
        let rest = &frames.parts[self.next..];
        let Some(guess) = &self.guess else { return rest.len() };
        let most = self.limits.bytes.saturating_sub(self.states.external_state_bytes()) as f64;
        let mut bytes = 0.0;
        let is_enough = |frame: &FrameParts| {
            bytes += guess.of(frame);
            bytes > most
        };
        rest.iter().position(is_enough).unwrap_or(rest.len()).max(1)
    }

    /// Puts some frames of one part together, whose ends are run through.
    fn step_with_ends(&mut self, frames: &DistinctFrames, active: &ActiveRows) -> Result<()> {
        let end = self.next + self.frames_max(frames);
        let first = (self.next - self.first) as u32;
        let mut pass = Pass::new(self.levels.len());
        let (mut left, mut right) = (Ranges::default(), Ranges::default());
        while self.next < end && pass.len < self.limits.rows {
            let (start, end) = frames.ranges.get(self.next);
            let target = (self.next - self.first) as u32;
            let (rows_left, rows_right) = pass.take_nodes(target, start, end);
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
        let targets: Vec<u32> = (first..(self.next - self.first) as u32).collect();
        self.states.merge(&targets, &right)
    }

    /// Puts some frames together from rows and nodes.
    fn step_gathering(&mut self, frames: &DistinctFrames, active: &ActiveRows) -> Result<()> {
        let (first, end) = (self.next, self.next + self.frames_max(frames));
        let mut passes: [Pass; 3] = std::array::from_fn(|_| Pass::new(self.levels.len()));
        while self.next < end && passes.iter().map(|it| it.len).sum::<usize>() < self.limits.rows {
            let target = (self.next - self.first) as u32;
            for (pass, (start, end)) in passes.iter_mut().zip(frames.parts[self.next].parts) {
                pass.take(target, start as usize, end as usize);
            }
            self.next += 1;
        }
        self.states.init_more(self.next - first);
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

    /// Adds rows, or nodes of a level; what states hold is charged after each portion.
    fn add(&mut self, level: usize, taken: Taken, active: &ActiveRows) -> Result<()> {
        let Taken { targets, nodes } = taken;
        if nodes.is_empty() {
            return Ok(());
        }
        let Some(guess) = &self.guess else {
            return self.add_portion(level, &targets, nodes, active);
        };
        let weights = guess.weights.get(level).cloned();
        let mut start = 0;
        while start < nodes.len() {
            let end = match &weights {
                Some(weights) => weights.end_of_listed(&nodes, start, self.limits.bytes),
                None => nodes.len(),
            };
            self.add_portion(level, &targets[start..end], nodes[start..end].to_vec(), active)?;
            start = end;
        }
        Ok(())
    }

    fn add_portion(
        &mut self,
        level: usize,
        targets: &[u32],
        nodes: Vec<u32>,
        active: &ActiveRows,
    ) -> Result<()> {
        let Some(level) = level.checked_sub(1) else {
            let kept = active.select(&nodes);
            let args = self.args.wrap(&ScalarBuffer::from(nodes));
            return self.states.add(targets, args.columns(), &kept);
        };
        let level = &self.levels[level];
        let nodes = Batch::new(vec![level.clone()], level.len()).wrap(&ScalarBuffer::from(nodes));
        self.states.merge(targets, nodes.column(0))
    }
}

impl Guess {
    fn new(args: &[Vector]) -> Guess {
        let weights = SizeEstimate::of_copies(args);
        Guess { row_bytes: weights.mean() as f64, weights: vec![weights], factor: 1.0 }
    }

    /// What the state of a frame may hold.
    fn of(&self, frame: &FrameParts) -> f64 {
        self.factor * self.all_kept(frame)
    }

    /// What the state of a frame holds that keeps all rows.
    fn all_kept(&self, frame: &FrameParts) -> f64 {
        frame.iter().map(|it| f64::from(it.1 - it.0)).sum::<f64>() * self.row_bytes
    }

    /// Takes note of what the states of some frames hold.
    fn learn(&mut self, frames: &[FrameParts], bytes: usize) {
        let all_kept: f64 = frames.iter().map(|it| self.all_kept(it)).sum();
        if all_kept > 0.0 {
            self.factor = (bytes as f64 / all_kept * GUESS_ROOM).clamp(GUESS_MIN, 1.0);
        }
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
