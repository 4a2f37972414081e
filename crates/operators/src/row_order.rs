//! Which nodes of a plan have to keep the order of their source.

use std::collections::HashSet;
use volley_exec::{Lowering, RowOrder};
use volley_plan::{ExchangeKind, PlanNode, PlanNodeId, PlanWalk, WindowNode};

/// The nodes whose output is read in order.
///
/// The result, LIMIT, table writes and windows over all rows without an order read their input in
/// order. Nodes that work on rows one by one pass that on to their inputs.
#[derive(Debug, Default)]
pub(crate) struct RowOrders(HashSet<PlanNodeId>);

/// Finds the nodes of a plan.
pub(crate) fn find(plan: &PlanWalk<'_>, cx: &mut Lowering) {
    if cx.task().row_order == RowOrder::OfSource {
        *cx.state() = RowOrders::of_plan(plan);
    }
}

impl RowOrders {
    /// Whether the output of the node being lowered is read in order.
    pub(crate) fn is_needed(cx: &mut Lowering) -> bool {
        let node = cx.node();
        cx.state::<RowOrders>().0.contains(&node)
    }

    fn of_plan(plan: &PlanWalk<'_>) -> RowOrders {
        let mut ordered = HashSet::new();
        ordered.extend(plan.visits.first().map(|it| it.node.id()));
        // Nodes come before those below them.
        for (position, visit) in plan.visits.iter().enumerate() {
            let is_read_in_order = match visit.node {
                PlanNode::Limit(_) | PlanNode::TableWrite(_) => true,
                PlanNode::Window(node) => numbers_all_rows(node),
                node => passes_order(node) && ordered.contains(&node.id()),
            };
            if is_read_in_order {
                let inputs = (0..plan.inputs(position)).map(|it| plan.input(position, it));
                ordered.extend(inputs.filter_map(|it| Some(plan.visits.get(it)?.node.id())));
            }
        }
        RowOrders(ordered)
    }
}

fn numbers_all_rows(node: &WindowNode) -> bool {
    node.partition_by.is_empty() && node.order_by.is_empty()
}

/// Whether the node outputs rows in the order of its inputs.
fn passes_order(node: &PlanNode) -> bool {
    match node {
        PlanNode::Filter(_)
        | PlanNode::Project(_)
        | PlanNode::Unnest(_)
        | PlanNode::Repeat(_)
        | PlanNode::Union(_) => true,
        // That of UNPIVOT.
        PlanNode::GroupId(node) => node.keys.is_empty() && !node.extra_rows,
        PlanNode::LocalExchange(node) => {
            matches!(node.kind, ExchangeKind::Gather | ExchangeKind::RoundRobin)
        }
        _ => false,
    }
}
