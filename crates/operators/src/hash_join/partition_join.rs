//! The join of one partition on disk.
//!
//! ```text
//! load     build rows, as many as fit, into tables of their own
//! probe    all probe rows of the partition; then build rows without a match, or with one, are
//!          emitted (`probe`)
//! split    instead, when it does not fit: both sides to smaller partitions, by another hash
//! ```
//!
//! A partition that splitting does not make smaller is joined block by block of its build rows,
//! each with all probe rows. Which of these have a match is kept from block to block; only the
//! last block emits those without.

use super::{
    HashJoinSpec,
    build_rows::BuildRows,
    shared::BuildTables,
    spill::{Claimed, SpilledPartition},
};
use std::{sync::Arc, task::Waker};
use volley_error::{Error, ErrorKind, Result};
use volley_exec::{OperatorContext, OperatorMetrics};
use volley_memory::{Pool, Reservation, spill::SpillSpace};
use volley_state::{
    partition::SharedRuns,
    spill::{SpillReader, SpillRun},
};
use volley_vector::Batch;

/// Partitions are split so often at most.
const LEVELS_MAX: u32 = 4;

/// This number of rows is loaded whether they seem to fit or not.
const ROWS_MIN: usize = 4 << 10;

/// What joining takes beside the build rows: two readers, and small tables.
const EXTRA_BYTES: usize = 1 << 20;

/// What every join of a partition uses.
pub(super) struct PartitionContext {
    pub(super) spec: Arc<HashJoinSpec>,
    pub(super) pool: Pool,
    pub(super) space: SpillSpace,
    pub(super) metrics: Arc<OperatorMetrics>,
    pub(super) batch_rows: usize,
    /// This number of build rows is loaded in any case.
    rows_min: usize,
    /// More build rows than this do not fit, whatever there is of memory: for tests.
    rows_max: usize,
}

/// A partition that a driver joins.
pub(super) struct PartitionJoin {
    claimed: Claimed,
    /// The next build rows to load, or the next rows to split.
    reader: SpillReader,
    left_rows: usize,
    phase: Phase,
    /// In blocks, where it counts: which probe rows have a match, or may have one.
    matched: Option<Matched>,
}

enum Phase {
    Load(Load),
    Insert(Arc<BuildTables>),
    Probe(Arc<BuildTables>, SpillReader),
    /// The build rows of a block may be emitted.
    Probed(Arc<BuildTables>),
    Split(Box<Split>),
    Done,
}

struct Load {
    rows: BuildRows,
    /// How many are still to come.
    missing_rows: usize,
    /// Their memory.
    ahead: Reservation,
}

struct Matched {
    flags: Vec<bool>,
    /// Of null-aware joins with correlation: whether the comparison is unknown.
    unknown: Vec<bool>,
    /// The row after the batch that is being probed.
    end: usize,
    _charge: Reservation,
}

struct Split {
    writers: SharedRuns,
    /// The build side, once it is split.
    build: Option<Vec<Option<SpillRun>>>,
}

/// What came of a step.
pub(super) enum PartitionStep {
    Progress,
    /// Rows to look up in the tables.
    Probe(Batch),
    /// All were looked up.
    Probed,
    Done,
}

impl PartitionContext {
    pub(super) fn new(spec: &Arc<HashJoinSpec>, cx: &OperatorContext) -> PartitionContext {
        let (rows_min, rows_max) = match cx.task.spill_always {
            true => (spec.sizes.join_split_rows / 2, spec.sizes.join_split_rows),
            false => (ROWS_MIN, usize::MAX),
        };
        PartitionContext {
            spec: Arc::clone(spec),
            pool: cx.pool.clone(),
            space: cx.task.spill.clone(),
            metrics: Arc::clone(&cx.metrics),
            batch_rows: cx.task.batch_rows,
            rows_min,
            rows_max,
        }
    }

    fn read(&self, run: &SpillRun) -> Result<SpillReader> {
        run.read(&self.pool, self.batch_rows)
    }

    fn writers(&self, is_build: bool, level: u32) -> Result<SharedRuns> {
        let types = match is_build {
            true => self.spec.columns(self.spec.build_keys.len()),
            false => self.spec.stored_probe_types(),
        };
        let writers = SharedRuns::new(
            types,
            (self.spec.sizes.join_partitions, level),
            &self.space,
            &self.pool,
        );
        writers.open_all()?;
        Ok(writers)
    }
}

impl PartitionJoin {
    /// Begins to join a partition; `None` when it does not fit now, but others give memory back,
    /// who will wake the driver.
    ///
    /// # Errors
    ///
    /// Out of memory even for splitting it.
    pub(super) fn new(
        cx: &PartitionContext,
        claimed: Claimed,
        waker: &Waker,
    ) -> Result<Option<PartitionJoin>> {
        let rows = claimed.partition.build.rows();
        let ahead = reserve(cx, rows, claimed.join().row_bytes)?;
        let claimed = match ahead {
            Some(_) => claimed,
            None => match claimed.yield_to_others(waker) {
                Some(claimed) => claimed,
                None => return Ok(None),
            },
        };
        let partition = &claimed.partition;
        let reader = cx.read(&partition.build)?;
        let phase = match ahead {
            None if partition.can_split() => Phase::Split(Box::new(Split::new(cx, partition)?)),
            Some(ahead) => Phase::Load(Load::new(cx, rows, ahead)),
            None => Phase::Load(Load::block(cx, rows, claimed.join().row_bytes)?),
        };
        Ok(Some(PartitionJoin { left_rows: rows, reader, phase, matched: None, claimed }))
    }

    /// The tables that rows are looked up in.
    pub(super) fn tables(&self) -> Option<Arc<BuildTables>> {
        match &self.phase {
            Phase::Probe(tables, _) | Phase::Probed(tables) => Some(Arc::clone(tables)),
            _ => None,
        }
    }

    /// Advances by about one batch. `whole` is the join's whole build side.
    ///
    /// # Errors
    ///
    /// Those of reading and writing runs; out of memory.
    pub(super) fn step(
        &mut self,
        cx: &PartitionContext,
        whole: &BuildTables,
    ) -> Result<PartitionStep> {
        let phase = std::mem::replace(&mut self.phase, Phase::Done);
        self.phase = match phase {
            Phase::Load(load) => self.load(cx, load, whole)?,
            Phase::Insert(tables) => {
                tables.insert_next()?;
                match tables.is_complete() {
                    true => Phase::Probe(tables, cx.read(&self.claimed.partition.probe)?),
                    false => Phase::Insert(tables),
                }
            }
            Phase::Probe(tables, mut reader) => match reader.next()? {
                Some(batch) => {
                    self.phase = Phase::Probe(tables, reader);
                    return Ok(PartitionStep::Probe(cx.spec.restored_probe(batch)));
                }
                None => {
                    self.phase = Phase::Probed(tables);
                    return Ok(PartitionStep::Probed);
                }
            },
            Phase::Probed(_) if self.is_last_block() => return Ok(PartitionStep::Done),
            Phase::Probed(tables) => {
                drop(tables);
                self.rewind();
                Phase::Load(Load::block(cx, self.left_rows, self.claimed.join().row_bytes)?)
            }
            Phase::Split(split) => match split.step(cx, &self.claimed, &mut self.reader)? {
                Some(split) => Phase::Split(split),
                None => return Ok(PartitionStep::Done),
            },
            Phase::Done => return Ok(PartitionStep::Done),
        };
        Ok(PartitionStep::Progress)
    }

    fn load(
        &mut self,
        cx: &PartitionContext,
        mut load: Load,
        whole: &BuildTables,
    ) -> Result<Phase> {
        if load.missing_rows > 0
            && let Some(batch) = self.reader.next()?
        {
            match load.rows.append(batch.columns(), batch.rows()) {
                // Its rows are longer than those of others.
                Err(error) if self.is_oversized(&error) => {
                    drop(load);
                    self.reader = cx.read(&self.claimed.partition.build)?;
                    return Ok(Phase::Split(Box::new(Split::new(cx, &self.claimed.partition)?)));
                }
                other => other?,
            }
            self.left_rows = self.left_rows.saturating_sub(batch.rows());
            load.missing_rows = load.missing_rows.saturating_sub(batch.rows());
            let ahead = load.missing_rows.saturating_mul(self.claimed.join().row_bytes);
            load.ahead.shrink(load.ahead.bytes().saturating_sub(ahead));
            return Ok(Phase::Load(load));
        }
        if load.missing_rows > 0 {
            self.left_rows = 0;
        }
        load.ahead.clear();
        if !self.is_last_block() && self.matched.is_none() && cx.spec.tracks_matches() {
            self.matched = Some(Matched::new(cx, self.claimed.partition.probe.rows())?);
        }
        let tables = BuildTables::of_rows(&cx.spec, vec![load.rows], &[], &cx.pool)?;
        let (is_empty, has_null) = (whole.is_empty, whole.has_null);
        Ok(Phase::Insert(Arc::new(BuildTables { is_empty, has_null, ..tables })))
    }

    /// Whether an error tells that the partition is to be split after all.
    fn is_oversized(&self, error: &Error) -> bool {
        let is_whole = self.matched.is_none() && self.claimed.partition.can_split();
        error.kind() == ErrorKind::OutOfMemory && is_whole
    }

    /// Whether no build rows come after those that are being joined.
    pub(super) fn is_last_block(&self) -> bool {
        self.left_rows == 0
    }

    /// Sets the flags of the probe rows of a batch that have a match in blocks before; and of those
    /// whose comparison is unknown, where that counts.
    pub(super) fn load_matched(&mut self, batch: &mut [bool], unknown: &mut Vec<bool>) {
        if let Some(it) = &mut self.matched {
            let start = it.end;
            it.end += batch.len();
            batch.copy_from_slice(&it.flags[start..it.end]);
            unknown.extend(it.unknown.get(start..it.end).into_iter().flatten());
        }
    }

    /// Keeps the flags of a batch whose rows have all been looked up; `unknown` has none where it
    /// does not count.
    pub(super) fn keep_matched(&mut self, batch: &[bool], unknown: &[bool]) {
        if let Some(it) = &mut self.matched {
            let rows = it.end - batch.len()..it.end;
            if !it.unknown.is_empty() {
                it.unknown[rows.clone()].copy_from_slice(unknown);
            }
            it.flags[rows].copy_from_slice(batch);
        }
    }

    fn rewind(&mut self) {
        if let Some(it) = &mut self.matched {
            it.end = 0;
        }
    }
}

impl SpilledPartition {
    /// Whether smaller partitions can be made of it.
    fn can_split(&self) -> bool {
        !self.is_skewed && self.level < LEVELS_MAX
    }
}

impl Load {
    fn new(cx: &PartitionContext, missing_rows: usize, ahead: Reservation) -> Load {
        Load { rows: BuildRows::new(&cx.spec, &cx.pool), missing_rows, ahead }
    }

    /// Of as many of `rows` rows as fit.
    fn block(cx: &PartitionContext, rows: usize, row_bytes: usize) -> Result<Load> {
        let mut block_rows = rows;
        while block_rows > cx.rows_min {
            if let Some(ahead) = reserve(cx, block_rows, row_bytes)? {
                return Ok(Load::new(cx, block_rows, ahead));
            }
            block_rows /= 2;
        }
        Ok(Load::new(cx, block_rows, cx.pool.reserve_ahead()))
    }
}

impl Matched {
    fn new(cx: &PartitionContext, rows: usize) -> Result<Matched> {
        let unknown_rows = if cx.spec.has_correlation() { rows } else { 0 };
        let mut charge = cx.pool.reservation();
        charge.resize(rows.saturating_add(unknown_rows))?;
        let (flags, unknown) = (vec![false; rows], vec![false; unknown_rows]);
        Ok(Matched { flags, unknown, end: 0, _charge: charge })
    }
}

impl Split {
    fn new(cx: &PartitionContext, partition: &SpilledPartition) -> Result<Split> {
        let writers = cx.writers(true, partition.level + 1)?;
        Ok(Split { writers, build: None })
    }

    /// Writes a batch to smaller partitions; adds these once all are written.
    fn step(
        mut self: Box<Self>,
        cx: &PartitionContext,
        claimed: &Claimed,
        reader: &mut SpillReader,
    ) -> Result<Option<Box<Self>>> {
        let spec = &cx.spec;
        if let Some(batch) = reader.next()? {
            let others = match self.build {
                None => self.writers.write(&batch, &batch.columns()[..spec.partition_keys()])?,
                Some(_) => {
                    let keys = spec.probe_partition_keys(&spec.restored_probe(batch.clone()))?;
                    self.writers.write(&batch, &keys)?
                }
            };
            debug_assert!(others.is_none(), "all partitions are on disk");
            return Ok(Some(self));
        }
        let runs = self.writers.finish()?;
        cx.metrics.add_runs(runs.iter().flatten());
        let level = claimed.partition.level + 1;
        let Some(build) = self.build.take() else {
            self.build = Some(runs);
            *reader = cx.read(&claimed.partition.probe)?;
            self.writers = cx.writers(false, level)?;
            return Ok(Some(self));
        };
        claimed.add(SpilledPartition::zip(build, runs, 0, level));
        Ok(None)
    }
}

/// Memory for `rows` build rows; `None` when they do not fit.
fn reserve(cx: &PartitionContext, rows: usize, row_bytes: usize) -> Result<Option<Reservation>> {
    let mut ahead = cx.pool.reserve_ahead();
    if rows <= cx.rows_min {
        return Ok(Some(ahead));
    }
    if rows > cx.rows_max {
        return Ok(None);
    }
    let bytes = rows.saturating_mul(row_bytes);
    // Joining takes more than the rows.
    match ahead.resize(bytes.saturating_add(bytes / 4).saturating_add(EXTRA_BYTES)) {
        // The output, and the rest of the query, need memory, too.
        Ok(()) if cx.pool.is_scarce() => Ok(None),
        Ok(()) => {
            ahead.resize(bytes)?;
            Ok(Some(ahead))
        }
        Err(error) if error.kind() == ErrorKind::OutOfMemory => Ok(None),
        Err(error) => Err(error),
    }
}
