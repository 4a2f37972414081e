//! The probe side's operator.

use super::{Condition, ProbeConfig, Shared, condition::Tile};
use crate::{BlockedOn, Operator, Step, StepContext, Ticket};
use std::{
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};
use volley_error::Result;
use volley_plan::JoinKind;
use volley_types::Type;
use volley_vector::{Batch, BooleanBuffer, NullBuffer, Rows, ScalarBuffer, Vector};

/// Tiles evaluated in one step.
const TILES_PER_STEP: usize = 32;

/// A step returns soon after this time, however costly the condition is.
const STEP_TIME: Duration = Duration::from_millis(5);

/// Probes every input batch against the whole build side.
pub(super) struct NestedLoopProbe {
    shared: Arc<Shared>,
    config: ProbeConfig,
    condition: Option<Condition>,
    ticket: Option<Ticket>,
    build: Option<Arc<Batch>>,
    current: Option<Current>,
    /// Build rows that this driver matched; empty unless the kind needs them.
    build_matched: Vec<bool>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Probe,
    /// Input has ended; the current batch may not be done.
    InputDone,
    /// Puts out build rows, from this one on.
    BuildRows(usize),
    Done,
}

/// An input batch in work.
struct Current {
    probe: Batch,
    /// The next tile: which build row, or which probe row and where in the build side.
    outer: usize,
    inner: usize,
    /// Per probe row: whether a pair is true.
    matched: Vec<bool>,
    /// Per probe row: whether a pair is null.
    unknown: Vec<bool>,
    /// Hits that are not put out.
    probe_rows: Vec<u32>,
    build_rows: Vec<u32>,
    /// Whether what depends on all pairs (rows without a match) is put out.
    rest_done: bool,
}

impl NestedLoopProbe {
    pub(super) fn new(
        shared: &Arc<Shared>,
        config: ProbeConfig,
        condition: Option<Condition>,
        ticket: Option<Ticket>,
    ) -> NestedLoopProbe {
        NestedLoopProbe {
            shared: Arc::clone(shared),
            config,
            condition,
            ticket,
            build: None,
            current: None,
            build_matched: Vec::new(),
            phase: Phase::Probe,
        }
    }

    /// Works on the current batch until there is something to put out.
    fn probe(&mut self, build: &Batch, current: &mut Current) -> Result<Option<Step>> {
        let begin = Instant::now();
        for _ in 0..TILES_PER_STEP {
            if current.probe_rows.len() >= self.config.batch_rows {
                return Ok(Some(Step::Output(self.take_pairs(build, current))));
            }
            let Some(tile) = self.next_tile(build, current) else {
                return Ok(self.put_out_rest(build, current)?.map(Step::Output));
            };
            self.match_tile(tile, build, current)?;
            if begin.elapsed() >= STEP_TIME {
                break;
            }
        }
        Ok(Some(Step::Yield))
    }

    /// The next pairs to look at.
    fn next_tile(&self, build: &Batch, current: &mut Current) -> Option<Tile> {
        if build.rows() <= current.probe.rows() {
            let row = current.outer;
            current.outer += 1;
            return (row < build.rows()).then_some(Tile::BuildRow(row));
        }
        let (row, start) = (current.outer, current.inner);
        if row == current.probe.rows() {
            return None;
        }
        let len = self.config.batch_rows.min(build.rows() - start);
        current.inner += len;
        if current.inner == build.rows() {
            (current.outer, current.inner) = (row + 1, 0);
        }
        Some(Tile::ProbeRow { row, start, len })
    }

    /// Looks at the pairs of a tile, and records hits as the kind needs them.
    fn match_tile(&mut self, tile: Tile, build: &Batch, current: &mut Current) -> Result<()> {
        let kind = self.config.kind;
        let active = self.active(tile, current);
        if active.is_empty() {
            return Ok(());
        }
        let hits = match &mut self.condition {
            None => active,
            Some(condition) if kind == JoinKind::LeftMark => {
                let (hits, unknown) =
                    condition.select_or_unknown(tile, &active, &current.probe, build)?;
                unknown.for_each(|it| current.unknown[tile.pair(it).0 as usize] = true);
                hits
            }
            Some(condition) => condition.select(tile, &active, &current.probe, build)?,
        };
        let needs_pairs = needs_pairs(kind);
        hits.for_each(|it| {
            let (probe_row, build_row) = tile.pair(it);
            current.matched[probe_row as usize] = true;
            if let Some(matched) = self.build_matched.get_mut(build_row as usize) {
                *matched = true;
            }
            if needs_pairs {
                current.probe_rows.push(probe_row);
                current.build_rows.push(build_row);
            }
        });
        Ok(())
    }

    /// The pairs of a tile that can still change the result.
    fn active(&self, tile: Tile, current: &Current) -> Rows {
        let len = tile.len(current.probe.rows());
        let first_hit_settles = matches!(
            self.config.kind,
            JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::LeftMark
        );
        match tile {
            Tile::BuildRow(_) if first_hit_settles => {
                Rows::from_indices(len, (0..len).filter(|row| !current.matched[*row]))
            }
            Tile::ProbeRow { row, .. } if first_hit_settles && current.matched[row] => {
                Rows::none(len)
            }
            Tile::BuildRow(row)
                if !needs_pairs(self.config.kind)
                    && self.build_matched.get(row).copied().unwrap_or(false) =>
            {
                Rows::none(len)
            }
            _ => Rows::all(len),
        }
    }

    /// Up to a batch of pairs as columns of both sides.
    fn take_pairs(&self, build: &Batch, current: &mut Current) -> Batch {
        let count = current.probe_rows.len().min(self.config.batch_rows);
        let probe_rows: ScalarBuffer<u32> = current.probe_rows.drain(..count).collect();
        let build_rows: ScalarBuffer<u32> = current.build_rows.drain(..count).collect();
        let mut columns = current.probe.wrap(&probe_rows).into_columns();
        columns.extend(build.wrap(&build_rows).into_columns());
        Batch::new(columns, count).project(&self.config.output)
    }

    /// What is left of a batch after all tiles: pairs, then rows by whether they have a match.
    fn put_out_rest(&self, build: &Batch, current: &mut Current) -> Result<Option<Batch>> {
        if !current.probe_rows.is_empty() {
            return Ok(Some(self.take_pairs(build, current)));
        }
        if std::mem::replace(&mut current.rest_done, true) {
            return Ok(None);
        }
        let rows = |wanted: bool| {
            let matched = current.matched.iter().enumerate();
            let rows = matched.filter(|it| *it.1 == wanted).map(|it| it.0);
            Rows::from_indices(current.matched.len(), rows)
        };
        let batch = match self.config.kind {
            JoinKind::Left | JoinKind::Full => {
                let probe = current.probe.select(&rows(false));
                let count = probe.rows();
                let mut columns = probe.into_columns();
                columns.extend(build.columns().iter().map(|it| nulls(it.data_type(), count)));
                Batch::new(columns, count)
            }
            JoinKind::LeftSemi => current.probe.select(&rows(true)),
            JoinKind::LeftAnti => current.probe.select(&rows(false)),
            JoinKind::LeftMark => marked(current),
            JoinKind::Inner | JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti => {
                return Ok(None);
            }
        };
        Ok((batch.rows() > 0).then(|| batch.project(&self.config.output)))
    }

    /// Tells the other drivers which build rows matched; the last one goes on with them.
    fn end_probing(&mut self) -> Phase {
        if !self.config.kind.emits_build_rows() {
            return Phase::Done;
        }
        let mut matched = self.shared.matched.lock().unwrap_or_else(PoisonError::into_inner);
        if matched.is_empty() {
            *matched = std::mem::take(&mut self.build_matched);
        } else {
            matched.iter_mut().zip(&self.build_matched).for_each(|(all, own)| *all |= own);
        }
        let is_last = self.ticket.as_mut().is_some_and(Ticket::arrive);
        if is_last {
            self.build_matched = std::mem::take(&mut matched);
            return Phase::BuildRows(0);
        }
        Phase::Done
    }

    /// Build rows from `start` on that the kind puts out by themselves.
    fn put_out_build_rows(&self, build: &Batch, start: usize) -> Option<Batch> {
        let end = (start + self.config.batch_rows).min(build.rows());
        let wanted = self.config.kind == JoinKind::RightSemi;
        let rows: ScalarBuffer<u32> = (start..end)
            .filter(|row| self.build_matched[*row] == wanted)
            .map(|row| row as u32)
            .collect();
        if rows.is_empty() {
            return None;
        }
        let mut columns = Vec::new();
        if self.config.kind.has_probe_columns() {
            columns.extend(self.config.probe_types.iter().map(|it| nulls(it, rows.len())));
        }
        columns.extend(build.wrap(&rows).into_columns());
        Some(Batch::new(columns, rows.len()).project(&self.config.output))
    }
}

/// Whether matching pairs are put out.
fn needs_pairs(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full)
}

fn nulls(data_type: &Type, rows: usize) -> Vector {
    Vector::nulls(data_type.clone(), rows)
}

/// The probe rows with a column that says whether they have a match.
fn marked(current: &Current) -> Batch {
    let known = current.matched.iter().zip(&current.unknown).map(|(hit, unknown)| *hit || !unknown);
    let nulls = NullBuffer::new(BooleanBuffer::from_iter(known));
    let mark = BooleanBuffer::from_iter(current.matched.iter().copied());
    let mut columns = current.probe.columns().to_vec();
    columns.push(Vector::boolean(mark, Some(nulls)));
    Batch::new(columns, current.probe.rows())
}

impl Operator for NestedLoopProbe {
    fn name(&self) -> &'static str {
        "nested loop join probe"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        let probe = input.loaded()?;
        self.current = Some(Current {
            outer: 0,
            inner: 0,
            matched: vec![false; probe.rows()],
            unknown: vec![false; probe.rows()],
            probe_rows: Vec::new(),
            build_rows: Vec::new(),
            rest_done: false,
            probe,
        });
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        self.phase = Phase::InputDone;
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        if self.build.is_none() {
            let Some(build) = self.shared.build.wait(cx.waker) else {
                return Ok(Step::Blocked(BlockedOn::Build));
            };
            if self.config.kind.emits_build_rows() {
                self.build_matched = vec![false; build.rows()];
            }
            self.build = Some(Arc::clone(build));
        }
        let Some(build) = self.build.clone() else { return Ok(Step::Yield) };
        if let Some(mut current) = self.current.take() {
            let step = self.probe(&build, &mut current)?;
            if let Some(step) = step {
                self.current = Some(current);
                return Ok(step);
            }
        }
        match self.phase {
            Phase::Probe if self.needs_no_probe(&build) => Ok(Step::Finished),
            Phase::Probe => Ok(Step::NeedInput),
            Phase::InputDone => {
                self.phase = self.end_probing();
                Ok(Step::Yield)
            }
            Phase::BuildRows(start) if start < build.rows() => {
                let batch = self.put_out_build_rows(&build, start);
                self.phase = Phase::BuildRows(start + self.config.batch_rows);
                Ok(batch.map_or(Step::Yield, Step::Output))
            }
            Phase::BuildRows(_) | Phase::Done => Ok(Step::Finished),
        }
    }
}

impl NestedLoopProbe {
    /// Whether nothing can come of any probe row.
    fn needs_no_probe(&self, build: &Batch) -> bool {
        let kind = self.config.kind;
        build.rows() == 0
            && matches!(
                kind,
                JoinKind::Inner
                    | JoinKind::LeftSemi
                    | JoinKind::Right
                    | JoinKind::RightSemi
                    | JoinKind::RightAnti
            )
    }
}
