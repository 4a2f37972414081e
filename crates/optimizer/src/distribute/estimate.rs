//! About how many rows a node returns: enough to tell small inputs of joins from large ones.

use super::Distributor;
use volley_plan::{AggregateStep, JoinKind, PlanNode};

/// The part of rows that a condition keeps.
const KEPT_BY_FILTER: f64 = 0.3;

/// The part of rows that are groups.
const GROUPS_PER_ROW: f64 = 0.2;

impl Distributor<'_> {
    /// The rows of a node above inputs of these rows; `None` where nothing is known.
    pub(super) fn rows(&self, node: &PlanNode, inputs: &[Option<f64>]) -> Option<f64> {
        let input = inputs.first().copied().flatten();
        match node {
            PlanNode::TableScan(scan) => {
                let rows = (self.context.table_rows)(&scan.table)? as f64;
                Some(rows * KEPT_BY_FILTER.powi(scan.filters.len().min(3) as i32))
            }
            PlanNode::Values(values) => Some(values.rows.len() as f64),
            PlanNode::Filter(_) => input.map(|it| it * KEPT_BY_FILTER),
            PlanNode::Aggregation(it) if it.keys.is_empty() => Some(1.0),
            PlanNode::Aggregation(it) if it.step == AggregateStep::Partial => input,
            PlanNode::Aggregation(_) => input.map(|it| it * GROUPS_PER_ROW),
            PlanNode::EnforceSingleRow(_) => Some(1.0),
            PlanNode::TopN(it) => Some(input.unwrap_or(f64::INFINITY).min(it.limit as f64)),
            PlanNode::Limit(it) => match it.limit {
                Some(limit) => Some(input.unwrap_or(f64::INFINITY).min(limit as f64)),
                None => input,
            },
            PlanNode::Union(_) => inputs.iter().copied().sum(),
            PlanNode::HashJoin(join) => joined(join.kind, inputs),
            PlanNode::AsofJoin(join) => joined(join.kind, inputs),
            PlanNode::MergeJoin(join) => joined(join.kind, inputs),
            PlanNode::NestedLoopJoin(join) => match (join.kind, inputs) {
                (JoinKind::Inner | JoinKind::Left, [Some(probe), Some(build)]) => {
                    Some(probe * build.max(1.0))
                }
                (kind, inputs) => joined(kind, inputs),
            },
            PlanNode::Unnest(_)
            | PlanNode::RecursiveUnion(_)
            | PlanNode::WorkingTable(_)
            | PlanNode::TaskInput(_)
            | PlanNode::PageSource(_)
            | PlanNode::Sub(_)
            | PlanNode::Custom(_) => None,
            _ => input,
        }
    }
}

/// Rows of a join on keys: those of the larger side.
fn joined(kind: JoinKind, inputs: &[Option<f64>]) -> Option<f64> {
    let [probe, build] = inputs else { return None };
    match kind {
        JoinKind::LeftSemi | JoinKind::LeftAnti | JoinKind::LeftMark => *probe,
        JoinKind::RightSemi | JoinKind::RightAnti => *build,
        JoinKind::Inner | JoinKind::Left | JoinKind::Right | JoinKind::Full => {
            Some(probe.as_ref()?.max(*build.as_ref()?))
        }
    }
}
