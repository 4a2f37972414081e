//! What a task's operators did, per driver, per operator and per plan node.

use crate::{OperatorCounts, OperatorMetrics};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use volley_memory::Pool;
use volley_plan::{PlanNode, PlanNodeId, Visit};

/// The counter of splits that a scan has read to their end.
pub const SPLITS_DONE: &str = "splits";

/// The counter of all splits of a scan.
pub const SPLITS_TOTAL: &str = "splits in all";

/// One operator of one driver.
#[derive(Debug)]
pub(crate) struct OperatorRecord {
    pub node: PlanNodeId,
    pub name: &'static str,
    pub pipeline: usize,
    pub position: usize,
    pub pool: Pool,
    pub metrics: Arc<OperatorMetrics>,
}

/// What the operators of steps have done, over all iterations.
#[derive(Debug, Default)]
pub struct StepRecords(Mutex<Vec<StepRecord>>);

/// An operator of a step.
#[derive(Clone, Debug)]
pub(crate) struct StepRecord {
    pub node: PlanNodeId,
    pub name: &'static str,
    pub pipeline: usize,
    pub position: usize,
    pub peak_bytes: usize,
    pub counts: OperatorCounts,
}

/// What every operator of a task did so far.
#[derive(Clone, Debug)]
pub struct TaskStatistics {
    /// By plan node, in the order of [`PlanNode::walk`], shared nodes once. A node that is fused
    /// into the one above it has no operator.
    pub nodes: Vec<NodeStatistics>,
}

/// A plan node.
#[derive(Clone, Debug)]
pub struct NodeStatistics {
    /// Which node.
    pub id: PlanNodeId,
    /// Its operators, in the order in which rows pass them; a join has a build and a probe side.
    pub operators: Vec<OperatorStatistics>,
}

/// An operator of a pipeline.
#[derive(Clone, Debug)]
pub struct OperatorStatistics {
    /// Such as `hash join probe`.
    pub name: &'static str,
    /// Which pipeline it is in, and where.
    pub pipeline: usize,
    /// Its place in the pipeline; the source has 0.
    pub position: usize,
    /// The most bytes that its pool held.
    pub peak_bytes: usize,
    /// One per driver.
    pub drivers: Vec<OperatorCounts>,
}

impl TaskStatistics {
    /// Sums up `records` for the nodes of `plan`, and those of operators that were made anew in
    /// each iteration of a recursion.
    pub(crate) fn collect(
        plan: &PlanNode,
        records: &[OperatorRecord],
        steps: &[StepRecord],
    ) -> TaskStatistics {
        let visits = plan.walk().into_iter().filter(|it| !it.repeated);
        let none = |it: Visit<'_>| NodeStatistics { id: it.node.id(), operators: Vec::new() };
        let mut nodes: Vec<_> = visits.map(none).collect();
        let positions: HashMap<PlanNodeId, usize> = nodes.iter().map(|it| it.id).zip(0..).collect();
        for record in records {
            let Some(node) = positions.get(&record.node).and_then(|it| nodes.get_mut(*it)) else {
                continue;
            };
            let operators = &mut node.operators;
            let counts = record.metrics.counts();
            let place = (record.pipeline, record.position);
            match operators.iter_mut().find(|it| (it.pipeline, it.position) == place) {
                Some(found) => found.drivers.push(counts),
                None => operators.push(OperatorStatistics {
                    name: record.name,
                    pipeline: record.pipeline,
                    position: record.position,
                    peak_bytes: record.pool.stats().peak_bytes,
                    drivers: vec![counts],
                }),
            }
        }
        for step in steps {
            let Some(node) = positions.get(&step.node).and_then(|it| nodes.get_mut(*it)) else {
                continue;
            };
            node.operators.push(OperatorStatistics {
                name: step.name,
                pipeline: step.pipeline,
                position: step.position,
                peak_bytes: step.peak_bytes,
                drivers: vec![step.counts.clone()],
            });
        }
        TaskStatistics { nodes }
    }

    /// What several tasks of the same plan did: their drivers side by side, peaks added.
    pub fn of_tasks(tasks: impl IntoIterator<Item = TaskStatistics>) -> TaskStatistics {
        let mut nodes: Vec<NodeStatistics> = Vec::new();
        for node in tasks.into_iter().flat_map(|it| it.nodes) {
            let Some(all) = nodes.iter_mut().find(|it| it.id == node.id) else {
                nodes.push(node);
                continue;
            };
            for operator in node.operators {
                let key = |it: &OperatorStatistics| (it.pipeline, it.position, it.name);
                match all.operators.iter_mut().find(|it| key(it) == key(&operator)) {
                    Some(found) => {
                        found.peak_bytes += operator.peak_bytes;
                        found.drivers.extend(operator.drivers);
                    }
                    None => all.operators.push(operator),
                }
            }
        }
        TaskStatistics { nodes }
    }

    /// What the operators of a node did; `None` when the plan has no such node.
    pub fn node(&self, id: PlanNodeId) -> Option<&NodeStatistics> {
        self.nodes.iter().find(|it| it.id == id)
    }

    /// The sum of a named counter over all operators, such as `bytes read`.
    pub fn total(&self, name: &str) -> u64 {
        let operators = self.nodes.iter().flat_map(|it| &it.operators);
        operators.map(|it| it.counted(name)).sum()
    }

    /// Time on threads of all operators.
    pub fn busy(&self) -> Duration {
        let operators = self.nodes.iter().flat_map(|it| &it.operators);
        operators.flat_map(|it| &it.drivers).map(|it| it.busy).sum()
    }

    /// How many splits all scans have read, and how many there are: the progress of a query that
    /// mostly scans.
    pub fn splits(&self) -> (u64, u64) {
        (self.total(SPLITS_DONE), self.total(SPLITS_TOTAL))
    }
}

impl OperatorStatistics {
    /// The sum over the drivers.
    pub fn total(&self) -> OperatorCounts {
        let mut total = OperatorCounts::default();
        self.drivers.iter().for_each(|it| total += it);
        total
    }

    /// The sum of a named counter over the drivers.
    pub fn counted(&self, name: &str) -> u64 {
        let named = self.drivers.iter().flat_map(|it| &it.named);
        named.filter(|it| it.0 == name).map(|it| it.1).sum()
    }
}

impl StepRecords {
    /// Adds what the operators of an iteration have done.
    pub(crate) fn add(&self, records: &[OperatorRecord]) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for record in records {
            let counts = record.metrics.counts();
            let peak_bytes = record.pool.stats().peak_bytes;
            // Pipelines have other numbers in iterations that do not make all of them.
            let same = |it: &&mut StepRecord| (it.node, it.name) == (record.node, record.name);
            match all.iter_mut().find(same) {
                Some(found) => {
                    found.counts += &counts;
                    found.peak_bytes = found.peak_bytes.max(peak_bytes);
                }
                None => all.push(StepRecord {
                    node: record.node,
                    name: record.name,
                    pipeline: record.pipeline,
                    position: record.position,
                    peak_bytes,
                    counts,
                }),
            }
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<StepRecord> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
