//! The probe side's operator.

use super::{
    Condition, ProbeConfig, Shared,
    blocks::{Block, Blocks},
    condition::Tile,
    lookup::{Candidates, Lookup, asks_for_build_rows},
};
use crate::{BlockedOn, Operator, OperatorMetrics, Step, StepContext, coalesce::Coalescer};
use std::{
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};
use volley_error::Result;
use volley_memory::{Pool, Reservation};
use volley_plan::JoinKind;
use volley_types::Type;
use volley_vector::{Batch, BooleanBuffer, NullBuffer, Rows, ScalarBuffer, Vector};

/// The counter of probe rows whose build rows were looked up.
const ROWS_LOOKED_UP: &str = "rows looked up";

/// Tiles evaluated in one step.
const TILES_PER_STEP: usize = 32;

/// A step returns soon after this time, however costly the condition is.
const STEP_TIME: Duration = Duration::from_millis(5);

/// Probes every input batch against the whole build side.
pub(super) struct NestedLoopProbe {
    shared: Arc<Shared>,
    config: ProbeConfig,
    condition: Option<Condition>,
    /// What is left of it for pairs that were looked up.
    residual: Option<Condition>,
    /// Places that were candidates before, where that is enough.
    covered: usize,
    metrics: Arc<OperatorMetrics>,
    build: Option<Blocks>,
    /// Rows for the next batch to work on, where the build side is on disk.
    waiting: Coalescer,
    current: Option<Current>,
    /// Build rows that this driver matched; empty unless the kind needs them.
    build_matched: Vec<bool>,
    charge: Reservation,
    pool: Pool,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Probe,
    /// Input has ended; the current batch may not be done.
    InputDone,
    /// Puts out build rows, from this one of the block on.
    BuildRows(usize),
    Done,
}

/// An input batch in work.
struct Current {
    probe: Batch,
    /// The next tile of a block: which build row, or which probe row and where in the block.
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
    /// Where the build side has an index: what may match.
    candidates: Option<Candidates>,
}

impl NestedLoopProbe {
    pub(super) fn new(
        shared: &Arc<Shared>,
        config: ProbeConfig,
        condition: Option<Condition>,
        pool: &Pool,
    ) -> NestedLoopProbe {
        // Filled where the build side is on disk.
        let waiting = Coalescer::new(config.probe_types.clone(), config.batch_rows, pool);
        NestedLoopProbe {
            shared: Arc::clone(shared),
            config,
            condition,
            residual: None,
            covered: 0,
            metrics: Arc::default(),
            build: None,
            waiting,
            current: None,
            build_matched: Vec::new(),
            charge: pool.reservation(),
            pool: pool.clone(),
            phase: Phase::Probe,
        }
    }

    /// Tests pairs that were looked up by `residual` only, and counts probe rows in `metrics`.
    pub(super) fn with_residual(
        self,
        residual: Option<Condition>,
        metrics: &Arc<OperatorMetrics>,
    ) -> NestedLoopProbe {
        NestedLoopProbe { residual, metrics: Arc::clone(metrics), ..self }
    }

    /// Works on the current batch until there is something to put out.
    fn probe(&mut self, build: &mut Blocks, current: &mut Current) -> Result<Option<Step>> {
        let begin = Instant::now();
        let lookup = build.lookup();
        for _ in 0..TILES_PER_STEP {
            let Some(block) = build.block() else {
                return Ok(self.put_out_rest(current)?.map(Step::Output));
            };
            if current.probe_rows.len() >= self.config.batch_rows {
                return Ok(Some(Step::Output(self.take_pairs(&block.rows, current))));
            }
            match self.match_next(lookup.as_deref(), block, current)? {
                true => {}
                // They are of this block.
                false if !current.probe_rows.is_empty() => {
                    return Ok(Some(Step::Output(self.take_pairs(&block.rows, current))));
                }
                false => {
                    (current.outer, current.inner) = (0, 0);
                    match self.is_settled(current) {
                        true => build.stop(),
                        false => build.advance()?,
                    }
                }
            }
            if begin.elapsed() >= STEP_TIME {
                break;
            }
        }
        Ok(Some(Step::Yield))
    }

    /// Whether more build rows cannot change what is put out of a batch.
    fn is_settled(&self, current: &Current) -> bool {
        first_hit_settles(self.config.kind) && current.matched.iter().all(|it| *it)
    }

    /// Looks at the next pairs of a block; false when there are none left.
    fn match_next(
        &mut self,
        lookup: Option<&Lookup>,
        block: &Block,
        current: &mut Current,
    ) -> Result<bool> {
        if let Some(lookup) = lookup {
            return self.match_candidates(lookup, block, current);
        }
        match self.next_tile(&block.rows, current) {
            Some(tile) => self.match_tile(tile, block, current).map(|()| true),
            None => Ok(false),
        }
    }

    /// As [`NestedLoopProbe::match_tile`], for pairs that were looked up.
    fn match_candidates(
        &mut self,
        lookup: &Lookup,
        block: &Block,
        current: &mut Current,
    ) -> Result<bool> {
        let kind = self.config.kind;
        let Some(mut candidates) = current.candidates.take() else { return Ok(false) };
        let settles = first_hit_settles(kind);
        let settled: &[bool] = if settles { &current.matched } else { &[] };
        let is_enough = settles && self.residual.is_none();
        let (mut probe_rows, mut build_rows) = (Vec::new(), Vec::new());
        let pairs = (&mut probe_rows, &mut build_rows);
        let limit = self.config.batch_rows;
        let has_more = lookup.next_pairs(&mut candidates, limit, is_enough, settled, pairs);
        current.candidates = has_more.then_some(candidates);
        if let Some(residual) = &mut self.residual
            && !probe_rows.is_empty()
        {
            let pairs = (probe_rows.as_slice(), build_rows.as_slice());
            let hits = residual.select_pairs(pairs, &current.probe, &block.rows)?.to_indices();
            let kept = |rows: &[u32]| hits.iter().map(|it| rows[*it as usize]).collect();
            (probe_rows, build_rows) = (kept(&probe_rows), kept(&build_rows));
        }
        probe_rows.iter().for_each(|it| current.matched[*it as usize] = true);
        if !self.build_matched.is_empty() {
            build_rows.iter().for_each(|it| self.build_matched[*it as usize] = true);
        }
        if needs_pairs(kind) {
            current.probe_rows.append(&mut probe_rows);
            current.build_rows.append(&mut build_rows);
        }
        Ok(has_more)
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
    fn match_tile(&mut self, tile: Tile, block: &Block, current: &mut Current) -> Result<()> {
        let (kind, build) = (self.config.kind, &*block.rows);
        let active = self.active(tile, block.start, current);
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
            if let Some(matched) = self.build_matched.get_mut(block.start + build_row as usize) {
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
    fn active(&self, tile: Tile, block_start: usize, current: &Current) -> Rows {
        let len = tile.len(current.probe.rows());
        let first_hit_settles = first_hit_settles(self.config.kind);
        match tile {
            Tile::BuildRow(_) if first_hit_settles => {
                Rows::from_indices(len, (0..len).filter(|row| !current.matched[*row]))
            }
            Tile::ProbeRow { row, .. } if first_hit_settles && current.matched[row] => {
                Rows::none(len)
            }
            Tile::BuildRow(row)
                if !needs_pairs(self.config.kind)
                    && self.build_matched.get(block_start + row).copied().unwrap_or(false) =>
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

    /// What is put out of a batch after all pairs: rows by whether they have a match.
    fn put_out_rest(&self, current: &mut Current) -> Result<Option<Batch>> {
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
                columns.extend(self.config.build_types.iter().map(|it| nulls(it, count)));
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

    /// Tells the other drivers which build rows matched; the last one goes on with them, unless a
    /// driver has ended early: then nobody needs what would come.
    fn end_probing(&mut self) -> Phase {
        if !self.config.kind.emits_build_rows() {
            return Phase::Done;
        }
        let mut all = self.shared.matched.lock().unwrap_or_else(PoisonError::into_inner);
        all.drivers += 1;
        if all.rows.is_empty() {
            all.rows = std::mem::take(&mut self.build_matched);
        } else {
            all.rows.iter_mut().zip(&self.build_matched).for_each(|(all, own)| *all |= own);
        }
        if all.drivers < self.config.drivers {
            return Phase::Done;
        }
        self.build_matched = std::mem::take(&mut all.rows);
        Phase::BuildRows(0)
    }

    /// Build rows of a block, from its row `start` on, that the kind puts out by themselves.
    fn put_out_build_rows(&self, block: &Block, start: usize) -> Option<Batch> {
        let build = &block.rows;
        let end = (start + self.config.batch_rows).min(build.rows());
        let wanted = self.config.kind == JoinKind::RightSemi;
        let rows: ScalarBuffer<u32> = (start..end)
            .filter(|row| self.build_matched[block.start + *row] == wanted)
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

/// Whether all that counts of a probe row is whether it has a match.
fn first_hit_settles(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::LeftMark)
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
        let input = input.loaded()?;
        let is_on_disk = self.build.as_ref().is_some_and(Blocks::is_on_disk);
        let probe = if is_on_disk { self.waiting.push(input)? } else { Some(input) };
        probe.map_or(Ok(()), |it| self.begin(it))
    }

    fn finish_input(&mut self) -> Result<()> {
        self.phase = Phase::InputDone;
        let rest = self.waiting.flush()?;
        rest.map_or(Ok(()), |it| self.begin(it))
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        let Some(mut build) = self.build.take() else {
            let Some(side) = self.shared.build.wait(cx.waker) else {
                return Ok(Step::Blocked(BlockedOn::Build));
            };
            if self.config.kind.emits_build_rows() {
                self.charge.resize(side.rows())?;
                self.build_matched = vec![false; side.rows()];
            }
            self.build = Some(Blocks::new(side.clone(), self.config.batch_rows, &self.pool));
            return Ok(Step::Yield);
        };
        let step = self.step_over(&mut build);
        self.build = Some(build);
        step
    }
}

impl NestedLoopProbe {
    /// Begins to work on a batch.
    fn begin(&mut self, probe: Batch) -> Result<()> {
        self.build.as_mut().map_or(Ok(()), Blocks::rewind)?;
        let candidates = match self.build.as_ref().and_then(Blocks::lookup) {
            Some(lookup) => Some(self.look_up(&lookup, &probe)?),
            None => None,
        };
        self.current = Some(Current {
            outer: 0,
            inner: 0,
            matched: vec![false; probe.rows()],
            unknown: vec![false; probe.rows()],
            probe_rows: Vec::new(),
            build_rows: Vec::new(),
            rest_done: false,
            candidates,
            probe,
        });
        Ok(())
    }

    fn look_up(&mut self, lookup: &Lookup, probe: &Batch) -> Result<Candidates> {
        self.metrics.add(ROWS_LOOKED_UP, probe.rows() as u64);
        let mut candidates = lookup.candidates(probe)?;
        if self.residual.is_none() && asks_for_build_rows(self.config.kind) && lookup.is_nested() {
            lookup.uncover(&mut candidates, &mut self.covered);
        }
        Ok(candidates)
    }

    fn step_over(&mut self, build: &mut Blocks) -> Result<Step> {
        if let Some(mut current) = self.current.take() {
            let step = self.probe(build, &mut current)?;
            if let Some(step) = step {
                self.current = Some(current);
                return Ok(step);
            }
        }
        match self.phase {
            Phase::Probe if self.needs_no_probe(build) => Ok(Step::Finished),
            Phase::Probe => Ok(Step::NeedInput),
            Phase::InputDone => {
                self.phase = self.end_probing();
                if self.phase != Phase::Done {
                    build.rewind()?;
                }
                Ok(Step::Yield)
            }
            Phase::BuildRows(start) => match build.block() {
                None => Ok(Step::Finished),
                Some(block) if start < block.rows.rows() => {
                    let batch = self.put_out_build_rows(block, start);
                    self.phase = Phase::BuildRows(start + self.config.batch_rows);
                    Ok(batch.map_or(Step::Yield, Step::Output))
                }
                Some(_) => {
                    self.phase = Phase::BuildRows(0);
                    build.advance()?;
                    Ok(Step::Yield)
                }
            },
            Phase::Done => Ok(Step::Finished),
        }
    }

    /// Whether nothing can come of any probe row.
    fn needs_no_probe(&self, build: &Blocks) -> bool {
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
