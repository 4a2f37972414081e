//! A plan and what its query did, as plain data.

use std::{collections::HashMap, time::Duration};
use volley_exec::{
    DriverTimeline, MemorySample, OperatorCounts, OperatorStatistics, TaskStatistics, TaskTimeline,
};
use volley_plan::{PlanNode, PlanNodeId, expand::sub_operator_name};

/// The counter of bytes that operators spilled.
pub(crate) const BYTES_SPILLED: &str = volley_state::spill::SPILLED_BYTES;

/// The operator that receives the rows of a root.
const RESULT_SINK: &str = "result";

/// The counter of bytes that scans read.
pub(crate) const BYTES_READ: &str = "bytes read";

/// A plan, and what its query did if it ran.
#[derive(Clone, Debug, Default)]
pub struct QueryProfile {
    /// The text of the statement.
    pub statement: String,
    /// The version of the engine.
    pub version: String,
    /// Names and values of settings.
    pub settings: Vec<(String, String)>,
    /// In the order of [`PlanNode::walk`], shared nodes once: a node stands before its inputs.
    pub nodes: Vec<ProfileNode>,
    /// How many tasks run each fragment of a distributed plan, and where its rows go; empty when a
    /// single task runs the plan.
    pub fragments: Vec<String>,
    /// `None` when the query did not run.
    pub run: Option<RunProfile>,
    /// The lines of the plan as a tree.
    pub(crate) lines: Vec<TreeLine>,
}

/// A line of the plan as a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeLine {
    /// A position in [`QueryProfile::nodes`].
    pub(crate) node: usize,
    pub(crate) depth: usize,
    /// Whether the node and its inputs stand further up.
    pub(crate) repeated: bool,
}

/// A plan node, and what its operators did.
#[derive(Clone, Debug)]
pub struct ProfileNode {
    /// Its identity in the plan.
    pub id: PlanNodeId,
    /// The first word of its label, such as `HashJoin`.
    pub kind: String,
    /// The node in one line.
    pub label: String,
    /// Its inputs; a shared one is an input of several nodes.
    pub inputs: Vec<PlanNodeId>,
    /// How many rows the optimizer expected; `None` where it does not say.
    pub estimated_rows: Option<f64>,
    /// In the order in which rows pass them; empty when the query did not run, or when the node is
    /// part of the operators of the node above it.
    pub operators: Vec<OperatorStatistics>,
    /// Which of [`QueryProfile::fragments`] it is part of.
    pub fragment: Option<usize>,
    /// How many tasks ran it; each has as many of the drivers.
    pub tasks: usize,
}

/// What the run of a query came to.
#[derive(Clone, Debug, Default)]
pub struct RunProfile {
    /// From the start of the task to its end.
    pub elapsed: Duration,
    /// The most bytes that the query held at the moments of `memory`.
    pub peak_bytes: usize,
    /// The time line of each driver.
    pub drivers: Vec<DriverTimeline>,
    /// What the query held, in the order of time.
    pub memory: Vec<MemorySample>,
    /// What the query failed with.
    pub error: Option<String>,
}

impl QueryProfile {
    /// The profile of a plan that did not run. `estimates`: rows by node.
    pub fn of_plan(plan: &PlanNode, estimates: &[(PlanNodeId, f64)]) -> QueryProfile {
        let estimates: HashMap<_, _> = estimates.iter().copied().collect();
        let mut profile = QueryProfile::default();
        let mut positions = HashMap::new();
        for visit in plan.walk() {
            let id = visit.node.id();
            let position = *positions.entry(id).or_insert_with(|| {
                let label = visit.node.label();
                profile.nodes.push(ProfileNode {
                    id,
                    kind: label.split(' ').next().unwrap_or_default().to_owned(),
                    label,
                    inputs: visit.node.inputs().iter().map(|it| it.id()).collect(),
                    estimated_rows: estimates.get(&id).copied(),
                    operators: Vec::new(),
                    fragment: None,
                    tasks: 1,
                });
                profile.nodes.len() - 1
            });
            let (depth, repeated) = (visit.depth, visit.repeated);
            profile.lines.push(TreeLine { node: position, depth, repeated });
        }
        profile
    }

    /// The profile of a plan whose nodes are named as sub-operators are.
    pub fn of_sub_operators(plan: &PlanNode) -> QueryProfile {
        let mut profile = QueryProfile::of_plan(plan, &[]);
        let names: HashMap<_, _> =
            plan.walk().iter().map(|it| (it.node.id(), sub_operator_name(it.node))).collect();
        for node in &mut profile.nodes {
            let Some(name) = names.get(&node.id) else { continue };
            let details = node.label.strip_prefix(&node.kind).unwrap_or_default();
            node.label = format!("{name}{details}");
            node.kind = (*name).to_owned();
        }
        profile
    }

    /// This, with what its query did.
    pub fn with_run(
        mut self,
        statistics: TaskStatistics,
        timeline: TaskTimeline,
        error: Option<String>,
    ) -> QueryProfile {
        let mut by_id: HashMap<_, _> =
            statistics.nodes.into_iter().map(|it| (it.id, it.operators)).collect();
        for node in &mut self.nodes {
            node.operators = by_id.remove(&node.id).unwrap_or_default();
        }
        let TaskTimeline { elapsed, drivers, memory } = timeline;
        let peak_bytes = memory.iter().map(|it| it.bytes).max().unwrap_or(0);
        self.run = Some(RunProfile { elapsed, peak_bytes, drivers, memory, error });
        self
    }

    /// Time on threads of all operators.
    pub fn busy(&self) -> Duration {
        self.nodes.iter().map(ProfileNode::busy).sum()
    }

    /// The sum of a named counter over all operators, such as `bytes read`.
    pub fn total(&self, name: &str) -> u64 {
        let operators = self.nodes.iter().flat_map(|it| &it.operators);
        operators.map(|it| it.counted(name)).sum()
    }

    /// The share of all time on threads that a node took, from 0 to 1.
    pub fn share(&self, node: &ProfileNode) -> f64 {
        share_of(node.busy(), self.busy())
    }

    /// The node with an identity.
    pub fn node(&self, id: PlanNodeId) -> Option<&ProfileNode> {
        self.nodes.iter().find(|it| it.id == id)
    }

    /// Positions by identity.
    pub(crate) fn positions(&self) -> HashMap<PlanNodeId, usize> {
        self.nodes.iter().map(|it| it.id).zip(0..).collect()
    }

    /// The operator that runs in a pipeline at a position.
    pub(crate) fn operator_at(&self, pipeline: usize, position: usize) -> Option<&str> {
        let mut operators = self.nodes.iter().flat_map(|it| &it.operators);
        let found = operators.find(|it| (it.pipeline, it.position) == (pipeline, position));
        found.map(|it| it.name)
    }
}

impl ProfileNode {
    /// Rows that the node emitted; `None` when it has no operator of its own.
    pub fn rows(&self) -> Option<u64> {
        let last = self.last_operator()?;
        self.operators.get(last).map(|it| it.total().rows_out)
    }

    /// The position of the operator that emits the rows of the node: that of a root is followed by
    /// one that receives the result.
    pub(crate) fn last_operator(&self) -> Option<usize> {
        let last = self.operators.iter().rposition(|it| it.name != RESULT_SINK);
        last.or_else(|| self.operators.len().checked_sub(1))
    }

    /// Time on threads.
    pub fn busy(&self) -> Duration {
        let drivers = self.operators.iter().flat_map(|it| &it.drivers);
        drivers.map(|it| it.busy).sum()
    }

    /// The sum of a named counter.
    pub fn counted(&self, name: &str) -> u64 {
        self.operators.iter().map(|it| it.counted(name)).sum()
    }

    /// How many times more or fewer rows there were than expected, at least 1. `None` where either
    /// is unknown.
    pub(crate) fn estimate_error(&self) -> Option<f64> {
        // Less than one row is one row.
        let (rows, expected) = (self.rows()?.max(1) as f64, self.estimated_rows?.max(1.0));
        Some((rows / expected).max(expected / rows))
    }
}

/// The share that `part` is of `all`; 0 of nothing.
pub(crate) fn share_of(part: Duration, all: Duration) -> f64 {
    if all.is_zero() { 0.0 } else { part.as_secs_f64() / all.as_secs_f64() }
}

/// How much more the busiest driver did than the mean of all, in rows; 1 when all did the same.
pub(crate) fn skew(operator: &OperatorStatistics) -> f64 {
    let rows = |it: &OperatorCounts| it.rows_in.max(it.rows_out);
    let all: u64 = operator.drivers.iter().map(rows).sum();
    let largest = operator.drivers.iter().map(rows).max().unwrap_or(0);
    let mean = all as f64 / operator.drivers.len().max(1) as f64;
    if mean > 0.0 { largest as f64 / mean } else { 1.0 }
}
