//! How far a task is, and how long it will take.
//!
//! A pipeline that scans is as far as its splits are read. Another one is as far as its source has
//! emitted of the rows that an earlier pipeline gave to the same plan node. A pipeline costs what
//! it took so far divided by how far it is; one that has not begun costs what others took per split
//! or row. The task has done the share of all costs that was spent.

#[cfg(test)]
mod tests;

use crate::{SPLITS_DONE, SPLITS_TOTAL, statistics::OperatorRecord, timeline::TimelineRecorder};
use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use volley_plan::PlanNodeId;

/// A pipeline that is less far says nothing about its cost.
const KNOWN_SHARE: f64 = 0.02;

/// A task that is less far says nothing about its remaining time.
const ESTIMATED_SHARE: f64 = 0.01;

/// What a row that a breaker kept costs in the pipeline that emits it, relative to what it cost to
/// make: most breakers emit fewer rows, or cheaper ones.
const EMIT_SHARE: f64 = 0.1;

/// How far a task is.
#[derive(Clone, Debug, Default)]
pub struct TaskProgress {
    /// The share that is done, from 0 to 1. Never less than what an earlier call answered.
    pub done: f64,
    /// Time since the start.
    pub elapsed: Duration,
    /// The estimated time until the end; `None` when too little is done.
    pub remaining: Option<Duration>,
    /// Rows that scans have emitted.
    pub rows: u64,
    /// Bytes that scans have read.
    pub bytes: u64,
    /// In the order in which they were lowered, which is about the order in which they run.
    pub pipelines: Vec<PipelineProgress>,
}

/// How far a pipeline is.
#[derive(Clone, Debug)]
pub struct PipelineProgress {
    /// The name of its source, such as `table scan`.
    pub source: &'static str,
    /// The plan node of the source.
    pub node: PlanNodeId,
    /// Whether it has begun or ended.
    pub stage: Stage,
    /// The share that is done, from 0 to 1.
    pub done: f64,
    /// Rows that the source has emitted.
    pub rows: u64,
    /// Bytes that the source has read.
    pub bytes: u64,
}

/// Where in its life a pipeline is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// No driver has taken a step.
    Waiting,
    /// Some driver has.
    Running,
    /// All drivers have ended.
    Done,
}

/// Answers how far a task is, from any thread. Does not keep the task alive.
#[derive(Clone, Debug, Default)]
pub struct TaskMonitor(Weak<TaskRecords>);

/// What a task knows of its operators and drivers.
#[derive(Debug)]
pub(crate) struct TaskRecords {
    pub(crate) operators: Vec<OperatorRecord>,
    pub(crate) timeline: Arc<TimelineRecorder>,
    /// The bits of the largest share that was answered: positive numbers compare as their bits.
    highest: AtomicU64,
}

/// What is known of one pipeline.
#[derive(Clone, Debug, Default)]
struct Figures {
    source: Option<(&'static str, PlanNodeId)>,
    /// Splits read, and all of them, when the source is a scan.
    splits: Option<(u64, u64)>,
    /// Rows that the source has emitted.
    rows: u64,
    bytes: u64,
    /// Rows that earlier pipelines gave to the node of the source.
    rows_kept: u64,
    /// The share of the work of those pipelines that is not done: of a queue, more rows will come.
    missing_before: f64,
    busy: Duration,
    has_begun: bool,
    has_ended: bool,
}

impl TaskMonitor {
    pub(crate) fn new(records: &Arc<TaskRecords>) -> TaskMonitor {
        TaskMonitor(Arc::downgrade(records))
    }

    /// How far the task is; `None` once it was dropped.
    pub fn progress(&self) -> Option<TaskProgress> {
        self.0.upgrade().map(|it| it.progress())
    }

    /// Whether the task was dropped.
    pub fn is_dead(&self) -> bool {
        self.0.strong_count() == 0
    }
}

impl TaskRecords {
    pub(crate) fn new(
        operators: Vec<OperatorRecord>,
        timeline: Arc<TimelineRecorder>,
    ) -> TaskRecords {
        TaskRecords { operators, timeline, highest: AtomicU64::new(0) }
    }

    /// How far the task is.
    pub(crate) fn progress(&self) -> TaskProgress {
        let figures = self.figures();
        let share = share_done(&figures).clamp(0.0, 1.0);
        let before = self.highest.fetch_max(share.to_bits(), Ordering::Relaxed);
        let done = share.max(f64::from_bits(before));
        let elapsed = self.timeline.elapsed();
        let remaining = (done >= ESTIMATED_SHARE).then(|| elapsed.mul_f64((1.0 - done) / done));
        let scans = figures.iter().filter(|it| it.splits.is_some());
        let (rows, bytes) =
            scans.fold((0, 0), |(rows, bytes), it| (rows + it.rows, bytes + it.bytes));
        let pipelines = figures.iter().filter_map(Figures::progress).collect();
        TaskProgress { done, elapsed, remaining, rows, bytes, pipelines }
    }

    fn figures(&self) -> Vec<Figures> {
        let count = self.operators.iter().map(|it| it.pipeline + 1).max().unwrap_or(0);
        let mut figures = vec![Figures::default(); count];
        for record in &self.operators {
            let counts = record.metrics.counts();
            let named =
                |name: &str| counts.named.iter().find(|it| it.0 == name).map_or(0, |it| it.1);
            let own = &mut figures[record.pipeline];
            own.busy += counts.busy;
            if record.position > 0 {
                continue;
            }
            own.source = Some((record.name, record.node));
            own.rows += counts.rows_out;
            own.bytes += named("bytes read");
            let is_scan = counts.named.iter().any(|it| it.0 == SPLITS_TOTAL);
            if is_scan || own.splits.is_some() {
                let (done, all) = own.splits.unwrap_or_default();
                own.splits = Some((done + named(SPLITS_DONE), all + named(SPLITS_TOTAL)));
            }
        }
        for pipeline in 0..figures.len() {
            let (drivers, begun, ended) = self.timeline.drivers_of(pipeline);
            let before = self.before(pipeline, figures[pipeline].source.map(|it| it.1));
            let missing = before.iter().map(|it| 1.0 - figures[it.pipeline].share_done());
            let missing_before = missing.fold(0.0, f64::max);
            let own = &mut figures[pipeline];
            own.has_begun = begun > 0;
            own.has_ended = ended == drivers;
            own.rows_kept = before.iter().map(|it| it.metrics.counts().rows_in).sum();
            own.missing_before = missing_before;
        }
        figures
    }

    /// The operators of earlier pipelines that gave rows to a node.
    fn before(&self, pipeline: usize, node: Option<PlanNodeId>) -> Vec<&OperatorRecord> {
        let gives = |it: &&OperatorRecord| {
            Some(it.node) == node && it.pipeline < pipeline && it.position > 0
        };
        self.operators.iter().filter(gives).collect()
    }
}

impl Figures {
    fn progress(&self) -> Option<PipelineProgress> {
        let (source, node) = self.source?;
        let stage = match (self.has_begun, self.has_ended) {
            (_, true) => Stage::Done,
            (true, false) => Stage::Running,
            (false, false) => Stage::Waiting,
        };
        let done = self.share_done();
        Some(PipelineProgress { source, node, stage, done, rows: self.rows, bytes: self.bytes })
    }

    fn share_done(&self) -> f64 {
        if self.has_ended {
            return 1.0;
        }
        let (done, all) = self.splits.unwrap_or((self.rows, self.rows_kept));
        // A split that is read now is not done.
        let share = if all == 0 { 0.0 } else { (done as f64 / all as f64).min(0.99) };
        share * (1.0 - self.missing_before)
    }

    /// What it has to do, in splits or rows.
    fn size(&self) -> f64 {
        self.splits.map_or(self.rows_kept as f64, |it| it.1 as f64)
    }
}

/// The share of all costs that was spent.
fn share_done(figures: &[Figures]) -> f64 {
    if figures.iter().all(|it| it.has_ended) {
        return 1.0;
    }
    let spent: f64 = figures.iter().map(|it| it.busy.as_secs_f64()).sum();
    let per_split = cost_per_unit(figures.iter().filter(|it| it.splits.is_some()));
    let rows = figures.iter().filter(|it| it.splits.is_some()).map(|it| it.rows).sum::<u64>();
    let per_row = if rows == 0 { 0.0 } else { spent / rows as f64 * EMIT_SHARE };
    let is_unknown = |it: &Figures| !it.has_ended && it.splits.is_some_and(|it| it.1 > 0);
    if per_split == 0.0 && figures.iter().any(is_unknown) {
        // No scan is far enough to say what a split costs.
        return 0.0;
    }
    let open = figures.iter().filter(|it| !it.has_ended);
    let remaining: f64 = open
        .map(|it| {
            let (busy, share) = (it.busy.as_secs_f64(), it.share_done());
            if share >= KNOWN_SHARE {
                return busy / share * (1.0 - share);
            }
            let per_unit = if it.splits.is_some() { per_split } else { per_row };
            (per_unit * it.size() - busy).max(busy)
        })
        .sum();
    if spent + remaining > 0.0 { spent / (spent + remaining) } else { 0.0 }
}

/// What a unit cost in the pipelines that are far enough to tell.
fn cost_per_unit<'f>(figures: impl Iterator<Item = &'f Figures>) -> f64 {
    let known = figures.filter(|it| it.share_done() >= KNOWN_SHARE);
    let (busy, units) = known.fold((0.0, 0.0), |(busy, units), it| {
        (busy + it.busy.as_secs_f64(), units + it.share_done() * it.size())
    });
    if units > 0.0 { busy / units } else { 0.0 }
}
