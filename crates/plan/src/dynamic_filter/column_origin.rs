//! The scans, and the page sources, that a column comes from.

use crate::{JoinKind, PlanNode, PlanWalk};
use volley_expression::ExprKind;

/// Where a column of the node at a position comes from: positions of inputs, each with a column.
type Origins<'a> = dyn Fn(&PlanWalk<'_>, usize, usize) -> Vec<(usize, usize)> + 'a;

/// The scans whose column comes out of a node (by its position) as a column: position and column of
/// the table. Nodes that pass on rows one by one while they read are followed; `further` says what
/// else is.
pub(super) fn scans_of(
    plan: &PlanWalk<'_>,
    from: (usize, usize),
    further: &Origins<'_>,
) -> Vec<(usize, usize)> {
    sources_of(plan, from, further).scans
}

/// Where a column comes from.
#[derive(Debug, Default)]
pub(super) struct ColumnSources {
    /// Scans, by their positions, each with a column of the table.
    pub scans: Vec<(usize, usize)>,
    /// Page sources, by their positions, each with a column of its rows.
    pub pages: Vec<(usize, usize)>,
}

/// As [`scans_of`], with the page sources.
pub(super) fn sources_of(
    plan: &PlanWalk<'_>,
    from: (usize, usize),
    further: &Origins<'_>,
) -> ColumnSources {
    let mut sources = ColumnSources::default();
    let mut rest = vec![from];
    while let Some((position, column)) = rest.pop() {
        let Some(visit) = plan.visits.get(position) else { continue };
        let input = || plan.input(position, 0);
        match visit.node {
            PlanNode::TableScan(scan) => {
                sources.scans.extend(scan.columns.get(column).map(|it| (position, *it)));
            }
            PlanNode::PageSource(_) => sources.pages.push((position, column)),
            PlanNode::Filter(_) | PlanNode::LocalExchange(_) | PlanNode::Exchange(_) => {
                rest.push((input(), column));
            }
            PlanNode::Union(union) => {
                rest.extend((0..union.inputs.len()).map(|it| (plan.input(position, it), column)));
            }
            PlanNode::Project(project) => {
                let passed = project.exprs.get(column).map(|it| &it.kind);
                if let Some(ExprKind::Column(column)) = passed {
                    rest.push((input(), *column));
                }
            }
            PlanNode::NestedLoopJoin(join) => {
                let columns = join.probe.schema().len();
                let column = join.output.get(column).filter(|it| **it < columns);
                let column = column.filter(|_| keeps_probe_columns(join.kind));
                rest.extend(column.map(|it| (input(), *it)));
            }
            _ => rest.extend(further(plan, position, column)),
        }
    }
    sources
}

/// Whether output rows of a probe row have exactly its own values.
pub(super) fn keeps_probe_columns(kind: JoinKind) -> bool {
    !matches!(kind, JoinKind::Right | JoinKind::Full) && kind.has_probe_columns()
}
