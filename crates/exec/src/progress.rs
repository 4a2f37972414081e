//! How far a task is, and how long it will take.
//!
//! Counters of operators tell what was done, the planner's estimates and costs per row what is left
//! ([`forecast`]). All of it happens when progress is asked for: drivers only count.

mod cost;
mod forecast;
#[cfg(test)]
mod tests;

pub use cost::{Emits, OperatorCost};

use crate::{
    LoweringRegistry, SPLITS_TOTAL, statistics::OperatorRecord, timeline::TimelineRecorder,
};
use cost::CONNECTIONS;
use forecast::forecast;
use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use volley_plan::{PlanNode, PlanNodeId};

/// How far a task is.
#[derive(Clone, Debug, Default)]
pub struct TaskProgress {
    /// The share of the time that is done, from 0 to 1. Never less than what an earlier call
    /// answered.
    pub done: f64,
    /// Time since the start.
    pub elapsed: Duration,
    /// The estimated time until the end; `None` before any work was done. Later answers correct
    /// earlier ones, in either direction.
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
    /// The share of the work that is done, from 0 to 1. Never less than what an earlier call
    /// answered.
    pub done: f64,
    /// Rows that the source has emitted.
    pub rows: u64,
    /// Bytes that the source has read.
    pub bytes: u64,
    /// How many drivers it has.
    pub drivers: usize,
    /// Bytes of its splits that are read, and of all of them; `None` of a source without splits.
    pub split_bytes: Option<(u64, u64)>,
    /// Source first, sink last.
    pub operators: Vec<OperatorProgress>,
}

/// What an operator has done, all drivers together.
#[derive(Clone, Debug)]
pub struct OperatorProgress {
    /// Such as `hash join probe`.
    pub name: &'static str,
    /// Its plan node.
    pub node: PlanNodeId,
    /// Rows taken.
    pub rows_in: u64,
    /// Rows emitted.
    pub rows_out: u64,
    /// Time on threads.
    pub busy: Duration,
    /// How many rows the planner expects of the plan node; `None` when it told nothing.
    pub expected_rows: Option<f64>,
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
    plan: Arc<PlanNode>,
    lowerings: Arc<LoweringRegistry>,
    /// How many rows plan nodes are expected to make.
    expected: OnceLock<HashMap<PlanNodeId, f64>>,
    /// How many columns plan nodes have, or their inputs where these have more.
    columns: OnceLock<HashMap<PlanNodeId, usize>>,
    /// The largest shares that were answered, as bits: positive numbers compare as their bits.
    highest: AtomicU64,
    /// As `highest`, per pipeline.
    highest_of: Vec<AtomicU64>,
}

/// What is known of one pipeline.
#[derive(Clone, Debug, Default)]
struct Figures {
    /// Bytes of splits read, and of all of them, when the source is a scan.
    splits: Option<(u64, u64)>,
    bytes: u64,
    drivers: usize,
    has_begun: bool,
    has_ended: bool,
    /// Source first, sink last.
    operators: Vec<OperatorFigures>,
}

/// What is known of the operators at one position, all drivers together.
#[derive(Clone, Debug)]
struct OperatorFigures {
    name: &'static str,
    node: PlanNodeId,
    rows_in: u64,
    rows_out: u64,
    busy: Duration,
    expected_rows: Option<f64>,
    columns: usize,
    cost: OperatorCost,
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
        plan: Arc<PlanNode>,
        lowerings: Arc<LoweringRegistry>,
    ) -> TaskRecords {
        let pipelines = operators.iter().map(|it| it.pipeline + 1).max().unwrap_or(0);
        TaskRecords {
            operators,
            timeline,
            plan,
            lowerings,
            expected: OnceLock::new(),
            columns: OnceLock::new(),
            highest: AtomicU64::new(0),
            highest_of: (0..pipelines).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Tells how many rows plan nodes are expected to make.
    pub(crate) fn expect_rows(&self, rows: &[(PlanNodeId, f64)]) {
        self.expected.get_or_init(|| rows.iter().copied().collect());
    }

    /// How far the task is.
    pub(crate) fn progress(&self) -> TaskProgress {
        let figures = self.figures();
        let elapsed = self.timeline.elapsed();
        let seconds = elapsed.as_secs_f64();
        let forecast = forecast(&figures, seconds);
        let has_ended = figures.iter().all(|it| it.has_ended);
        let remaining =
            if has_ended { Some(0.0) } else { forecast.as_ref().map(|it| it.remaining) };
        let share = match remaining {
            _ if has_ended => 1.0,
            Some(remaining) if seconds > 0.0 => seconds / (seconds + remaining),
            _ => 0.0,
        };
        let scans = figures.iter().filter(|it| it.splits.is_some());
        let (rows, bytes) =
            scans.fold((0, 0), |(rows, bytes), it| (rows + it.source_rows(), bytes + it.bytes));
        let shares = forecast.map(|it| it.done).unwrap_or_default();
        let pipelines = figures.into_iter().enumerate().filter_map(|(index, it)| {
            let share = if it.has_ended { 1.0 } else { shares.get(index).copied().unwrap_or(0.0) };
            it.progress(highest(self.highest_of.get(index)?, share))
        });
        TaskProgress {
            done: highest(&self.highest, share),
            elapsed,
            remaining: remaining.and_then(|it| Duration::try_from_secs_f64(it).ok()),
            rows,
            bytes,
            pipelines: pipelines.collect(),
        }
    }

    fn figures(&self) -> Vec<Figures> {
        let mut figures = vec![Figures::default(); self.highest_of.len()];
        for record in &self.operators {
            let Some(own) = figures.get_mut(record.pipeline) else { continue };
            let counts = record.metrics.counts();
            match own.operators.get_mut(record.position) {
                Some(found) => {
                    found.rows_in += counts.rows_in;
                    found.rows_out += counts.rows_out;
                    found.busy += counts.busy;
                }
                None => own.operators.push(OperatorFigures {
                    name: record.name,
                    node: record.node,
                    rows_in: counts.rows_in,
                    rows_out: counts.rows_out,
                    busy: counts.busy,
                    expected_rows: self.expected.get().and_then(|it| it.get(&record.node)).copied(),
                    columns: self.columns().get(&record.node).copied().unwrap_or(1),
                    cost: self.cost(record.name),
                }),
            }
            if record.position > 0 {
                continue;
            }
            own.bytes += counts.named("bytes read");
            let is_scan = counts.named.iter().any(|it| it.0 == SPLITS_TOTAL);
            if is_scan || own.splits.is_some() {
                let (done, all) = own.splits.unwrap_or_default();
                let (scanned, size) = record.metrics.scanned();
                own.splits = Some((done + scanned, all + size));
            }
        }
        for (pipeline, own) in figures.iter_mut().enumerate() {
            let (drivers, begun, ended) = self.timeline.drivers_of(pipeline);
            (own.drivers, own.has_begun, own.has_ended) = (drivers, begun > 0, ended == drivers);
        }
        figures
    }

    fn cost(&self, name: &str) -> OperatorCost {
        let own = CONNECTIONS.iter().find(|it| it.0 == name).map(|it| it.1);
        own.or_else(|| self.lowerings.cost(name)).unwrap_or(OperatorCost::UNKNOWN)
    }

    fn columns(&self) -> &HashMap<PlanNodeId, usize> {
        self.columns.get_or_init(|| {
            let width = |node: &PlanNode| {
                let inputs = node.inputs().into_iter().map(|it| it.schema().len());
                inputs.fold(node.schema().len(), usize::max)
            };
            self.plan.walk().into_iter().map(|it| (it.node.id(), width(it.node))).collect()
        })
    }
}

/// The larger one of a share and of all that were told before.
fn highest(before: &AtomicU64, share: f64) -> f64 {
    let share = share.clamp(0.0, 1.0);
    share.max(f64::from_bits(before.fetch_max(share.to_bits(), Ordering::Relaxed)))
}

impl Figures {
    fn progress(self, done: f64) -> Option<PipelineProgress> {
        let source = self.operators.first()?;
        let stage = match (self.has_begun, self.has_ended) {
            (_, true) => Stage::Done,
            (true, false) => Stage::Running,
            (false, false) => Stage::Waiting,
        };
        Some(PipelineProgress {
            source: source.name,
            node: source.node,
            stage,
            done,
            rows: source.rows_out,
            bytes: self.bytes,
            drivers: self.drivers,
            split_bytes: self.splits,
            operators: self.operators.iter().map(OperatorFigures::progress).collect(),
        })
    }

    fn source_rows(&self) -> u64 {
        self.operators.first().map_or(0, |it| it.rows_out)
    }

    fn source_node(&self) -> Option<PlanNodeId> {
        self.operators.first().map(|it| it.node)
    }

    fn sink_node(&self) -> Option<PlanNodeId> {
        self.operators.last().map(|it| it.node)
    }

    /// Whether the operator at a position is the last one.
    fn is_sink(&self, position: usize) -> bool {
        position + 1 == self.operators.len()
    }

    fn busy_seconds(&self) -> f64 {
        self.operators.iter().map(|it| it.busy.as_secs_f64()).sum()
    }
}

impl OperatorFigures {
    fn progress(&self) -> OperatorProgress {
        OperatorProgress {
            name: self.name,
            node: self.node,
            rows_in: self.rows_in,
            rows_out: self.rows_out,
            busy: self.busy,
            expected_rows: self.expected_rows,
        }
    }
}
