//! The probe side's operator.

use super::{
    Condition, ProbeConfig, Shared,
    blocks::{Block, Blocks},
    condition::Tile,
    lookup::{Candidates, Lookup, asks_for_build_rows},
    nearest::NearestMerge,
};
use std::{
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};
use volley_error::Result;
use volley_exec::{BlockedOn, Operator, OperatorContext, Spill, Step, StepContext};
use volley_memory::Reservation;
use volley_plan::JoinKind;
use volley_state::coalesce::Coalescer;
use volley_vector::{Batch, Rows, ScalarBuffer};

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
    build: Option<Blocks>,
    /// Rows for the next batch to work on, where the build side is on disk.
    waiting: Coalescer,
    current: Option<Current>,
    /// Build rows that this driver matched; empty unless the kind needs them.
    build_matched: Vec<bool>,
    charge: Reservation,
    /// Where nearest rows are looked for in a build side on disk.
    nearest: Option<NearestMerge>,
    cx: OperatorContext,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Probe,
    /// Input has ended; the current batch may not be done.
    InputDone,
    /// Emits build rows, from this one of the block on.
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
    /// Hits that were not emitted.
    probe_rows: Vec<u32>,
    build_rows: Vec<u32>,
    /// Whether rows that depend on all pairs (rows without a match) are emitted.
    rest_done: bool,
    /// Where the build side has an index: what may match.
    candidates: Option<Candidates>,
}

impl NestedLoopProbe {
    pub(super) fn new(
        shared: &Arc<Shared>,
        config: ProbeConfig,
        condition: Option<Condition>,
        cx: &OperatorContext,
    ) -> NestedLoopProbe {
        // Filled where the build side is on disk.
        let waiting =
            Coalescer::new(config.output.probe_types.clone(), config.batch_rows, &cx.pool);
        NestedLoopProbe {
            shared: Arc::clone(shared),
            config,
            condition,
            residual: None,
            covered: 0,
            build: None,
            waiting,
            current: None,
            build_matched: Vec::new(),
            charge: cx.pool.reservation(),
            nearest: None,
            cx: cx.clone(),
            phase: Phase::Probe,
        }
    }

    /// Tests pairs that were looked up by `residual` only.
    pub(super) fn with_residual(self, residual: Option<Condition>) -> NestedLoopProbe {
        NestedLoopProbe { residual, ..self }
    }

    /// Processes the current batch until there is output.
    fn probe(&mut self, build: &mut Blocks, current: &mut Current) -> Result<Option<Step>> {
        let begin = Instant::now();
        if self.nearest.is_some() {
            return self.probe_nearest(build, current);
        }
        let lookup = build.lookup();
        for _ in 0..TILES_PER_STEP {
            let Some(block) = build.block() else {
                return Ok(self.emit_rest(current)?.map(Step::Output));
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

    /// As [`NestedLoopProbe::probe`], where both sides are sorted.
    fn probe_nearest(&mut self, build: &mut Blocks, current: &mut Current) -> Result<Option<Step>> {
        let Some(nearest) = &mut self.nearest else { return Ok(None) };
        let start = nearest.block().map_or(0, |it| it.start);
        let Current { probe, outer, matched, probe_rows, build_rows, .. } = current;
        let needs_pairs = self.config.output.needs_pairs();
        let is_done = nearest.advance(probe, outer, |probe_row, build_row| {
            matched[probe_row as usize] = true;
            if let Some(matched) = self.build_matched.get_mut(start + build_row as usize) {
                *matched = true;
            }
            if needs_pairs {
                probe_rows.push(probe_row);
                build_rows.push(build_row);
            }
        })?;
        // They are of this block.
        if let Some(block) = nearest.block().filter(|_| !probe_rows.is_empty()) {
            let rows = Arc::clone(&block.rows);
            return Ok(Some(Step::Output(self.take_pairs(&rows, current))));
        }
        if is_done {
            return Ok(self.emit_rest(current)?.map(Step::Output));
        }
        nearest.next_block(build)?;
        Ok(Some(Step::Yield))
    }

    /// Whether more build rows cannot change the output of a batch.
    fn is_settled(&self, current: &Current) -> bool {
        self.config.output.first_hit_settles() && current.matched.iter().all(|it| *it)
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
        let Some(mut candidates) = current.candidates.take() else { return Ok(false) };
        let settles = self.config.output.first_hit_settles();
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
        if self.config.output.needs_pairs() {
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
        let (kind, build) = (self.config.output.kind, &*block.rows);
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
        let needs_pairs = self.config.output.needs_pairs();
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
        let first_hit_settles = self.config.output.first_hit_settles();
        match tile {
            Tile::BuildRow(_) if first_hit_settles => {
                Rows::from_indices(len, (0..len).filter(|row| !current.matched[*row]))
            }
            Tile::ProbeRow { row, .. } if first_hit_settles && current.matched[row] => {
                Rows::none(len)
            }
            Tile::BuildRow(row)
                if !self.config.output.needs_pairs()
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
        self.config.output.pairs((&current.probe, &probe_rows), (build, &build_rows))
    }

    /// The output of a batch after all pairs: rows by whether they have a match.
    fn emit_rest(&self, current: &mut Current) -> Result<Option<Batch>> {
        if std::mem::replace(&mut current.rest_done, true) {
            return Ok(None);
        }
        let Current { probe, matched, unknown, .. } = current;
        Ok(self.config.output.probe_rows(probe, matched, Some(unknown)))
    }

    /// Publishes which build rows matched. The last driver emits them, unless a driver has ended
    /// early: then the output is not needed.
    fn end_probing(&mut self) -> Phase {
        if !self.config.output.kind.emits_build_rows() {
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

    /// Build rows of a block, from its row `start` on, that the kind returns by themselves.
    fn emit_build_rows(&self, block: &Block, start: usize) -> Option<Batch> {
        let end = (start + self.config.batch_rows).min(block.rows.rows());
        let matched = |row: usize| self.build_matched[block.start + row];
        self.config.output.build_rows(&block.rows, start..end, matched)
    }
}

impl Operator for NestedLoopProbe {
    fn name(&self) -> &'static str {
        "nested loop join probe"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        if let Some(nearest) = &mut self.nearest {
            return nearest.accept(input);
        }
        let input = input.loaded()?;
        let is_on_disk = self.build.as_ref().is_some_and(Blocks::is_on_disk);
        let probe = if is_on_disk { self.waiting.push(input)? } else { Some(input) };
        probe.map_or(Ok(()), |it| self.begin(it))
    }

    fn finish_input(&mut self) -> Result<()> {
        self.phase = Phase::InputDone;
        if let Some(nearest) = &mut self.nearest {
            return nearest.finish_input();
        }
        let rest = self.waiting.flush()?;
        rest.map_or(Ok(()), |it| self.begin(it))
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        let Some(mut build) = self.build.take() else {
            let Some(side) = self.shared.build.wait(cx.waker) else {
                return Ok(Step::Blocked(BlockedOn::Build));
            };
            if self.config.output.kind.emits_build_rows() {
                self.charge.resize(side.rows())?;
                self.build_matched = vec![false; side.rows()];
            }
            let blocks = Blocks::new(side.clone(), self.config.batch_rows, &self.cx.pool);
            if let Some(asof) = self.config.asof.as_ref().filter(|_| blocks.is_on_disk()) {
                let types = (
                    self.config.output.probe_types.as_slice(),
                    self.config.output.build_types.as_slice(),
                );
                self.nearest = Some(NearestMerge::new(asof, types, &self.cx));
            }
            self.build = Some(blocks);
            return Ok(Step::Yield);
        };
        let step = self.step_over(&mut build);
        self.build = Some(build);
        step
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        self.nearest.as_mut().map(|it| it as &mut dyn Spill)
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
        self.cx.metrics.add(ROWS_LOOKED_UP, probe.rows() as u64);
        let mut candidates = lookup.candidates(probe)?;
        if self.residual.is_none()
            && asks_for_build_rows(self.config.output.kind)
            && lookup.is_nested()
        {
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
                match self.nearest.as_mut().map(NearestMerge::next_probe).transpose()? {
                    Some(Step::Output(probe)) => {
                        self.begin(probe)?;
                        return Ok(Step::Yield);
                    }
                    Some(Step::Yield) => return Ok(Step::Yield),
                    _ => {}
                }
                self.phase = self.end_probing();
                if self.phase != Phase::Done {
                    build.rewind()?;
                }
                Ok(Step::Yield)
            }
            Phase::BuildRows(start) => match build.block() {
                None => Ok(Step::Finished),
                Some(block) if start < block.rows.rows() => {
                    let batch = self.emit_build_rows(block, start);
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
        let kind = self.config.output.kind;
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
