//! The first pass over a partition that comes in pieces: writes its rows once more, and finds out
//! what is at the end of groups that go on after a piece.

use super::{
    super::{
        active::rows_where_true,
        spec::{CallFunction, WindowSpec},
        states::States,
    },
    plan::{Known, PiecePlan},
};
use std::{collections::VecDeque, sync::Arc};
use volley_error::{Error, Result};
use volley_exec::{OperatorContext, OperatorMetrics};
use volley_function::{AggregateKind, Ranges, RunningFrames};
use volley_memory::Reservation;
use volley_state::{
    compact::own_batch,
    spill::{SpillRun, SpillWriter},
};
use volley_vector::{Batch, Rows, Vector, comparator};

/// What comes after a piece.
#[derive(Clone)]
pub(super) struct PieceEnd {
    /// By level: the end of the group of the piece's last row.
    pub levels: Vec<GroupEnd>,
    /// Per call, the result at the end of its group, one row.
    pub known: Vec<Option<Vector>>,
}

/// The end of a group.
#[derive(Clone, Default)]
pub(super) struct GroupEnd {
    /// How many rows of the partition come up to it.
    pub rows: u64,
    /// The group's last row.
    pub last: Option<Batch>,
}

/// Goes once through a partition.
pub(super) struct Scan {
    spec: Arc<WindowSpec>,
    metrics: Arc<OperatorMetrics>,
    writer: SpillWriter,
    piece_rows: usize,
    /// Rows so far, and the last of them.
    rows: u64,
    before: Option<Batch>,
    /// Of all pieces that have ended.
    ends: Vec<PieceEnd>,
    /// By level: the first piece of whose last group the end has not come.
    waiting: Vec<usize>,
    /// One per call: aggregates of which results are needed in time.
    states: Vec<Option<KnownState>>,
}

struct KnownState {
    known: Known,
    /// Arguments of no rows.
    no_args: Vec<Vector>,
    state: States,
    results: States,
    /// What the results take.
    charge: Reservation,
}

impl Scan {
    pub(super) fn new(
        spec: &Arc<WindowSpec>,
        plan: &PiecePlan,
        piece_rows: usize,
        cx: &OperatorContext,
    ) -> Result<Scan> {
        let mut states = Vec::new();
        for (call, plan) in spec.calls.iter().zip(&plan.calls) {
            states.push(match (plan.known, &call.function) {
                (Some(known), CallFunction::Aggregate(bound)) => {
                    let AggregateKind::Folding(function) = &bound.function else {
                        return Err(Error::internal("an aggregate without states"));
                    };
                    let mut state = States::new(function, &cx.pool);
                    state.init(1)?;
                    let results = States::new(function, &cx.pool);
                    let no_args =
                        call.arg_types.iter().map(|it| Vector::from_values(it.clone(), &[]));
                    let (no_args, charge) = (no_args.collect(), cx.pool.reservation());
                    Some(KnownState { known, no_args, state, results, charge })
                }
                _ => None,
            });
        }
        Ok(Scan {
            writer: SpillWriter::new(&cx.task.spill, &spec.types, &cx.pool)?,
            spec: Arc::clone(spec),
            metrics: Arc::clone(&cx.metrics),
            piece_rows,
            rows: 0,
            before: None,
            ends: Vec::new(),
            waiting: vec![0; spec.levels.len()],
            states,
        })
    }

    /// Takes the next rows of the partition.
    pub(super) fn push(&mut self, batch: &Batch) -> Result<()> {
        self.writer.write(batch)?;
        let mut start = 0;
        while start < batch.rows() {
            let left = self.piece_rows - (self.rows % self.piece_rows as u64) as usize;
            let part = batch.slice(start, left.min(batch.rows() - start));
            start += part.rows();
            self.add(&part)?;
            if part.rows() == left {
                let levels = vec![GroupEnd::default(); self.spec.levels.len()];
                let known = vec![None; self.spec.calls.len()];
                self.ends.push(PieceEnd { levels, known });
            }
        }
        Ok(())
    }

    /// The rows, in a file of their own, how many they are, and what comes after the pieces.
    pub(super) fn finish(mut self) -> Result<(SpillRun, u64, VecDeque<PieceEnd>)> {
        if self.ends.len() as u64 * (self.piece_rows as u64) < self.rows {
            let levels = vec![GroupEnd::default(); self.spec.levels.len()];
            self.ends.push(PieceEnd { levels, known: vec![None; self.spec.calls.len()] });
        }
        for level in 0..self.spec.levels.len() {
            self.end_group(level, None, 0)?;
        }
        let run = self.writer.finish()?;
        self.metrics.add_spilled(run.spilled());
        Ok((run, self.rows, self.ends.into()))
    }

    /// Takes rows of one piece.
    fn add(&mut self, part: &Batch) -> Result<()> {
        for level in 0..self.spec.levels.len() {
            let end = match level > 0 && self.waiting[level] < self.ends.len() {
                true => self.first_change(level, part)?,
                false => None,
            };
            let Some(end) = end else {
                self.add_states(level, part, 0, part.rows())?;
                continue;
            };
            self.add_states(level, part, 0, end)?;
            self.end_group(level, Some(part), end)?;
            self.add_states(level, part, end, part.rows())?;
        }
        self.rows += part.rows() as u64;
        self.before = Some(own_batch(part.slice(part.rows() - 1, 1))?);
        Ok(())
    }

    /// The first row of `part` that is not in the group of the row before it.
    fn first_change(&self, level: usize, part: &Batch) -> Result<Option<usize>> {
        let keys = self.spec.order_by.iter().take(self.spec.levels[level]);
        let columns: Vec<usize> = keys.map(|it| it.column).collect();
        let comparators = |left: &Batch| {
            let columns = columns.iter();
            let all = columns.map(|it| comparator(left.column(*it), part.column(*it)));
            all.collect::<Result<Vec<_>>>()
        };
        if let Some(before) = &self.before
            && comparators(before)?.iter().any(|it| !it.is_equal(0, 0))
        {
            return Ok(Some(0));
        }
        let within = comparators(part)?;
        Ok((1..part.rows()).find(|row| within.iter().any(|it| !it.is_equal(row - 1, *row))))
    }

    /// Notes what is at the end of a group for the pieces that wait for it: `row` rows into `part`.
    fn end_group(&mut self, level: usize, part: Option<&Batch>, row: usize) -> Result<()> {
        let last = match part {
            Some(part) if row > 0 => Some(own_batch(part.slice(row - 1, 1))?),
            _ => self.before.clone(),
        };
        let mut known = vec![None; self.states.len()];
        for (state, known) in self.states.iter_mut().zip(&mut known) {
            if let Some(state) = state.as_mut().filter(|it| it.known.level == level) {
                let is_end = part.is_none();
                *known = Some(if is_end {
                    state.state.results(&mut state.charge)?
                } else {
                    state.copy()?
                });
            }
        }
        let rows = self.rows + row as u64;
        for end in &mut self.ends[self.waiting[level]..] {
            end.levels[level] = GroupEnd { rows, last: last.clone() };
            for (end, known) in end.known.iter_mut().zip(&known) {
                if known.is_some() {
                    end.clone_from(known);
                }
            }
        }
        self.waiting[level] = self.ends.len();
        Ok(())
    }

    /// Adds some rows to the states of the calls of a level.
    fn add_states(&mut self, level: usize, part: &Batch, start: usize, end: usize) -> Result<()> {
        if start == end {
            return Ok(());
        }
        for (call, state) in self.spec.calls.iter().zip(&mut self.states) {
            let Some(state) = state.as_mut().filter(|it| it.known.level == level) else { continue };
            let column = |it: usize| part.column(it).slice(start, end - start);
            let args = call.args.iter().map(|it| column(*it).flatten());
            let rows = match call.filter {
                Some(filter) => rows_where_true(&column(filter).flatten()?),
                None => Rows::all(end - start),
            };
            state.state.add_to_one(&args.collect::<Result<Vec<_>>>()?, &rows)?;
        }
        Ok(())
    }
}

impl KnownState {
    /// The result of the rows so far.
    fn copy(&mut self) -> Result<Vector> {
        let mut ranges = Ranges::default();
        ranges.push(0, 0);
        let frames = RunningFrames { first: 0, held: (0, 0), ranges: &ranges };
        self.results.reset(1)?;
        let no_rows = Rows::all(0);
        if !self.state.add_frames(&self.no_args, &no_rows, frames, &mut self.results)? {
            return Err(Error::internal("an aggregate that runs through some frames only"));
        }
        self.results.results(&mut self.charge)
    }
}
