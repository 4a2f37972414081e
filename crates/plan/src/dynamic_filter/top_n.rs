//! Finds the scans that can leave out what a TopN will drop.
//!
//! Once a TopN has as many rows as it returns, rows whose first key comes after that of the last
//! one are of no use: scans drop them, and whole pages and row groups of them. Every node on the
//! way to a scan must pass its rows on while it reads, each by itself and with the key as it is:
//!
//! ```text
//! filter, exchange, union    as it is
//! project                    where the column is passed on
//! join                       a column of the probe side, if the join returns its own values
//! ```
//!
//! Below anything that counts rows, or puts rows together, such as a limit, an aggregation or a
//! window, a dropped row would be missed; what holds all rows before it returns one, such as a
//! build side, has read them by the time that there is a bound. Shared subplans have other readers.

use super::{
    DynamicFilters,
    column_origin::{keeps_probe_columns, scans_of},
};
use crate::{PlanNode, PlanWalk, TopNNode};
use volley_expression::filter::Bound;

/// Adds the filter of a TopN node at a position.
pub(super) fn find(
    plan: &PlanWalk<'_>,
    position: usize,
    node: &TopNNode,
    filters: &mut DynamicFilters,
) {
    if let Some(key) = node.keys.first().filter(|_| makes(node)) {
        let from = (plan.input(position, 0), key.column);
        filters.add(position, 0, scans_of(plan, from, &probe_column));
    }
}

/// Whether the node can make a filter of its first key.
pub(super) fn makes(node: &TopNNode) -> bool {
    let data_type = node.keys.first().and_then(|it| node.input.schema().types().nth(it.column));
    node.is_heap() && data_type.is_some_and(Bound::is_possible_for)
}

/// Where a column of a join comes from, if from its probe side with its own values.
fn probe_column(plan: &PlanWalk<'_>, position: usize, column: usize) -> Vec<(usize, usize)> {
    let PlanNode::HashJoin(join) = plan.visits[position].node else { return Vec::new() };
    let columns = join.probe.schema().len();
    let column = join.output.get(column).filter(|it| **it < columns);
    let column = column.filter(|_| keeps_probe_columns(join.kind));
    column.map(|it| (plan.input(position, 0), *it)).into_iter().collect()
}
